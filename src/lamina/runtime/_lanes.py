"""The runs of one runtime that wait for a conversation: in their order, and told when it is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

import attrs

from lamina.engine import Run, RunCause


@attrs.define(eq=False)
class Lane:
    """The runs of this process that wait for one conversation, first come, first served."""

    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    users: int = 0


class Lanes:
    """The lanes of a runtime, and who waits for a conversation; what nobody uses is not kept."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str | None, str], Lane] = {}
        self._watching: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def watching(self, conversation: str) -> Generator[asyncio.Event]:
        """Give an event that is set whenever a run of this runtime leaves a conversation."""
        left = asyncio.Event()
        watching = self._watching.setdefault(conversation, set())
        watching.add(left)
        try:
            yield left
        finally:
            watching.discard(left)
            if not watching and self._watching.get(conversation) is watching:
                del self._watching[conversation]

    def left(self, run: Run) -> None:
        """Tell whoever waits for a run's conversation that the run has left it, if it ever had it."""
        if run.journal is not None and run.conversation is not None:
            for left in self._watching.get(run.conversation, ()):
                left.set()

    async def through(
        self, principal: str | None, conversation: str, work: Callable[[], Awaitable[RunCause | None]]
    ) -> RunCause | None:
        """Do something about a conversation when everybody who came before has done theirs."""
        key = (principal, conversation)
        lane = self._lanes.setdefault(key, Lane())
        lane.users += 1
        try:
            async with lane.lock:
                return await work()
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[key]
