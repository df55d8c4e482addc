"""`Environment`: a plan that is up; it acquires, resolves, calls and releases, and runtimes stand on it (design §3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar
from weakref import ref

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from returns.result import Failure, Result, Success

from lamina.effect._call import Compiled, Recipe, Step, compile_call
from lamina.effect._cells import Broken, Cell, Failed, Up
from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._gate import Gate
from lamina.effect._graph import Made, Node, Seeded, reachable
from lamina.effect._hosts import Hosts
from lamina.effect._names import name_of
from lamina.effect._outlast import GRACE, outlast
from lamina.effect._plan import AnyProgram, Plan, Sight
from lamina.effect._settle import Settlements
from lamina.effect._signature import Need
from lamina.effect._tagged import message_of

T = TypeVar("T")


class AcquisitionFailed(Exception):
    """The private layer of a program that came late answered a declared failure.

    Attributes:
        error: That failure.
    """

    def __init__(self, error: object) -> None:
        super().__init__(message_of(error))
        self.error = error


class Environment:
    """The services of a plan, from `open` to `close`, and the calls that use them.

    Use it to build a runtime of another shape; an application uses `build`. It may be opened in one task and closed in
    another: each resource lives in a task of its own, which belongs to neither.

    Args:
        plan: What to acquire; without problems.
        close_timeout: Seconds that a release, or a settlement, may take.

    Raises:
        ConstructionError: The plan has problems.

    Example:
        >>> import anyio
        >>> from lamina.effect import handler, layer, plan
        >>> class Greeting:
        ...     text = "hello"
        >>> @handler
        ... async def greet(name: str, greeting: Greeting) -> str:
        ...     return f"{greeting.text} {name}"
        >>> async def main() -> str:
        ...     environment = Environment(plan(layer(Greeting), [greet]))
        ...     await environment.open()
        ...     try:
        ...         scope = await environment.admit(greet)
        ...         return await scope.compile(greet.needs, greet.fn)("world")
        ...     finally:
        ...         await environment.close()
        >>> anyio.run(main)
        'hello world'
    """

    def __init__(self, plan: Plan, *, close_timeout: float = 10.0) -> None:
        plan.raise_problems()
        self._plan = plan
        self._close_timeout = close_timeout
        self._gate = Gate()
        self._hosts = Hosts(self._gate, close_timeout)
        self._settlements = Settlements()
        self._state: Literal["new", "open", "closing", "closed"] = "new"
        self._closed = anyio.Event()
        self._scopes: dict[int, tuple[Callable[[], object], Scope]] = {}

    async def open(self) -> Result[None, object]:
        """Acquire everything, in parallel where needs allow.

        Returns:
            A failure when a layer answered a declared one that nothing catches; what was up has been released then.

        Raises:
            BaseException: What a constructor raised, as it is; several in an `ExceptionGroup`. What was up has been
                released then, as it has when opening is cancelled.
        """
        if self._state != "new":
            raise RuntimeError("an environment is opened once")
        self._state = "open"
        for program, sight in self._plan.sights:
            self._remember(program, Scope(self, sight))
        roots = [*self._plan.exports.values(), *(node for _, sight in self._plan.sights for node in sight.roots)]
        try:
            cells = self._hosts.cells.demand(roots)
            await self._until_up(cells)
        except BaseException:
            await self._close("closed, because opening was cancelled")
            raise
        if all(isinstance(cell.outcome, Up) for cell in cells):
            self._gate.open()
            return Success(None)
        await self._close("closed, because opening failed", _defects(self._hosts.cells.by_node.values()))
        return Failure(_failure_of(cells))

    async def close(self, before: Callable[[], Awaitable[None]] | None = None) -> None:
        """Release everything, what was built on something before that, in parallel where needs allow.

        It may be called in any task, and more than once; it goes on through cancels, which are raised afterwards.

        Args:
            before: Ends what still uses the services, before any of them is released, within `close_timeout`; no new
                call is let in by then.

        Raises:
            BaseException: What a release raised, or a resource that died before; several in an `ExceptionGroup`. A
                `TimeoutError` names what was not released within `close_timeout`.
        """
        await self._close("the runtime is closed", before=before)

    async def _close(
        self, why: str, defects: Sequence[BaseException] = (), *, before: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._gate.close(why)
        patience = (self._close_timeout + GRACE) * (1 if before is None else 2)
        if self._state in ("closing", "closed"):
            with anyio.CancelScope() as guard:
                await outlast(self._closed.wait(), guard, patience)
            return
        was_open = self._state == "open"
        self._state = "closing"
        try:
            if was_open:
                with anyio.CancelScope() as guard:
                    await outlast(self._wind_down(before), guard, patience)
        finally:
            self._state = "closed"
            self._closed.set()
            _raise_all([*defects, *self._hosts.errors])
        await checkpoint_if_cancelled()

    async def _wind_down(self, before: Callable[[], Awaitable[None]] | None) -> None:
        broke: list[Exception] = []
        if before is not None:
            # What uses the services may have settlements of its own, which are given as long.
            with anyio.CancelScope(deadline=anyio.current_time() + self._close_timeout + GRACE):
                try:
                    await before()
                except Exception as error:
                    broke.append(error)
        deadline = anyio.current_time() + self._close_timeout
        self._settlements.hurry(deadline)
        with anyio.CancelScope(deadline=deadline):
            await self._settlements.wait_idle()
        self._hosts.stop(deadline)
        await self._hosts.wait_idle()
        if broke:
            raise broke[0]

    async def admit(self, program: AnyProgram) -> Scope:
        """Give the scope of a program; one that the plan did not have is planned now, and its own layer acquired.

        That layer stays up until the environment is closed: keep such a program, or register it.

        Raises:
            ConstructionError: It needs what is not there.
            AcquisitionFailed: Its own layer answered a declared failure.
            BaseException: What a constructor raised.
        """
        known = self._scopes.get(id(program))
        if known is not None and known[0]() is program:
            return known[1]
        if self._gate.shut is not None:
            raise self._gate.refusal()
        sight = self._plan.sight_of(program)
        cells = self._hosts.cells.demand(sight.roots)
        await self._until_up(cells)
        _raise_all(_defects(cells))
        if any(not isinstance(cell.outcome, Up) for cell in cells):
            raise AcquisitionFailed(_failure_of(cells))
        scope = Scope(self, sight)
        self._remember(program, scope)
        return scope

    def exported(self, key: object) -> object | None:
        """Give a service that the app offers and that is up; `None` for any other.

        Use it for an environment whose services are all that is wanted, without a program.
        """
        node = self._plan.exports.get(key)
        return None if node is None else self.value_of(node)

    async def settle(
        self,
        work: Callable[[], Awaitable[T]],
        timeout: float | None = None,  # noqa: ASYNC109 - what it bounds goes on in another task
        *,
        patient: bool = False,
    ) -> T:
        """Finish something though this task is cancelled, in a task that the environment owns.

        Use it to record what has happened already. The cancel is raised afterwards.

        Args:
            work: Makes what is awaited.
            timeout: Seconds, at most and by default `close_timeout`.
            patient: Whether they count only from the moment on at which this task is cancelled, or the environment
                closed: for what is waited for anyway, and has to be known once it has begun.

        Raises:
            TimeoutError: It took longer, and was cancelled.
        """
        seconds = min(self._close_timeout if timeout is None else timeout, self._close_timeout)
        return await self._settlements.settle(work, seconds, patient=patient)

    async def _until_up(self, cells: Iterable[Cell]) -> None:
        """Wait until all are up, or one cannot be."""
        waiting = list(cells)
        while True:
            waiting = [cell for cell in waiting if not isinstance(cell.outcome, Up)]
            if not waiting or any(cell.outcome is not None for cell in waiting):
                return
            await self._hosts.progress.wait()

    def _remember(self, program: AnyProgram, scope: Scope) -> None:
        """Keep a scope for as long as its program is there; a program need not be hashable."""
        key = id(program)
        try:
            self._scopes[key] = (ref(program, lambda _: self._scopes.pop(key, None)), scope)
        except TypeError:  # without weak references the program itself is kept
            self._scopes[key] = (lambda: program, scope)

    # What a scope asks of its environment; not part of the interface.

    def value_of(self, node: Node) -> object | None:
        """Give the instance of a node that lives for the app."""
        cell = self._hosts.cells.by_node.get(self._hosts.cells.final(node))
        return cell.outcome.value if cell is not None and isinstance(cell.outcome, Up) else None

    def compile(self, nodes: Sequence[Node], fn: Callable[..., Awaitable[Any]]) -> Compiled:
        """Make one callable of a function and the nodes that it takes."""
        return compile_call(self._recipe(nodes), fn, self._gate, self._close_timeout)

    def _recipe(self, nodes: Sequence[Node]) -> Recipe:
        """Lay out a request's values: those of the app, those that the call brings, those that are made for it."""
        final = self._hosts.cells.final

        def below(node: Node) -> tuple[Node, ...]:
            lives_for_app = isinstance(node, Made) and node.life == "app"
            if lives_for_app or not isinstance(node, Made):
                return ()
            return tuple(final(one) for one in node.dependencies if one is not None)

        wanted = [final(node) for node in nodes]
        order = reachable(wanted, below)
        fixed = [node for node in order if node.life == "app"]
        brought = any(isinstance(node, Seeded) for node in order)
        seeds = len(self._plan.seeds.keys) if brought else 0
        made = [node for node in order if isinstance(node, Made) and node.life == "request"]
        at: dict[Node, int] = {node: position for position, node in enumerate(fixed)}
        at.update({node: len(fixed) + node.position for node in order if isinstance(node, Seeded)})
        at.update({node: len(fixed) + seeds + position for position, node in enumerate(made)})
        steps = tuple(Step(node.leaf, tuple(at[one] for one in below(node))) for node in made)
        return Recipe(tuple(map(self.value_of, fixed)), seeds, steps, tuple(at[node] for node in wanted))


