"""The runs that are active in a runtime: what closes it ends them, while there is still a store to record that in."""

from __future__ import annotations

import asyncio

from lamina.effect import log
from lamina.engine import Run


class ActiveRuns:
    """The runs of a runtime, from their first step to their last.

    Attributes:
        closing: Whether the runtime is being closed: a run that begins now is interrupted at once.
    """

    __slots__ = ("_idle", "_runs", "closing")

    def __init__(self) -> None:
        self.closing = False
        self._runs: set[Run] = set()
        self._idle: asyncio.Event | None = None

    def add(self, run: Run) -> None:
        """Note that a run begins."""
        self._runs.add(run)
        if self.closing:
            run.interruption.interrupt()

    def remove(self, run: Run) -> None:
        """Note that a run has ended, and left nothing behind."""
        self._runs.discard(run)
        if self._idle is not None and not self._runs:
            self._idle.set()

    async def end(self) -> None:
        """Interrupt every run, and wait until each has its ending, its calls their outcomes.

        A run that is suspended is none of these, and stays suspended. Whoever awaits this says how long it may take.
        """
        self.closing = True
        for run in tuple(self._runs):
            run.interruption.interrupt()
        if not self._runs:
            return
        self._idle = asyncio.Event()
        try:
            await self._idle.wait()
        finally:
            if self._runs:
                names = sorted(run.id for run in self._runs)
                log().error("the runtime is closed while runs go on: they did not end in time", runs=names)
