"""The one thread that writes to a SQLite database: what waits when a commit begins goes into it together.

Laws that hold here:

1. A unit is settled after its commit has returned, and all of a commit with one call into the loop.
2. What was accepted is carried out, also when the store is closed meanwhile, unless its caller was cancelled first.
3. The connection is opened, used and closed in the thread. All else is touched in the loop only.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread

import anyio
import attrs
from returns.result import Failure, Result, Success

from lamina.effect import log
from lamina.store._held import Held, held
from lamina.store._post import Loop, Waiter
from lamina.store._sqlite_file import SqliteFile, is_write_ahead
from lamina.store._sqlite_units import Outcome, commit
from lamina.store.port import (
    Rows,
    Statement,
    StatementError,
    StoreCorrupt,
    StoreError,
    StoreLocked,
    StoreUnavailable,
    Unmet,
)

COMMIT_BYTES = 16 * 1024 * 1024
"""No unit is added to a commit that has this many bytes already."""


@attrs.define(eq=False)
class Job:
    """A unit that waits to be written, and its caller with it.

    Attributes:
        statements: What it says.
        size: About how many bytes it has.
        outcome: What became of it; there once `done` is set.
        abandoned: Whether its caller has gone; then it is left out, if it was not begun.
    """

    statements: Sequence[Statement]
    size: int
    done: Waiter
    outcome: Outcome | None = None
    abandoned: bool = False


class Writer:
    """Takes jobs from a queue, and commits as many at once as are there.

    Args:
        file: The database.
        loop: Where its callers are.
        group: How many units one commit may hold.
        limit: How many units may wait; one more waits for a place.
    """

    def __init__(self, file: SqliteFile, loop: Loop, *, group: int, limit: int) -> None:
        self._file = file
        self._loop = loop
        self._group = group
        self._places = anyio.Semaphore(limit, fast_acquire=True)
        self._jobs: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._taken: deque[Job] = deque()  # the thread's own, until it has ended
        self._last = False
        self._gathered: list[Job] = []
        self._opened = anyio.Event()
        self._answer: Result[None, StoreError] = Success(None)
        self._ended = anyio.Event()
        self._closed = False
        self._stopped = False
        self._corrupt = False
        self._moved = False
        self._identity: tuple[int, int] | None = None

    async def open(self) -> Result[None, StoreError]:
        """Start the thread, and give what came of opening the database."""
        try:
            Thread(target=self._run, name="lamina store writer", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            return Failure(StoreUnavailable("overloaded"))
        try:
            await self._opened.wait()
        except BaseException:
            self.stop()
            raise
        return self._answer

    async def write(self, statements: Sequence[Statement], size: int) -> Result[Rows, StoreError | Unmet]:
        """Have a unit of about so many bytes committed, and wait for that; see `Store.write`."""
        try:
            self._places.acquire_nowait()
        except anyio.WouldBlock:
            await self._places.acquire()
        if self._closed:
            self._places.release()
            return Failure(StoreUnavailable("closed"))
        job = Job(statements, size, self._loop.waiter())
        self._gathered.append(job)
        if len(self._gathered) == 1:
            # What all tasks that are ready now have to write goes into one commit, and the thread does not compete with
            # them for the interpreter meanwhile.
            self._loop.soon(self._hand_over)
        try:
            await job.done
        except BaseException:
            job.abandoned = True
            raise
        outcome = job.outcome
        assert outcome is not None
        if isinstance(outcome, StatementError):
            raise outcome
        return outcome

    def refuse(self) -> None:
        """Take nothing more; what was taken is still written."""
        self._closed = True

    def stop(self) -> None:
        """Take nothing more, and end the thread once everything is written."""
        self.refuse()
        if not self._stopped:
            self._stopped = True
            self._hand_over()
            self._jobs.put(None)

    async def close(self) -> None:
        """Wait until everything is written and the database is closed."""
        self.stop()
        await self._ended.wait()

    def _hand_over(self) -> None:
        # All at once: the first of many would wake the thread, which then fights for the interpreter with this loop.
        if self._gathered:
            self._jobs.put(self._gathered)
            self._gathered = []

    def _settle(self, jobs: list[Job]) -> None:
        for job in jobs:
            if not job.done.done():
                job.done.set_result(None)
            self._places.release()
        # The thread cannot let go of them before it gets the interpreter again, which is when the next are there: twice
        # as much would be alive, and looked at by each garbage collection.
        jobs.clear()

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with held(self._file.path) as file:
                self._serve(file)
        finally:
            self._loop.post(self._over)

    def _serve(self, file: Held) -> None:
        connection: sqlite3.Connection | None = None
        secured = False
        jobs: list[Job] = []
        try:
            opened = self._file.open_for_writing()
            if isinstance(opened, Failure):
                self._answer = Failure(opened.failure())
                return
            connection = opened.unwrap()
            self._identity = self._file.identity()
            if secured := is_write_ahead(connection):
                file.secure()
            self._loop.post(self._opened.set)
            while jobs := self._take():
                self._carry_out(connection, file, [job for job in jobs if not job.abandoned])
                self._loop.post(self._settle, jobs)
                jobs = []  # what they hold is not kept until the next comes
        except BaseException as error:
            log().error("the store's writer broke", database="sqlite", exc_info=error)
            self._answer = Failure(StoreUnavailable("io"))
            for job in jobs:
                job.outcome = job.outcome or Failure(StoreUnavailable("io", in_doubt=True))
            self._loop.post(self._settle, jobs)
        finally:
            if secured:
                file.release()
            if connection is not None:
                _close(connection)

    def _take(self) -> list[Job]:
        """Wait for a job, and give it with those that are behind it; nothing when the store is closed."""
        self._receive(wait=not self._taken)
        jobs: list[Job] = []
        size = 0
        while self._taken and len(jobs) < self._group and size < COMMIT_BYTES:
            job = self._taken.popleft()
            jobs.append(job)
            size += job.size
        return jobs

    def _receive(self, *, wait: bool) -> None:
        """Take what was handed over, all that is there; nothing comes behind a `None`."""
        while not self._last:
            try:
                handed = self._jobs.get(block=wait)
            except Empty:
                return
            if handed is None:
                self._last = True
            else:
                self._taken += handed
                wait = False

    def _carry_out(self, connection: sqlite3.Connection, file: Held, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        if self._corrupt:  # writing on into a damaged file would damage what is still good
            outcomes: list[Outcome] = [Failure(StoreCorrupt())] * len(jobs)
        elif self._moved:
            outcomes = [Failure(StoreUnavailable("missing"))] * len(jobs)
        else:
            outcomes = self._commit(connection, file, jobs)
            if self._file.identity() != self._identity:
                outcomes = self._not_there(outcomes)
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.outcome = outcome
            # Most succeed, which is quick to see; to see that one is no `Failure`, an abstract class, is not.
            if not isinstance(outcome, Success | StatementError):
                self._corrupt |= isinstance(outcome.failure(), StoreCorrupt)

    def _commit(self, connection: sqlite3.Connection, file: Held, jobs: Sequence[Job]) -> list[Outcome]:
        if not file.begin_writing(self._file.busy_timeout):
            return [Failure(StoreLocked())] * len(jobs)
        try:
            return commit(connection, [job.statements for job in jobs])
        finally:
            file.end_writing()

    def _not_there(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Take back what was committed into a file that its path names no more: whoever opens that finds another."""
        self._moved = True
        log().error("the store's file was moved, replaced or deleted while it was open", database="sqlite")
        doubtful = Failure(StoreUnavailable("missing", in_doubt=True))
        return [doubtful if isinstance(outcome, Success) else outcome for outcome in outcomes]

    def _over(self) -> None:
        """In the loop: nothing is written any more, and nobody is left waiting."""
        self._closed = True
        self._hand_over()
        self._opened.set()
        self._ended.set()
        self._receive(wait=False)
        left = list(self._taken)
        self._taken.clear()
        for job in left:
            job.outcome = Failure(StoreUnavailable("closed"))
        self._settle(left)


def _close(connection: sqlite3.Connection) -> None:
    try:
        connection.close()
    except sqlite3.Error as error:
        log().warning("the store's database did not close", database="sqlite", exc_info=error)
