"""A clock that a test owns: time stands still until the test advances it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import anyio
from anyio.lowlevel import checkpoint

from lamina.effect import Alarm, Clock

_TURNS = 1000
"""After so many turns of the event loop something spins, and is not waited for."""


class VirtualClock(Clock):
    """The `Clock` for tests: `advance` moves it, and fires what falls due on the way, in order of time.

    What is due at the same time fires in the order in which it was set. Woken tasks run, as far as they get without
    more time, before the next thing fires; work in threads is not waited for.

    Args:
        start: The date and time at which it begins.

    Example:
        >>> import anyio
        >>> async def main() -> list[str]:
        ...     clock, seen = VirtualClock(), list[str]()
        ...     clock.alarm(2.0, lambda: seen.append("alarm"))
        ...     async with anyio.create_task_group() as group:
        ...         group.start_soon(clock.sleep, 5)
        ...         await clock.advance(10)
        ...     return [*seen, f"{clock.monotonic():g} s", clock.now().isoformat()]
        >>> anyio.run(main)
        ['alarm', '10 s', '2026-01-01T00:00:10+00:00']
    """

    __slots__ = ("_due", "_elapsed", "_order", "_start")

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start.astimezone(UTC)
        self._elapsed = 0.0
        self._due: list[tuple[float, int, _VirtualAlarm]] = []
        self._order = count()

    def now(self) -> datetime:
        """Give the date and time to which it has been advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Give the seconds by which it has been advanced."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced by so much."""
        if seconds <= 0:
            await checkpoint()
            return
        woken = anyio.Event()
        alarm = self.alarm(self._elapsed + seconds, woken.set)
        try:
            await woken.wait()
        finally:
            alarm.cancel()

    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm:
        """Call back when the clock is advanced to `at`, or at the next advance where that is past."""
        made = _VirtualAlarm(callback)
        heapq.heappush(self._due, (at, next(self._order), made))
        return made

    @property
    def pending(self) -> int:
        """How many sleeps and alarms have not fallen due."""
        return sum(not alarm.is_over for _, _, alarm in self._due)

    async def advance(self, seconds: float) -> None:
        """Move time on, and fire what falls due, also what is set meanwhile.

        Args:
            seconds: By how much; zero lets woken tasks run, and fires what is due now.
        """
        if seconds < 0:
            raise ValueError("time runs forwards only")
        end = self._elapsed + seconds
        await _let_others_run()
        while self._due and self._due[0][0] <= end:
            at, _, alarm = heapq.heappop(self._due)
            if not alarm.is_over:
                self._elapsed = max(self._elapsed, at)
                alarm.ring()
                await _let_others_run()
        self._elapsed = end


class _VirtualAlarm:
    __slots__ = ("_callback", "is_over")

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback
        self.is_over = False

    def cancel(self) -> None:
        self.is_over = True

    def ring(self) -> None:
        self.is_over = True
        self._callback()


async def _let_others_run() -> None:
    """Wait until every other task waits for something that only time, a file or a thread can bring."""
    try:
        ready: object = getattr(asyncio.get_running_loop(), "_ready", None)
    except RuntimeError:
        import trio.testing

        await trio.testing.wait_all_tasks_blocked()
        return
    for turn in range(_TURNS):
        await checkpoint()
        if (not ready) if ready is not None else turn > 50:  # other event loops do not show what is ready
            return
