"""A store in memory: the schema and the rules of the others, in SQLite without a file; for tests and short lives."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from typing import Never

from returns.result import Failure, Result, Success

from lamina.effect import Layer, scoped
from lamina.store._check import check_unit
from lamina.store._sqlite_errors import statement_error, store_error
from lamina.store._sqlite_file import MEMORY, SqliteFile
from lamina.store._sqlite_units import commit, fetch
from lamina.store.port import (
    Row,
    Rows,
    Statement,
    StatementError,
    Store,
    StoreError,
    StoreUnavailable,
    Unmet,
    Value,
    ValueRefused,
)


class MemoryStore(Store):
    """Works in the event loop's own thread, and never waits: nothing can come between the statements of a unit."""

    durable = False

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection: sqlite3.Connection | None = connection

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        """Commit statements as one unit; see `Store.write`."""
        if self._connection is None:
            return Failure(StoreUnavailable("closed"))
        if isinstance(refused := check_unit(statements), ValueRefused):
            return Failure(refused)
        (outcome,) = commit(self._connection, [statements])
        if isinstance(outcome, StatementError):
            raise outcome
        return outcome

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        """Give the rows of one query; see `Store.read`."""
        if self._connection is None:
            return Failure(StoreUnavailable("closed"))
        query = Statement(sql, parameters)
        if isinstance(refused := check_unit([query]), ValueRefused):
            return Failure(refused)
        try:
            return Success(fetch(self._connection, query)[0])
        except Exception as error:
            if (known := store_error(error)) is not None:
                return Failure(known)
            raise _raised(error) from error

    def close(self) -> None:
        """Let the database go, and all that is in it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _raised(error: Exception) -> Exception:
    wrong = statement_error(error, 0)
    return wrong if isinstance(wrong, StatementError) else error


def memory_store() -> Layer[Never, Store, Never]:
    """Offer a store that lives as long as the runtime.

    When to use: in tests, and where nothing has to outlive the process. What asks for a durable store refuses it.

    Example:
        >>> memory_store()
        Layer(offers Store; needs nothing more)
    """

    async def memory() -> AsyncIterator[Store]:
        store = MemoryStore(SqliteFile(MEMORY, 0.0).open_for_writing().unwrap())
        try:
            yield store
        finally:
            store.close()

    return scoped(memory)
