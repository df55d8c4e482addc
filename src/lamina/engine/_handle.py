"""A run in progress, as its owner holds it (design §5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast

from returns.result import Failure, Result

from lamina.conversation import History
from lamina.effect import message_of
from lamina.engine._event_log import EventLog, RunEvents
from lamina.engine._events import RunStopped
from lamina.engine._failures import Completed, RunFailure, RunInterrupted
from lamina.engine._run import Run
from lamina.engine._steer import submit
from lamina.steering import Receipt, SteeringError

O = TypeVar("O", covariant=True)  # noqa: E741 - the output
Ended: TypeAlias = Result[Completed[Any], RunFailure]  # Any: `RunHandle[O]` gives the output its type


class RunHandle(Generic[O]):
    """Holds one run: entered it runs, left it has ended.

    Leaving the block while the run is active interrupts it, and waits until every call has its outcome.

    Example:
        async with rt.start(binding, "hello") as run:
            async for event in run.events():
                print(event)
            result = await run.result()
    """

    __slots__ = ("_active", "_entered", "_log", "_prepare", "_work")

    def __init__(self, prepare: Callable[[EventLog], Awaitable[Run]], work: Callable[[Run], Awaitable[Ended]]) -> None:
        self._prepare = prepare
        self._work = work
        self._log = EventLog()
        self._entered = False
        self._active: tuple[Run, asyncio.Task[Ended]] | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self._started()[0].id

    @property
    def history(self) -> History:
        """What was said until now; every call in it has its one result, also after a cancellation."""
        return self._started()[0].transcript.history()

    async def __aenter__(self) -> Self:
        """Start the run.

        Raises:
            ConstructionError: The runtime does not have what the agent needs; nothing was asked of its model.
        """
        if self._entered:
            raise RuntimeError("a run is started once; make another handle with rt.start(...)")
        self._entered = True
        run = await self._prepare(self._log)

        async def work() -> Ended:
            return await self._work(run)

        task = asyncio.create_task(work(), name=f"lamina run {run.id}")
        task.add_done_callback(self._end)
        self._active = run, task
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Interrupt the run if it is still active, and wait for its settlement, also through repeated cancels."""
        run, task = self._started()
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            run.interruption.interrupt()
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as again:
                cancelled = again
        if not task.cancelled() and task.exception() is not None and kind is None:
            raise cast("BaseException", task.exception())
        if cancelled is not None:
            raise cancelled

    def events(self, *, replay: bool = True) -> RunEvents:
        """Observe the run.

        Args:
            replay: Begin with the first event that is kept; otherwise with the next one.

        Returns:
            An iterator of its own place; any number of them may be read at once, none slows the run.
        """
        return RunEvents(self._log, 0 if replay else self._log.next)

    async def result(self) -> Result[Completed[O], RunFailure]:
        """Wait for the end; a waiter that is cancelled leaves the run alone."""
        run, task = self._started()
        await asyncio.wait({task})
        if not task.cancelled():
            return task.result()
        return Failure(run.failure(RunInterrupted())) if run.ended is None else run.ended

    async def steer(
        self,
        text: str,
        *,
        author: str | None = None,
        id: str | None = None,  # noqa: A002 - it is the command's
    ) -> Result[Receipt, SteeringError]:
        """Say something to the run that the next request to its model holds (RUN-014).

        The response and the calls that are under way go on as they are. Needs `steering=True` in the agent's policy.
        While the run waits to begin, this waits for it.

        Args:
            text: What is said: 1 to 65,536 characters, not only blanks.
            author: Who says it; None is the run's principal.
            id: The command's own id: the same command twice is one. None gives it a new one.

        Returns:
            A receipt. What is admitted is in the history once, or in `report.undelivered` where the run ends before.
            `SteeringClosed` where the run takes nothing (any more), `SteeringFull` where too much waits for it.
        """
        return await submit(self._started()[0], "steering", text, author, id)

    async def follow_up(
        self,
        text: str,
        *,
        author: str | None = None,
        id: str | None = None,  # noqa: A002 - it is the command's
    ) -> Result[Receipt, SteeringError]:
        """Say something to the run that goes in where it would stop with its answer (RUN-015).

        The answer stays in the history, the text follows as the next input, and the run goes on, as far as its turns
        and budgets go.

        Args:
            text: What is said.
            author: Who says it; None is the run's principal.
            id: The command's own id; see `steer`.

        Returns:
            As `steer`.
        """
        return await submit(self._started()[0], "follow-up", text, author, id)

    def interrupt(self) -> None:
        """End the run now: what has started is cut off, and every call gets its honest outcome."""
        self._started()[0].interruption.interrupt()

    def _end(self, task: asyncio.Task[Ended]) -> None:
        """Let the observers go; a task that was cancelled before its first step had no chance to tell them anything."""
        run, _ = self._started()
        if not self._log.ended and run.emit is not None:
            run.emit(RunStopped, message=message_of(RunInterrupted()))
        if run.seam is not None:
            run.seam.ready.set()
        self._log.end()

    def _started(self) -> tuple[Run, asyncio.Task[Ended]]:
        if self._active is None:
            raise RuntimeError("the run has not started: write `async with rt.start(...) as run:`")
        return self._active
