"""The events of a run that has a handle: kept to a bound, read by any number of observers, slowed by none (RUN-010)."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self

import attrs

from lamina.effect import Value
from lamina.engine._events import TERMINAL, RunEvent

MOST_EVENTS = 65_536


@attrs.frozen(eq=False, repr=False)
class EventsMissed(Value):
    """An observer was too slow: the oldest events were dropped before it read them.

    Attributes:
        count: How many it missed.
    """

    count: int


class EventLog:
    """Keeps the latest events; the terminal one is the last, and so never dropped."""

    __slots__ = ("_events", "_first", "_limit", "_waiting", "ended")

    def __init__(self, limit: int = MOST_EVENTS) -> None:
        self._events: deque[RunEvent] = deque()
        self._first = 0
        self._limit = limit
        self._waiting: set[asyncio.Future[None]] = set()
        self.ended = False

    @property
    def next(self) -> int:
        """The sequence number that the next event has."""
        return self._first + len(self._events)

    def append(self, event: RunEvent) -> None:
        """Keep an event, and wake who waits for it."""
        self._events.append(event)
        if len(self._events) > self._limit:
            self._events.popleft()
            self._first += 1
        if isinstance(event, TERMINAL):
            self.ended = True
        self._wake()

    def end(self) -> None:
        """Let the observers go, also where no terminal event came."""
        self.ended = True
        self._wake()

    def read(self, position: int) -> tuple[RunEvent | EventsMissed | None, int]:
        """Give what stands at a position, and the position after it; None where nothing is there yet."""
        if position < self._first:
            return EventsMissed(self._first - position), self._first
        if position < self.next:
            return self._events[position - self._first], position + 1
        return None, position

    async def changed(self) -> None:
        """Wait for the next event, or for the end."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()


class RunEvents:
    """The events of one run, for `async for`; ends after the terminal event. It may be left at any time."""

    __slots__ = ("_log", "_position")

    def __init__(self, log: EventLog, position: int) -> None:
        self._log = log
        self._position = position

    def __aiter__(self) -> Self:
        """Go on from here."""
        return self

    async def __anext__(self) -> RunEvent | EventsMissed:
        """Give the next event, or say how many were missed."""
        while True:
            event, self._position = self._log.read(self._position)
            if event is not None:
                return event
            if self._log.ended:
                raise StopAsyncIteration
            await self._log.changed()
