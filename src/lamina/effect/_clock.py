"""Time as a service, so that a test owns it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

import anyio

from lamina.effect import _backend


class Alarm(Protocol):
    """A callback that has been set for later."""

    def cancel(self) -> None:
        """Take it back; without effect once it has been called."""
        ...


class Clock(ABC):
    """The service that tells the time, waits, and calls back.

    Ask for it wherever time matters; `SystemClock` is the machine's, `lamina.testing.VirtualClock` a test's own.
    """

    __slots__ = ()

    @abstractmethod
    def now(self) -> datetime:
        """Give the date and time, aware and in UTC."""

    @abstractmethod
    def monotonic(self) -> float:
        """Give seconds that never run backwards; only differences mean something."""

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds; zero or less lets others run."""

    @abstractmethod
    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm:
        """Call back when `monotonic()` reaches `at`; the callback must neither block nor raise.

        Args:
            at: Seconds on this clock's `monotonic()`; what is past is called at once, but not from within this call.
            callback: A plain function.

        Returns:
            The alarm, to cancel it.
        """


class SystemClock(Clock):
    """The machine's own clock, on asyncio and trio.

    Example:
        >>> clock = SystemClock()
        >>> clock.now().tzinfo is UTC, clock.monotonic() <= clock.monotonic()
        (True, True)
    """

    __slots__ = ()

    def now(self) -> datetime:
        """Give the date and time, aware and in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give `time.monotonic()`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await anyio.sleep(max(0.0, seconds))

    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm:
        """Call back from the event loop."""
        return _backend.call_later(max(0.0, at - time.monotonic()), callback)
