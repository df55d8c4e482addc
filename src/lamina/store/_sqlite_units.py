"""Units of work on one SQLite connection: alone, or many in one commit, none of which harms another."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from returns.result import Failure, Result, Success

from lamina.store._sqlite_errors import primary_code, statement_error, store_error
from lamina.store._translate import for_sqlite
from lamina.store.port import Row, Rows, Statement, StatementError, StoreCorrupt, StoreError, StoreUnavailable, Unmet

Outcome: TypeAlias = Result[Rows, StoreError | Unmet] | StatementError
"""What becomes of a unit; a `StatementError` is to be raised."""

Unit: TypeAlias = Sequence[Statement]

_NOTHING: dict[Rows, Outcome] = {((),) * count: Success(((),) * count) for count in range(1, 5)}
"""What units are told that return no rows, as nearly all do: it is made once."""


def fetch(connection: sqlite3.Connection, statement: Statement) -> tuple[tuple[Row, ...], int]:
    """Carry one statement out; give its rows, and how many it returned or affected."""
    sql, reorder = for_sqlite(statement.sql)
    cursor = connection.execute(sql, statement.parameters if reorder is None else reorder(statement.parameters))
    if cursor.description is None:
        return (), cursor.rowcount
    rows = tuple(cursor.fetchall())
    return rows, len(rows)


def commit(connection: sqlite3.Connection, units: Sequence[Unit]) -> list[Outcome]:
    """Carry units out, as far as that goes in one transaction; each is kept whole or not at all.

    Nearly always each of them succeeds, so they are tried without savepoints first, which cost about as much as a
    statement. Where one does not, everything is undone and done again with a savepoint each: no unit takes another
    with it. A failure of the transaction is no unit's own either: it is undone, and each unit then has a transaction
    to itself, so that one which is too large for the disk does not take others with it.
    """
    if len(units) == 1:
        return [_alone(connection, units[0])]
    outcomes = _together(connection, units, savepoints=False)
    if outcomes is None:
        outcomes = _together(connection, units, savepoints=True)
    assert outcomes is not None, "with savepoints, a unit that is refused stops nothing"
    return outcomes


def _together(connection: sqlite3.Connection, units: Sequence[Unit], *, savepoints: bool) -> list[Outcome] | None:
    """Carry units out in one transaction; None where, without savepoints, one did not succeed: nothing is kept then."""
    outcomes: list[Outcome] = []
    begun = committing = False
    try:
        connection.execute("BEGIN IMMEDIATE")
        begun = True
        if savepoints:
            for unit in units:
                connection.execute("SAVEPOINT unit")
                outcome = _carry_out(connection, unit)
                if not isinstance(outcome, Success):
                    connection.execute("ROLLBACK TO unit")
                connection.execute("RELEASE unit")
                outcomes.append(outcome)
        else:
            succeeded = _all_succeed(connection, units)
            if succeeded is None:
                connection.execute("ROLLBACK")
                return None
            outcomes = succeeded
        committing = True
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        _roll_back(connection)
        why = _why(error, committing=committing)
        if isinstance(why, StoreUnavailable | StoreCorrupt) or not begun:
            return [Failure(why) for _ in units]
        return [_alone(connection, unit) for unit in units]
    return outcomes


def _all_succeed(connection: sqlite3.Connection, units: Sequence[Unit]) -> list[Outcome] | None:
    """Do what units say, as long as each statement does what it has to; None where one did not.

    It is `_carry_out` of each, with nothing made that the next unit does not need: what most writes wait for.

    Raises:
        sqlite3.Error: The transaction cannot go on.
    """
    outcomes: list[Outcome] = []
    execute = connection.execute
    try:
        for unit in units:
            answers: tuple[tuple[Row, ...], ...] = ()
            for statement in unit:
                sql, reorder = for_sqlite(statement.sql)
                parameters = statement.parameters
                cursor = execute(sql, parameters if reorder is None else reorder(parameters))
                if cursor.description is None:
                    rows: tuple[Row, ...] = ()
                    count = cursor.rowcount
                else:
                    rows = tuple(cursor.fetchall())
                    count = len(rows)
                if statement.rows is not None and statement.rows != count:
                    return None
                answers += (rows,)
            outcomes.append(_NOTHING.get(answers) or Success(answers))
    except Exception as error:
        if not connection.in_transaction or (isinstance(error, sqlite3.Error) and store_error(error) is not None):
            raise
        return None
    return outcomes


def _alone(connection: sqlite3.Connection, unit: Unit) -> Outcome:
    committing = False
    try:
        connection.execute("BEGIN IMMEDIATE")
        outcome = _carry_out(connection, unit)
        if not isinstance(outcome, Success):
            connection.execute("ROLLBACK")
            return outcome
        committing = True
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        _roll_back(connection)
        return Failure(_why(error, committing=committing))
    return outcome


def _carry_out(connection: sqlite3.Connection, unit: Unit) -> Outcome:
    """Do what a unit says; its caller undoes it unless it succeeds.

    Raises:
        sqlite3.Error: The transaction cannot go on.
    """
    answers: list[tuple[Row, ...]] = []
    for index, statement in enumerate(unit):
        try:
            rows, count = fetch(connection, statement)
        except Exception as error:
            # Some errors end the transaction, and SQLite decides which; no savepoint is left then.
            if not connection.in_transaction or (isinstance(error, sqlite3.Error) and store_error(error) is not None):
                raise
            problem = statement_error(error, index)
            return problem if isinstance(problem, StatementError) else Failure(problem)
        if statement.rows is not None and statement.rows != count:
            return Failure(Unmet(index))
        answers.append(rows)
    return Success(tuple(answers))


def _why(error: sqlite3.Error, *, committing: bool) -> StoreError:
    """Give what ended a transaction.

    An I/O error while it is committed leaves it in doubt: the frames may be in the file, and the next to open it would
    take them for committed. A full disk does not, for the last frame makes the commit, and it was not written.
    """
    if committing and primary_code(error) == sqlite3.SQLITE_IOERR:
        store_error(error)
        return StoreUnavailable("io", in_doubt=True)
    return store_error(error) or StoreUnavailable("io", in_doubt=committing)


def _roll_back(connection: sqlite3.Connection) -> None:
    if not connection.in_transaction:
        return
    try:
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        store_error(error)
