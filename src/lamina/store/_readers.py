"""The threads that read a SQLite database: as many as there are queries at once, up to a limit, each made when needed.

Write-ahead logging lets them read while the writer writes; each query sees what was committed when it began.
"""

from __future__ import annotations

import sqlite3
from queue import SimpleQueue
from threading import Thread

import anyio
import attrs
from returns.result import Failure, Result, Success

from lamina.store._post import Loop, Waiter
from lamina.store._sqlite_errors import statement_error, store_error
from lamina.store._sqlite_file import SqliteFile
from lamina.store._sqlite_units import fetch
from lamina.store.port import Row, Statement, StatementError, StoreError, StoreUnavailable


@attrs.define(eq=False)
class Query:
    """A query that waits for a reader, and its caller with it."""

    statement: Statement
    done: Waiter
    outcome: Result[tuple[Row, ...], StoreError] | StatementError | None = None
    abandoned: bool = False


class Readers:
    """Takes queries from a queue.

    Args:
        file: The database.
        loop: Where its callers are.
        threads: How many there may be.
    """

    def __init__(self, file: SqliteFile, loop: Loop, *, threads: int) -> None:
        self._file = file
        self._loop = loop
        self._threads = threads
        self._queries: SimpleQueue[Query | None] = SimpleQueue()
        self._alive = 0
        self._waiting = 0
        self._closed = False
        self._ended = anyio.Event()

    async def read(self, query: Query) -> Result[tuple[Row, ...], StoreError]:
        """Have a query answered, and wait for that."""
        if self._closed:
            return Failure(StoreUnavailable("closed"))
        if self._waiting >= self._alive and self._alive < self._threads:
            try:
                Thread(target=self._run, name="lamina store reader", daemon=True).start()
            except RuntimeError:  # the system has no thread left; one that is there will do
                if not self._alive:
                    return Failure(StoreUnavailable("overloaded"))
            else:
                self._alive += 1
        self._waiting += 1
        self._queries.put(query)
        try:
            await query.done
        except BaseException:
            query.abandoned = True
            raise
        assert query.outcome is not None
        if isinstance(query.outcome, StatementError):
            raise query.outcome
        return query.outcome

    async def close(self) -> None:
        """Answer what was asked, and end the threads."""
        if not self._closed:
            self._closed = True
            for _ in range(self._alive):
                self._queries.put(None)
            if not self._alive:
                self._ended.set()
        await self._ended.wait()

    def _answered(self, query: Query) -> None:
        self._waiting -= 1
        if not query.done.done():
            query.done.set_result(None)

    def _one_less(self) -> None:
        self._alive -= 1
        if self._closed and not self._alive:
            self._ended.set()

    # --- in a thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            while (query := self._queries.get()) is not None:
                if not query.abandoned:
                    try:
                        connection = connection or self._file.open_for_reading()
                        query.outcome = Success(fetch(connection, query.statement)[0])
                    except Exception as error:
                        query.outcome = _outcome(error)
                self._loop.post(self._answered, query)
                del query
        finally:
            if connection is not None:
                connection.close()
            self._loop.post(self._one_less)


def _outcome(error: Exception) -> Result[tuple[Row, ...], StoreError] | StatementError:
    known = store_error(error)
    if known is not None:
        return Failure(known)
    wrong = statement_error(error, 0)
    return wrong if isinstance(wrong, StatementError) else Failure(StoreUnavailable("io"))
