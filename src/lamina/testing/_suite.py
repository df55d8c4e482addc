"""What all suites share: how a thing is held to its port, and what is said of it afterwards (TEST-004)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Never, TypeVar, cast

import anyio
import attrs
from returns.result import Failure

from lamina.effect import Handler, Layer
from lamina.runtime import try_build

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Awaitable[None]])
_FOR_DURABLE = "__lamina_for_durable__"


@attrs.frozen
class ConformanceReport:
    """What a suite has looked at.

    Attributes:
        checked: What was held to its port, and passed: cases, situations or operations.
        left_out: What was not looked at: a durable one's cases where this one forgets, what a provider cannot produce.
    """

    checked: tuple[str, ...]
    left_out: tuple[str, ...] = ()


class ConformanceError(AssertionError):
    """An implementation does not do what its port says; `problems` has every one, as `case: what`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join((f"{len(problems)} problems", *problems)))
        self.problems = problems


class Broken(AssertionError):
    """One thing that an implementation does and must not, or the other way round."""


def require(holds: bool, what: str) -> None:
    """Break off with `what` unless it holds."""
    if not holds:
        raise Broken(what)


class Findings:
    """What a suite finds, as it goes on.

    Args:
        patience: How many seconds one thing may take, before it counts as stuck.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.checked: list[str] = []
        self.left_out: list[str] = []
        self.problems: list[str] = []

    async def hold(self, name: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Do something that has to end well and in time; what does not is a problem, and the suite goes on."""
        try:
            with anyio.fail_after(self._patience):
                await work()
        except TimeoutError:
            self.problems.append(f"{name}: not done after {self._patience:g} s")
        except Exception as error:  # what raises breaks its port
            self.problems.append(f"{name}: {_what_of(error)}")
        else:
            return True
        return False

    def report(self) -> ConformanceReport:
        """Say what was looked at.

        Raises:
            ConformanceError: There are problems.
        """
        if self.problems:
            raise ConformanceError(tuple(self.problems))
        return ConformanceReport(tuple(self.checked), tuple(self.left_out))


def for_durable(case: F) -> F:
    """Leave a case out where things are forgotten."""
    setattr(case, _FOR_DURABLE, True)
    return case


async def hold_to(
    cases: Iterable[F], run: Callable[[F], Awaitable[None]], *, durable: bool, patience: float
) -> ConformanceReport:
    """Run each case by itself; its name is a sentence of the report.

    Raises:
        ConformanceError: With every problem that was found.
    """
    findings = Findings(patience)
    for case in cases:
        name = case.__name__.replace("_", " ")
        if hasattr(case, _FOR_DURABLE) and not durable:
            findings.left_out.append(name)
        elif await findings.hold(name, partial(run, case)):
            findings.checked.append(name)
    return findings.report()


@asynccontextmanager
async def service_of(app: Layer[Never, S, Any], give: Handler[S, None, S]) -> AsyncGenerator[S, None]:
    """Open a layer for its service, and close it afterwards.

    Args:
        app: The layer; what it may fail with is reported as it is.
        give: Gives its service.
    """
    # Any: pyright finds no runtime for a service that is a type variable.
    async with try_build(cast("Layer[Any, Any, Any]", app)) as built:
        if isinstance(built, Failure):
            raise Broken(f"it does not open: {built.failure()}")
        yield await built.unwrap().run(give, None)


def _what_of(error: BaseException) -> str:
    """Say what came out of a case; a task group may be around it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return str(error) if isinstance(error, Broken) else f"it raised {type(error).__name__}"
