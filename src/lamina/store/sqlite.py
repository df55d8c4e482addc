"""A store in one SQLite file: the embedded default (design §8)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Never

from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Layer, Problem, attempt, caller_where, log
from lamina.store._check import check_unit
from lamina.store._held import is_inherited
from lamina.store._post import Loop
from lamina.store._readers import Query, Readers
from lamina.store._sqlite_file import SqliteFile
from lamina.store._writer import Writer
from lamina.store.port import (
    Row,
    Rows,
    Statement,
    Store,
    StoreError,
    StoreUnavailable,
    Unmet,
    Value,
    ValueRefused,
)

GROUP = 256
QUEUE = 1024
READERS = 4


class SqliteStore(Store):
    """Writes in one thread, reads in others, and never in the event loop's."""

    durable = True

    def __init__(self, loop: Loop, writer: Writer, readers: Readers) -> None:
        self._loop = loop
        self._writer = writer
        self._readers = readers

    # No coroutine of its own round the writer's, for there is one for each batch of each run.
    def write(  # pyright: ignore[reportIncompatibleMethodOverride] - what an async function gives, to both checkers
        self, *statements: Statement
    ) -> Coroutine[Any, Any, Result[Rows, StoreError | Unmet]]:
        """Commit statements as one unit; see `Store.write`."""
        size = check_unit(statements)
        return _refused(size) if isinstance(size, ValueRefused) else self._writer.write(statements, size)

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        """Give the rows of one query; see `Store.read`."""
        query = Statement(sql, parameters)
        if isinstance(refused := check_unit([query]), ValueRefused):
            return Failure(refused)
        return await self._readers.read(Query(query, self._loop.waiter()))

    async def close(self) -> None:
        """Commit what was accepted, answer what was asked, and close the file."""
        self._writer.refuse()
        try:
            await self._readers.close()
        finally:
            self._writer.stop()  # the last connection folds the log into the file; of two at once neither does
        await self._writer.close()


async def _refused(why: ValueRefused) -> Result[Rows, StoreError | Unmet]:
    return Failure(why)


def sqlite_store(
    path: str | os.PathLike[str],
    *,
    busy_timeout: float = 5.0,
    group: int = GROUP,
    queue: int = QUEUE,
    readers: int = READERS,
) -> Layer[Never, Store, StoreError]:
    """Offer a store in a SQLite file, which several processes may use at once.

    A write is on the disk when it is answered: write-ahead log, `synchronous=FULL`. Writes that wait for the disk at
    the same time share one commit, which costs a single writer nothing, and makes fifty about thirty times as fast.

    The file stays where it is while it is open: a store whose file was moved, replaced or deleted writes no more. A
    process that was forked while its parent had the file open cannot open it, for SQLite's locks do not survive a fork;
    start such processes before, or by `spawn`. Nothing else in the process should open the file meanwhile: to close
    it takes SQLite's locks on it away, which on Linux alone are held a second time.

    Args:
        path: The file; it is made, for its owner only, where it is missing. Its folder has to be there, on a disk of
            this machine.
        busy_timeout: Seconds to wait while another process writes, before `StoreLocked`.
        group: How many units one commit may hold; 1 gives each its own.
        queue: How many units may wait to be written; whoever brings one more waits for a place.
        readers: How many queries may run at once.

    Raises:
        ConstructionError: There is no such path, or a number is out of range.

    Example:
        >>> sqlite_store("agent.db")
        Layer(offers Store; needs nothing more)
    """
    place = os.fspath(path)
    wrong = [
        *([] if place and "\0" not in place else ["path has to name a file"]),
        *(["a store in memory is memory_store()"] if place == ":memory:" else []),
        *([] if min(group, queue, readers) >= 1 else ["group, queue and readers have to be at least 1"]),
        *([] if busy_timeout >= 0 else ["busy_timeout cannot be negative"]),
    ]
    if wrong:
        where = caller_where()
        raise ConstructionError([Problem("STORE", "sqlite_store", tuple(f"{each}  {where}" for each in wrong))])
    file = SqliteFile(os.path.abspath(place), busy_timeout)

    async def sqlite() -> AsyncIterator[Result[Store, StoreError]]:
        if is_inherited(file.path):
            log().error("the process that this one was forked from had the store open", database="sqlite")
            yield Failure(StoreUnavailable("refused"))
            return
        loop = Loop()
        writer = Writer(file, loop, group=group, limit=queue)
        opened = await writer.open()
        if isinstance(opened, Failure):
            yield Failure(opened.failure())
            return
        store = SqliteStore(loop, writer, Readers(file, loop, threads=readers))
        try:
            yield Success(store)
        finally:
            await store.close()

    return attempt(sqlite)
