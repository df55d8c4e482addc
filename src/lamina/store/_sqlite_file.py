"""Opening a SQLite database: its file, its settings, and its schema, however many processes do so at once."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from pathlib import Path
from threading import Lock

import attrs
from returns.result import Failure, Result, Success

from lamina.effect import log
from lamina.store._migrations import APPLIED, APPLY, RECORD, Migration, known_migrations, outstanding
from lamina.store._sqlite_errors import store_error
from lamina.store._translate import for_sqlite
from lamina.store.port import StoreError, StoreForeign, StoreFull, StoreReadOnly, StoreTooNew, StoreUnavailable

MEMORY = ":memory:"
_MAKING = Lock()
_FILE_ERRORS: dict[int, StoreError] = {errno.EROFS: StoreReadOnly(), errno.ENOSPC: StoreFull()}
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"


@attrs.frozen
class SqliteFile:
    """Where a database is, and how it is opened.

    Attributes:
        path: The file; `:memory:` is none.
        busy_timeout: Seconds to wait for another's lock.
    """

    path: str
    busy_timeout: float

    def open_for_writing(self) -> Result[sqlite3.Connection, StoreError]:
        """Open the database, create it where there is none, and bring its schema up.

        What this release must not touch is looked at before anything is written.
        """
        if self.path != MEMORY and (problem := _make(Path(self.path))) is not None:
            return Failure(problem)
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect()
            refused = _migrate(connection, self.path, time.monotonic() + self.busy_timeout)
        except sqlite3.Error as error:
            refused = store_error(error) or StoreUnavailable("io")
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        if connection is None:
            return Failure(refused or StoreUnavailable("io"))
        if refused is not None:
            connection.close()
            return Failure(refused)
        return Success(connection)

    def open_for_reading(self) -> sqlite3.Connection:
        """Open a database that is there already, for queries only.

        Raises:
            sqlite3.Error: It cannot be opened any more.
        """
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def identity(self) -> tuple[int, int] | None:
        """Tell which file the path names now; None where it names none, or none that can be told."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _connect(self) -> sqlite3.Connection:
        # Only `_make` makes a file: one that is gone must not come back as an empty one.
        place = self.path if self.path == MEMORY else f"{Path(self.path).as_uri()}?mode=rw"
        connection = sqlite3.connect(
            place, timeout=self.busy_timeout, isolation_level=None, cached_statements=256, uri=True
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def is_write_ahead(connection: sqlite3.Connection) -> bool:
    """Tell whether a database is in write-ahead mode; else SQLite locks its file anew for each transaction."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    return str(mode) == "wal"


def _make(path: Path) -> StoreError | None:
    """Make the file where it is missing, for its owner's eyes only; SQLite gives its other files the same mode.

    A file that is there is not opened: to close any descriptor of a file takes this process's locks on it away, all of
    them (POSIX), and another store here may rely on its own. So nobody else here opens a file that is being made.
    """
    try:
        with _MAKING:
            os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return StoreReadOnly() if _is_on_read_only(path) else None
    except (FileNotFoundError, NotADirectoryError):
        return StoreUnavailable("missing")
    except PermissionError:
        return None if path.is_file() else StoreUnavailable("refused")  # what can be read tells more when it is read
    except OSError as error:
        log().warning("the store's file cannot be made", database="sqlite", exc_info=error)
        return _FILE_ERRORS.get(error.errno or 0, StoreUnavailable("io"))
    return None


def _is_on_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # Windows has no such call
        return False


def _migrate(connection: sqlite3.Connection, path: str, deadline: float) -> StoreError | None:
    todo = _outstanding(connection)
    if isinstance(todo, StoreTooNew | StoreForeign):
        return todo
    if path != MEMORY:
        _use_wal(connection, deadline)
    if not todo:
        return None
    connection.execute("BEGIN IMMEDIATE")
    try:
        todo = _outstanding(connection)  # another may have been here since
        if isinstance(todo, StoreTooNew | StoreForeign):
            return todo
        _apply(connection, todo)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return None


def _outstanding(connection: sqlite3.Connection) -> tuple[Migration, ...] | StoreTooNew | StoreForeign:
    tables = {name for (name,) in connection.execute(_TABLES)}
    applied: list[tuple[int, str]] | None = None
    if "schema_version" in tables:
        try:
            applied = connection.execute(APPLIED).fetchall()
        except sqlite3.OperationalError as error:
            if store_error(error) is not None:
                raise
            return StoreForeign("tables of another program")
    return outstanding(known_migrations(), applied, empty=not tables)


def _apply(connection: sqlite3.Connection, todo: tuple[Migration, ...]) -> None:
    connection.execute(RECORD)
    for migration in todo:
        for statement in migration.statements:
            connection.execute(statement.replace(" BYTEA", " BLOB"))
        connection.execute(for_sqlite(APPLY)[0], (migration.version, migration.checksum))


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    """Write ahead, and wait for the disk at each commit.

    SQLite does not wait for the lock that the change of mode needs, when several want it at once; so this does.
    """
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
    if mode != "wal":  # the file system cannot share memory; all holds, but readers and the writer wait for each other
        log().warning("the store's file system has no write-ahead log", database="sqlite", mode=mode)
    connection.execute("PRAGMA synchronous = FULL")
