"""The lease of a run that waits for long."""

from __future__ import annotations

import asyncio

from returns.result import Failure

from lamina.conversation import AppendConflict, RunLog
from lamina.effect import Clock, log
from lamina.engine import Run


class Keeper:
    """Renews a run's lease while it waits for something that takes longer than a lease.

    Appending renews, too, so that a run which goes on has no task for this.
    """

    __slots__ = ("_clock", "_run", "_task")

    def __init__(self, run: Run, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Renew from now on, where the conversation has leases."""
        journal = self._run.journal
        if isinstance(journal, RunLog) and journal.renew_within != float("inf"):
            self._task = asyncio.create_task(self._keep(journal), name=f"lamina lease {self._run.id}")

    async def end(self) -> None:
        """Stop, and wait until it has stopped."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _keep(self, journal: RunLog) -> None:
        while True:
            await self._clock.sleep(journal.renew_within)
            renewed = await journal.renew()
            if isinstance(renewed, Failure):
                failure = renewed.failure()
                log().warning("a lease was not renewed", run=self._run.id, why=str(failure))
                if isinstance(failure.cause, AppendConflict):  # another has the conversation
                    self._run.journal_failure = self._run.journal_failure or failure
                    return
