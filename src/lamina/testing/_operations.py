"""The check that a port's operations go through the wrapper, and tell nothing of what is in them (seed 004 §12)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar, cast

import anyio
import attrs
from returns.result import Failure

from lamina.effect import tag_of
from lamina.telemetry import Began, MemoryTelemetry, Observation, Observed, Telemetry, observing, operations_of
from lamina.testing._suite import ConformanceError, ConformanceReport

S = TypeVar("S")
Calls = Mapping[str, Callable[[S], Awaitable[object]]]
_IDENTITY = ("run-of-the-check", "conversation-of-the-check", "agent-of-the-check")


@attrs.frozen(kw_only=True)
class OperationReport(ConformanceReport):
    """What `check_operations` has looked at.

    Attributes:
        observed: What was told of each operation, when it was left to itself.
    """

    observed: tuple[Observed, ...]


class _Broken(Telemetry):
    """Raises, as an exporter may that is down: at once, or when the operation ends."""

    def __init__(self, *, at_end: bool) -> None:
        self._at_end = at_end

    def begin(self, began: Began) -> Observation:
        if self._at_end:
            return self
        raise RuntimeError("the exporter is down")

    def end(self, ended: object) -> None:
        raise RuntimeError("the exporter is down")


async def check_operations(
    port: type[S],
    make: Callable[[], AbstractAsyncContextManager[S]],
    calls: Calls[S],
    *,
    canary: str,
) -> OperationReport:
    """Hold the operations of a service to what every operation owes (CAP-013).

    Each abstract async method of the port is called on a service of its own. Looked for: one observation a call, with
    the declared name and version, the run and the conversation it is called in, a duration, and an outcome that fits
    the answer; none of a call that is cancelled; no canary in anything that is told; and the same answer where the
    telemetry raises.

    Args:
        port: The class of the service.
        make: Opens a fresh service.
        calls: For each method, how it is called; with the canary in whatever is payload.
        canary: A text that is nowhere else.

    Returns:
        What was checked, and what was told.

    Raises:
        ConformanceError: With every problem that was found.

    Example:
        >>> from abc import ABC, abstractmethod
        >>> from collections.abc import AsyncIterator
        >>> from contextlib import asynccontextmanager
        >>> from lamina.telemetry import observed
        >>> @observed("notes", resources={"write": "id"})
        ... class Notes(ABC):
        ...     @abstractmethod
        ...     async def write(self, id: str, text: str) -> None: ...
        >>> class MemoryNotes(Notes):
        ...     async def write(self, id: str, text: str) -> None: ...
        >>> @asynccontextmanager
        ... async def memory() -> AsyncIterator[Notes]:
        ...     yield MemoryNotes()
        >>> async def main() -> tuple[str, ...]:
        ...     calls = {"write": lambda notes: notes.write("n-1", "canary-41")}
        ...     return (await check_operations(Notes, memory, calls, canary="canary-41")).checked
        >>> anyio.run(main)
        ('notes.write',)
    """
    declared = operations_of(port)
    problems: list[str] = []
    checked: list[str] = []
    seen: list[Observed] = []
    for method in _methods(port):
        call = calls.get(method)
        if method not in declared:
            problems.append(f"{method}: it is no operation; put @observed on the port")
        if call is None:
            problems.append(f"{method}: no call of it was given")
            continue
        name = declared[method].name if method in declared else method
        checked.append(name)
        version = declared[method].version if method in declared else None
        try:
            found, observations = await _check(make, call, name, version, canary)
        except Exception as error:
            found, observations = [f"it could not be called: {type(error).__name__}"], ()
        problems += [f"{method}: {what}" for what in found]
        seen += observations
    problems += [f"{method}: the port has no such operation" for method in calls if method not in _methods(port)]
    if problems:
        raise ConformanceError(tuple(problems))
    return OperationReport(checked=tuple(checked), observed=tuple(seen))


def _methods(port: type[Any]) -> list[str]:
    return [
        name
        for name, fn in inspect.getmembers(port, inspect.iscoroutinefunction)
        if getattr(fn, "__isabstractmethod__", False)
    ]


async def _check(
    make: Callable[[], AbstractAsyncContextManager[S]],
    call: Callable[[S], Awaitable[object]],
    name: str,
    version: int | None,
    canary: str,
) -> tuple[list[str], tuple[Observed, ...]]:
    telemetry = MemoryTelemetry()
    answer = await _ask(make, call, telemetry)
    top = tuple(one for one in telemetry.observed if one.parent is None)
    problems = [*_problems(top, answer, name, version), *_leaks(telemetry, canary)]
    cancelled = MemoryTelemetry()
    try:
        async with make() as service:
            with _watching(cancelled):
                caught = await _cancel(call, service)
    except Exception:
        problems.append("cancelled, it raised something else than the cancellation")
    else:
        told = [one.ended.outcome for one in cancelled.observed if one.ended is not None]
        if caught and "success" in told[:1]:
            problems.append("cancelled, it was told as a success")
    problems += _leaks(cancelled, canary)
    for at_end in (False, True):
        other = await _ask(make, call, _Broken(at_end=at_end))
        if _kind(other) != _kind(answer):
            problems.append(f"with a telemetry that raises it gave {_kind(other)}, and {_kind(answer)} without")
    return problems, top


def _watching(telemetry: Telemetry) -> AbstractContextManager[None]:
    run, conversation, agent = _IDENTITY
    return observing(telemetry, run=run, conversation=conversation, agent=agent)


async def _cancel(call: Callable[[S], Awaitable[object]], service: S) -> bool:
    """Call within a scope that is cancelled already; tell whether the call let itself be cancelled."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await call(service)
    return scope.cancelled_caught


async def _ask(
    make: Callable[[], AbstractAsyncContextManager[S]],
    call: Callable[[S], Awaitable[object]],
    telemetry: Telemetry,
) -> object:
    async with make() as service:
        with _watching(telemetry):
            try:
                return await call(service)
            except Exception as error:
                return error


def _problems(top: tuple[Observed, ...], answer: object, name: str, version: int | None) -> Iterator[str]:
    if len(top) != 1:
        yield f"{len(top)} observations of one call"
        return
    began, ended = top[0].began, top[0].ended
    if began.name != name or (version is not None and began.version != version):
        yield f"it was told as {began.name} {began.version}"
    if (began.run, began.conversation, began.agent) != _IDENTITY:
        yield "it was not told whose it is"
    if ended is None:
        yield "its end was not told"
        return
    if ended.duration < 0 or ended.retries < 0:
        yield "its duration or its retries are less than nothing"
    expected = "defect" if isinstance(answer, Exception) else "failure" if isinstance(answer, Failure) else "success"
    if ended.outcome != expected:
        yield f"its outcome was told as {ended.outcome}, and is a {expected}"
    if (ended.category is None) != (ended.outcome == "success"):
        yield "a failure has a category, and a success has none"


def _leaks(telemetry: MemoryTelemetry, canary: str) -> list[str]:
    told = repr([(one.began, one.ended) for one in telemetry.observed])
    return ["the canary is in what was told"] if canary in told else []


def _kind(answer: object) -> str:
    if isinstance(answer, Failure):
        return f"Failure of {tag_of(cast('Failure[object]', answer).failure())}"
    return type(answer).__name__
