"""`build` and `try_build`: check everything, then bring it up (design §3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Never, TypeVar, cast, overload

from returns.result import Failure, Result, Success

from lamina.agent import Binding
from lamina.effect import (
    AcquisitionFailed,
    Buildable,
    ConstructionError,
    Environment,
    Layer,
    Problem,
    Program,
    Seeds,
    SeedsFor,
    caller_where,
)
from lamina.runtime._assemble import assemble
from lamina.runtime._builder import RuntimeBuilder
from lamina.runtime._core import Core
from lamina.runtime._open import Open
from lamina.runtime._runtime import Runtime

R = TypeVar("R")
N = TypeVar("N")
S = TypeVar("S")
E = TypeVar("E")
T_co = TypeVar("T_co", covariant=True)

CLOSE_TIMEOUT = 10.0
"""Seconds that releasing a resource may take before it is given up, and logged."""


class Opening(Generic[T_co]):
    """What `async with build(...)` enters: a plan without problems, and nothing acquired yet.

    It may be entered in one task and left in another, as the fixtures of a test framework do.
    """

    __slots__ = ("_begin", "_core")

    def __init__(self, core: Core, begin: Callable[[Environment], Awaitable[T_co]]) -> None:
        self._core = core
        self._begin = begin

    async def __aenter__(self) -> T_co:
        """Acquire every service of the app, in parallel where the graph allows."""
        return await self._begin(self._core.environment)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Interrupt the runs that are still active, and release everything in reverse, also through cancellations.

        An interrupted run has its ending recorded, and each of its calls an honest outcome, before anything is
        released; one that is suspended stays so. What takes longer than `close_timeout` is left, and logged.
        """
        await self._core.close()


@overload
def build(
    app: Buildable[R, R, Never],
    *,
    programs: Iterable[Program[R]] = (),
    close_timeout: float = CLOSE_TIMEOUT,
) -> Opening[Runtime[R]]: ...
@overload
def build(
    app: Buildable[N, R, Never],
    *,
    programs: Iterable[Program[Any]] = (),  # Any: the plan checks these; no type can say "within R and S" here
    seeds: SeedsFor[R, N, S],
    close_timeout: float = CLOSE_TIMEOUT,
) -> Opening[Open[R, S]]: ...
def build(
    app: Buildable[Any, Any, Never],
    *,
    programs: Iterable[Program[Any]] = (),
    seeds: SeedsFor[Any, Any, Any] | None = None,
    close_timeout: float = CLOSE_TIMEOUT,
) -> Opening[Any]:  # Any: the overloads say which of the two it gives
    """Check an application, and give the context that opens it.

    Everything is checked here, before anything is acquired: services that are missing, offered twice, or in a ring,
    and whatever an agent, a tool or a policy asks for. A layer that may fail with a declared error is a type error
    here: `catch` it, or use `try_build`.

    Args:
        app: The layers, or a `RuntimeBuilder`.
        programs: Handlers and agents that will run, for apps that are layers.
        seeds: Request-life services that each caller brings with it; `Open.given(...)` takes them.
        close_timeout: Seconds that releasing one resource may take, and that the runs which are active when the
            runtime is closed have to end.

    Returns:
        An async context manager of the `Runtime`, or of an `Open` where there are seeds.

    Raises:
        ConstructionError: With every problem at once.
        AcquisitionFailed: On entering: a layer that may fail was given all the same, past the type checkers, and did.

    Example:
        >>> import anyio
        >>> from lamina.effect import handler, layer
        >>> class Greetings:
        ...     def greet(self, name: str) -> str:
        ...         return f"Hello {name}"
        >>> @handler
        ... async def greet(name: str, greetings: Greetings) -> str:
        ...     return greetings.greet(name)
        >>> async def main() -> str:
        ...     async with build(layer(Greetings)) as rt:
        ...         return await rt.run(greet, "Ada")
        >>> anyio.run(main)
        'Hello Ada'
    """
    brought = cast("Seeds[Any] | None", seeds)
    core = _core(app, programs, brought, close_timeout)

    async def begin(environment: Environment) -> Runtime[Any] | Open[Any, Any]:
        opened = await environment.open()
        if isinstance(opened, Failure):
            raise AcquisitionFailed(opened.failure())  # the type checkers refuse a layer that may fail
        await _make_ready(core)
        return Runtime(core, ()) if brought is None else Open(core, brought)

    return Opening(core, begin)


def try_build(
    app: Buildable[R, R, E],
    *,
    programs: Iterable[Program[R]] = (),
    close_timeout: float = CLOSE_TIMEOUT,
) -> Opening[Result[Runtime[R], E]]:
    """Check an application whose layers may fail to open, and give the context that opens it.

    A declared failure of a layer is the value; what was already up is released by then.

    Args:
        app: The layers, or a `RuntimeBuilder`.
        programs: Handlers and agents that will run, for apps that are layers.
        close_timeout: Seconds that releasing one resource may take.

    Raises:
        ConstructionError: With every problem at once.

    Example:
        >>> import anyio
        >>> from lamina.effect import attempt
        >>> class Db: ...
        >>> @attempt
        ... async def db() -> Result[Db, str]:
        ...     return Failure("the disk is full")
        >>> async def main() -> None:
        ...     async with try_build(db) as built:
        ...         print(built)
        >>> anyio.run(main)
        <Failure: the disk is full>
    """
    core = _core(app, programs, None, close_timeout)

    async def begin(environment: Environment) -> Result[Runtime[R], E]:
        opened = await environment.open()
        if isinstance(opened, Failure):
            return Failure(cast("E", opened.failure()))  # the plan's layers declare nothing but E
        await _make_ready(core)
        return Success(Runtime(core, ()))

    return Opening(core, begin)


async def _make_ready(core: Core) -> None:
    """Prepare every registered agent: what only the services themselves show is refused here, and not at a run."""
    try:
        for program, _ in core.plan.sights:
            if isinstance(program, Binding):
                await core.agent(cast("Binding[Any, Any, Any]", program))  # type: ignore[redundant-cast]  # not to pyright
    except BaseException:
        await core.environment.close()
        raise


def _core(
    app: Buildable[Any, Any, Any],
    programs: Iterable[Program[Any]],
    seeds: Seeds[Any] | None,
    close_timeout: float,
) -> Core:
    layer: Layer[Any, Any, Any]
    built_in: tuple[Program[Any], ...] = ()
    if isinstance(app, RuntimeBuilder):
        builder = cast("RuntimeBuilder[Any, Any, Any]", app)  # type: ignore[redundant-cast]  # not so to pyright
        layer, built_in = builder.layer, builder.programs
    elif isinstance(app, Layer):
        layer = cast("Layer[Any, Any, Any]", app)  # type: ignore[redundant-cast]  # not so to pyright
    else:
        line = f"build() takes a layer or a RuntimeBuilder  {caller_where()}"
        raise ConstructionError([Problem("APP", type(app).__name__, (line,))])
    if not (isinstance(close_timeout, int | float) and 0 < close_timeout < float("inf")):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may err
        line = f"close_timeout is a positive, finite number of seconds  {caller_where()}"
        raise ConstructionError([Problem("TIMEOUT", "build", (line,))])
    checked = assemble(layer, (*built_in, *programs), seeds)
    checked.raise_problems()
    return Core(checked, Environment(checked, close_timeout=close_timeout), close_timeout)
