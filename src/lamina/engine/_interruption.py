"""A run's own reasons to be cancelled, told apart from its caller's."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Literal, Self, cast

from lamina.effect import Alarm, Clock

Reason = Literal["duration", "interrupted"]


class Interruption:
    """Cancels the run's task when its time is over or its handle says so, and knows that it did.

    It counts as `asyncio.timeout` does: a cancellation belongs to the run only if nobody outside asked for one too.
    """

    __slots__ = ("_alarm", "_asked_before", "_claimed", "_closed", "_task", "reason")

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self._task: asyncio.Task[object] | None = None
        self._alarm: Alarm | None = None
        self._asked_before = 0
        self._closed = False
        self._claimed = False

    def enter(self, clock: Clock, deadline: float) -> Self:
        """Begin in the current task, with a deadline on the clock's monotonic time."""
        self._task = cast("asyncio.Task[object]", asyncio.current_task())
        self._asked_before = self._task.cancelling()
        if self.reason is not None:  # interrupted before it began
            self._task.cancel()
        else:
            self._alarm = clock.alarm(deadline, self._time_is_over)
        return self

    def move(self, clock: Clock, deadline: float) -> None:
        """Set another deadline: a run that is resumed has the time that it had left."""
        if self._alarm is not None and self.reason is None and not self._closed:
            self._alarm.cancel()
            self._alarm = clock.alarm(deadline, self._time_is_over)

    def hold(self) -> None:
        """Let no deadline pass until `move` sets one: what is waited for is no part of the run."""
        if self._alarm is not None:
            self._alarm.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ask for nothing any more: how the run ends is decided."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()

    def interrupt(self) -> None:
        """End the run as interrupted, unless it is ending already."""
        self._request("interrupted")

    def _time_is_over(self) -> None:
        self._request("duration")

    def _request(self, reason: Reason) -> None:
        if self.reason is None and not self._closed:
            self.reason = reason
            if self._task is not None:
                self._task.cancel()

    def asked(self) -> bool:
        """Tell whether anybody asked the current task, the run's or a child of it, to be cancelled."""
        task = cast("asyncio.Task[object]", asyncio.current_task())
        return task.cancelling() > (self._asked_before if task is self._task else 0)

    async def renew(self) -> None:
        """Raise a cancellation again that was asked for, and that something below has swallowed."""
        if self.asked():
            await asyncio.sleep(0)  # one that was not delivered yet, or that a scope delivers again, comes here
            raise asyncio.CancelledError

    def claim(self) -> Reason | None:
        """Take a cancellation that reached the run's end: give the run's own reason, or None for somebody else's."""
        if self.reason is None or self._task is None or self._claimed:
            return None
        self._claimed = True
        return self.reason if self._task.uncancel() <= self._asked_before else None

    async def absorb(self) -> None:
        """Take a cancellation back that the run asked for, but that came too late, or that something swallowed."""
        self.close()
        if self.reason is not None and not self._claimed and self._task is not None:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                if self.claim() is None:
                    raise
            else:
                self.claim()
