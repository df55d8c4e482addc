"""One request: its services are made, its function is called, its resources are released. Compiled once, run often.

A request is one handler call, one tool call or one contract dispatch (design §3). All of it runs in the caller's task.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from operator import itemgetter
from types import ModuleType
from typing import Any, TypeAlias, cast

import anyio
import attrs
from returns.result import Failure

from lamina.effect import _backend
from lamina.effect._gate import Gate
from lamina.effect._outlast import outlast
from lamina.effect._resource import Held, RolledBack, never_yielded, release
from lamina.effect._tree import Leaf

# Services, commands and answers are `Any` throughout: their types were checked where the function was declared.
Values: TypeAlias = list[Any]
Function: TypeAlias = Callable[..., Awaitable[Any]]
Pick: TypeAlias = Callable[[Values], tuple[Any, ...]]
Compiled: TypeAlias = Callable[..., Awaitable[Any]]
"""`compiled(command, seeds=())`; the seeds are the tuple that `Seeds.given` gives."""


@attrs.frozen(eq=False)
class Step:
    """Makes one service of a request from values that are there; its own value is added to them.

    Attributes:
        leaf: What makes it.
        arguments: Positions of its arguments among the values.
    """

    leaf: Leaf
    arguments: tuple[int, ...]


@attrs.frozen(eq=False)
class Recipe:
    """All that a request does before its function is called.

    Attributes:
        fixed: The services of the app that it uses.
        seeds: How many values the caller brings; they come after the fixed ones.
        steps: What is made for the request, in order; each value comes after those before it.
        arguments: Positions of the function's services among the values.
    """

    fixed: tuple[Any, ...]
    seeds: int
    steps: tuple[Step, ...]
    arguments: tuple[int, ...]


def compile_call(recipe: Recipe, fn: Function, gate: Gate, close_timeout: float) -> Compiled:
    """Choose the quickest form that does what the recipe says."""
    kinds = {step.leaf.kind for step in recipe.steps}
    if not recipe.seeds and not recipe.steps:
        return _direct(recipe, fn, gate)
    if kinds <= {"call"}:
        return _plain(recipe, fn, gate)
    return _full(recipe, fn, gate, close_timeout if "scope" in kinds else None)


def _direct(recipe: Recipe, fn: Function, gate: Gate) -> Compiled:
    """Call the function with what is there: no frame stands between."""
    services = tuple(recipe.fixed[at] for at in recipe.arguments)

    def call(command: Any, seeds: tuple[Any, ...] = ()) -> Awaitable[Any]:
        if gate.shut is not None:
            raise gate.refusal()
        return fn(command, *services)

    return call


def _plain(recipe: Recipe, fn: Function, gate: Gate) -> Compiled:
    """Make the services, which takes no waiting, and call."""
    begin = _beginner(recipe, gate)
    steps = tuple((step.leaf.make, _picker(step.arguments)) for step in recipe.steps)
    pick = _picker(recipe.arguments)

    def call(command: Any, seeds: tuple[Any, ...] = ()) -> Awaitable[Any]:
        values = begin(seeds)
        for make, arguments in steps:
            values.append(make(*arguments(values)))
        return fn(command, *pick(values))

    return call


def _full(recipe: Recipe, fn: Function, gate: Gate, close_timeout: float | None) -> Compiled:
    """Make the services, in this task, and hold what is to be released until the function has answered."""
    begin = _beginner(recipe, gate)
    steps = tuple((step.leaf.kind, step.leaf, step.leaf.make, _picker(step.arguments)) for step in recipe.steps)
    pick = _picker(recipe.arguments)

    async def answer(command: Any, values: Values, entered: list[Held]) -> Any:
        for kind, leaf, make, arguments in steps:
            if kind == "call":
                values.append(make(*arguments(values)))
            elif kind == "await":
                values.append(await make(*arguments(values)))
            else:
                generator = make(*arguments(values))
                try:
                    values.append(await generator.__anext__())
                except StopAsyncIteration:
                    raise never_yielded(leaf) from None
                entered.append((leaf, generator))
        return await fn(command, *pick(values))

    async def without_release(command: Any, seeds: tuple[Any, ...] = ()) -> Any:
        return await answer(command, begin(seeds), [])

    if close_timeout is None:
        return without_release
    seconds = close_timeout

    async def in_a_scope(command: Any, seeds: tuple[Any, ...] = ()) -> Any:
        values, entered = begin(seeds), list[Held]()
        with anyio.CancelScope() as guard:  # opened before the first resource is entered, for scopes nest
            try:
                result = await answer(command, values, entered)
            except BaseException as error:
                await outlast(release(entered, error), guard, seconds)
                raise
            await outlast(release(entered, _rollback(result)), guard, seconds)
            return result

    late = None if _backend.on_trio() else _late_guard()
    if late is None:
        return in_a_scope
    scope_here, outlast_here = late.scope_here, late.outlast_here

    async def with_a_late_guard(command: Any, seeds: tuple[Any, ...] = ()) -> Any:
        values, entered, outer = begin(seeds), list[Held](), scope_here()
        try:
            result = await answer(command, values, entered)
        except BaseException as error:
            await outlast_here(release(entered, error), outer, seconds)
            raise
        await outlast_here(release(entered, _rollback(result)), outer, seconds)
        return result

    return with_a_late_guard


def _late_guard() -> ModuleType | None:
    try:
        from lamina.effect import _late_guard
    except ImportError:
        return None
    return _late_guard


def _rollback(result: object) -> RolledBack | None:
    return RolledBack() if isinstance(result, Failure) else None


def _beginner(recipe: Recipe, gate: Gate) -> Callable[[tuple[Any, ...]], Values]:
    """Make what checks that a call may run, and gives the values that it starts from."""
    fixed, count = list(recipe.fixed), recipe.seeds

    def begin(seeds: tuple[Any, ...]) -> Values:
        if gate.shut is not None:
            raise gate.refusal()
        if not count:
            return fixed.copy()
        if len(seeds) != count:
            raise _not_given(count, seeds)
        return [*fixed, *seeds]

    return begin


def _not_given(count: int, seeds: tuple[Any, ...]) -> RuntimeError:
    return RuntimeError(f"the call brings {len(seeds)} of {count} seeds; give them with given(...)")


def _picker(positions: tuple[int, ...]) -> Pick:
    """Make what picks values; `itemgetter` gives a tuple only for two positions and more."""
    if not positions:
        return lambda values: ()
    if len(positions) == 1:
        at = positions[0]
        return lambda values: (values[at],)
    return cast("Pick", itemgetter(*positions))