class Scope:
    """What one program sees of an environment; given by `Environment.admit`."""

    def __init__(self, environment: Environment, sight: Sight) -> None:
        self._environment = environment
        self._sight = sight

    def compile(self, needs: Sequence[Need], fn: Callable[..., Awaitable[Any]]) -> Compiled:
        """Make `compiled(command, seeds=())`, which runs `fn(command, *services)` as one request.

        Its services that live for a request are made first and released afterwards, in reverse; what `fn` raises comes
        in at their `yield`, and so does a `Failure` that it answers. Compile once, and call often.

        Args:
            needs: The services, in the order of `fn`'s parameters.
            fn: What to call.

        Raises:
            ConstructionError: A service is not there.
        """
        nodes: list[Node] = []
        problems: list[Problem] = []
        for need in needs:
            node = self._sight.find(need.key)
            if node is None:
                problems.append(Problem("MISSING", name_of(need.key), (f"{self._sight.program}({need})",)))
            else:
                nodes.append(node)
        if problems:
            raise ConstructionError(problems)
        return self._environment.compile(nodes, fn)

    def value(self, key: object) -> object | None:
        """Give a service that lives for the app; `None` when it is not offered, or lives for a request."""
        node = self._sight.find(key)
        return None if node is None or node.life == "request" else self._environment.value_of(node)

    def offers(self, key: object) -> bool:
        """Tell whether the program can have a service."""
        return self._sight.find(key) is not None


def _defects(cells: Iterable[Cell]) -> list[BaseException]:
    """List what constructors raised, each once, though all that needed it is broken by it."""
    errors = {id(cell.outcome.error): cell.outcome.error for cell in cells if isinstance(cell.outcome, Broken)}
    cancelled = anyio.get_cancelled_exc_class()
    return [error for error in errors.values() if not isinstance(error, cancelled)]


def _failure_of(cells: Iterable[Cell]) -> object:
    """Give the declared failure among outcomes without a defect."""
    for cell in cells:
        if isinstance(cell.outcome, Failed):
            return cell.outcome.error
    raise RuntimeError("acquisition was cut short, for the event loop is being shut down")


def _raise_all(errors: Sequence[BaseException]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise BaseExceptionGroup("several things went wrong", errors)
