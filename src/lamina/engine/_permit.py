"""Stage 7: a call holds what it has to hold, in one order for all, from its start to its end (seed 004 §2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType


class permitted:  # noqa: N801 - it reads as the statement it is used in
    """Holds the batch's, the tool's and its groups' semaphores; they are given back on every exit."""

    __slots__ = ("_held", "_wanted")

    def __init__(self, batch: asyncio.Semaphore | None, own: Sequence[asyncio.Semaphore]) -> None:
        self._wanted = own if batch is None else (batch, *own)
        self._held: list[asyncio.Semaphore] = []

    async def __aenter__(self) -> None:
        try:
            for semaphore in self._wanted:
                await semaphore.acquire()
                self._held.append(semaphore)
        except BaseException:
            self._release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release()

    def _release(self) -> None:
        while self._held:
            self._held.pop().release()
