"""Numbers and dates the events of one run. A run that nobody observes has none, and makes no event."""

from __future__ import annotations

from collections.abc import Callable

from lamina.effect import Clock
from lamina.engine._events import RunEvent

Sink = Callable[[RunEvent], None]
"""Where events go; it neither waits nor raises."""


class Emitter:
    """Makes a run's events and hands them to its sink."""

    __slots__ = ("_agent", "_clock", "_conversation", "_next", "_run", "_sink")

    def __init__(self, sink: Sink, run: str, conversation: str | None, agent: str, clock: Clock) -> None:
        self._sink = sink
        self._run = run
        self._conversation = conversation
        self._agent = agent
        self._clock = clock
        self._next = 0

    def moved(self, conversation: str) -> None:
        """Say that the run goes on in another conversation than it was to be in."""
        self._conversation = conversation

    def __call__(self, kind: Callable[..., RunEvent], /, **fields: object) -> None:
        """Make an event of a kind, and pass it on."""
        event = kind(
            run=self._run,
            conversation=self._conversation,
            agent=self._agent,
            sequence=self._next,
            timestamp=self._clock.now(),
            **fields,
        )
        self._next += 1
        self._sink(event)
