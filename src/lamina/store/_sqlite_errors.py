"""What SQLite's codes mean to the caller, and which of them end the whole transaction."""

from __future__ import annotations

import sqlite3

from lamina.effect import log
from lamina.store.port import (
    StatementError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    Unmet,
    ValueRefused,
)

_BY_CODE: dict[int, StoreError] = {
    sqlite3.SQLITE_FULL: StoreFull(),
    sqlite3.SQLITE_BUSY: StoreLocked(),
    sqlite3.SQLITE_LOCKED: StoreLocked(),
    sqlite3.SQLITE_PROTOCOL: StoreLocked(),
    sqlite3.SQLITE_READONLY: StoreReadOnly(),
    sqlite3.SQLITE_CORRUPT: StoreCorrupt(),
    sqlite3.SQLITE_NOTADB: StoreCorrupt(),
    sqlite3.SQLITE_FORMAT: StoreCorrupt(),
    sqlite3.SQLITE_IOERR: StoreUnavailable("io"),
    sqlite3.SQLITE_NOMEM: StoreUnavailable("overloaded"),
    sqlite3.SQLITE_INTERRUPT: StoreUnavailable("io"),
    sqlite3.SQLITE_NOLFS: StoreUnavailable("io"),
    sqlite3.SQLITE_CANTOPEN: StoreUnavailable("missing"),
    sqlite3.SQLITE_PERM: StoreUnavailable("refused"),
    sqlite3.SQLITE_AUTH: StoreUnavailable("refused"),
}
# A row that is there already, or the absence of one that is referred to.
_UNMET = frozenset(
    {
        sqlite3.SQLITE_CONSTRAINT_UNIQUE,
        sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        sqlite3.SQLITE_CONSTRAINT_ROWID,
        sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
    }
)


def primary_code(error: BaseException) -> int | None:
    """Give the primary result code of an error that came from the database itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def store_error(error: BaseException) -> StoreError | None:
    """Give what an error says about the database; `None` where it is about the statement.

    The error's own text goes to the log.
    """
    known = _BY_CODE.get(primary_code(error) or -1)
    if known is not None:
        name: str = getattr(error, "sqlite_errorname", type(error).__name__)
        log().warning("the store's database failed", database="sqlite", code=name, exc_info=error)
    return known


def statement_error(error: Exception, index: int) -> Unmet | ValueRefused | StatementError:
    """Give what an error says about one statement; a `StatementError` is to be raised."""
    if getattr(error, "sqlite_errorcode", None) in _UNMET:
        return Unmet(index)
    if primary_code(error) == sqlite3.SQLITE_TOOBIG:
        return ValueRefused(index, 0, "size")
    if isinstance(error, StatementError):
        return error
    made = StatementError(f"SQLite does not take the statement {index} of the unit")
    made.__cause__ = error
    return made
