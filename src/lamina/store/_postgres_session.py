"""One connection to PostgreSQL: each statement is prepared on it once, and a unit is one transaction or one trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs
from returns.result import Failure, Result, Success

from lamina.store._check import first_word
from lamina.store._postgres_errors import code_of, is_worth_another, statement_error, store_error
from lamina.store.port import Row, Rows, Statement, StatementError, StoreError, StoreUnavailable, Unmet, Value

if TYPE_CHECKING:
    from asyncpg import Connection, Record
    from asyncpg.prepared_stmt import PreparedStatement

Outcome: TypeAlias = Result[Rows, StoreError | Unmet] | StatementError

TRIES = 5
"""How often a unit is tried that the server undoes because two units waited for each other."""
KEPT = 512
"""How many statements are kept prepared on a connection."""
_MISCOUNTED = "22012"  # division by zero


@attrs.frozen
class Address:
    """Where a database is, and how it is talked to.

    Attributes:
        dsn: `postgresql://user:password@host:port/database`.
        schema: The namespace that holds the tables.
        timeout: Seconds that connecting, and each statement, may take.
        lock_timeout: Seconds to wait for another's lock.
    """

    dsn: str = attrs.field(repr=False)
    schema: str
    timeout: float
    lock_timeout: float


class Session:
    """A connection, used by one task at a time."""

    def __init__(self, connection: Connection[Record]) -> None:
        self.connection = connection
        self._prepared: dict[str, PreparedStatement[Record]] = {}

    @classmethod
    async def connect(cls, address: Address) -> Session:
        """Connect; what goes wrong is raised."""
        import asyncpg

        connection: Connection[Record] = await asyncpg.connect(
            address.dsn,
            timeout=address.timeout,
            command_timeout=address.timeout,
            server_settings={
                "application_name": "lamina",
                "search_path": f'"{address.schema}"',
                # A unit's condition is on a row that it writes: this is enough, and a database whose own default is
                # stricter would undo units for what they do not rely on.
                "default_transaction_isolation": "read committed",
                "lock_timeout": str(round(address.lock_timeout * 1000)),
            },
        )
        try:
            for name, decode in (("numeric", _number), ("bool", _flag)):
                await connection.set_type_codec(
                    name, schema="pg_catalog", encoder=_written, decoder=decode, format="text"
                )
        except BaseException:
            connection.terminate()
            raise
        return cls(connection)

    @property
    def is_closed(self) -> bool:
        """Whether the connection is of no use any more."""
        return self.connection.is_closed()

    async def close(self) -> None:
        """Say goodbye to the server."""
        await self.connection.close(timeout=1.0)

    def terminate(self) -> None:
        """Leave at once."""
        self.connection.terminate()

    async def write(self, unit: Sequence[Statement]) -> Outcome:
        """Carry a unit out, whole or not at all.

        A unit that the server undoes since two waited for each other is tried again.
        """
        for _ in range(TRIES):
            outcome = await self._try(unit)
            if outcome is not None:
                return outcome
        return await self._try(unit, last=True) or Failure(StoreUnavailable("io"))

    async def _try(self, unit: Sequence[Statement], *, last: bool = False) -> Outcome | None:
        """Try once; `None` says that it is worth another try."""
        stage = _Stage()
        try:
            if len(unit) == 1 and (alone := _as_one_trip(unit[0])) is not None:
                stage.committing = True
                return await self._one_trip(unit[0], alone)
            return await self._transaction(unit, stage)
        except Exception as error:
            if not last and not self.is_closed and is_worth_another(error):
                self._prepared.clear()
                await self._roll_back()
                return None
            if isinstance(error, TimeoutError):
                self.terminate()  # what the server makes of the rest is not to be met by the next unit
            known = store_error(error, closed=self.is_closed)
            if known is not None:
                if isinstance(known, StoreUnavailable):
                    known = StoreUnavailable(known.why, in_doubt=stage.committing)
                outcome: Outcome = Failure(known)
            else:
                problem = statement_error(error, stage.statement)
                outcome = problem if isinstance(problem, StatementError) else Failure(problem)
            await self._roll_back()
            return outcome

    async def _one_trip(self, statement: Statement, sql: str) -> Outcome:
        try:
            rows, _ = await self._fetch(sql, statement.parameters)
        except Exception as error:
            if code_of(error) == _MISCOUNTED and sql is not statement.sql:
                return Failure(Unmet(0))
            raise
        if sql is statement.sql:
            return Success((rows,))
        return Success(((),)) if rows == ((statement.rows,),) else Failure(Unmet(0))

    async def _transaction(self, unit: Sequence[Statement], stage: _Stage) -> Outcome:
        answers: list[tuple[Row, ...]] = []
        await self.connection.execute("BEGIN")
        for index, statement in enumerate(unit):
            stage.statement = index
            rows, count = await self._fetch(statement.sql, statement.parameters)
            if statement.rows is not None and statement.rows != count:
                await self.connection.execute("ROLLBACK")
                return Failure(Unmet(index))
            answers.append(rows)
        stage.committing = True
        await self.connection.execute("COMMIT")
        return Success(tuple(answers))

    async def _fetch(self, sql: str, parameters: tuple[Value, ...]) -> tuple[tuple[Row, ...], int]:
        prepared = self._prepared.get(sql)
        if prepared is None:
            if len(self._prepared) >= KEPT:
                self._prepared.clear()
            prepared = self._prepared[sql] = await self.connection.prepare(sql)
        records = await prepared.fetch(*parameters)
        if records:
            return tuple([tuple(record) for record in records]), len(records)
        count = (prepared.get_statusmsg() or "").rpartition(" ")[2]
        return (), int(count) if count.isdecimal() else 0

    async def _roll_back(self) -> None:
        if self.is_closed or not self.connection.is_in_transaction():
            return
        try:
            await self.connection.execute("ROLLBACK")
        except Exception as error:
            store_error(error, closed=True)
            self.terminate()


@attrs.define
class _Stage:
    """How far a unit is."""

    statement: int = 0
    committing: bool = False


def _as_one_trip(statement: Statement) -> str | None:
    """Give the text that does a unit of one statement in one trip, without a transaction of its own around it.

    Where the number of rows matters the statement counts them itself, and divides by zero when there are too many: that
    undoes it. None at all needs no undoing.
    """
    if statement.rows is None:
        return statement.sql
    if first_word(statement.sql) not in ("INSERT", "UPDATE", "DELETE") or "RETURNING" in statement.sql.upper():
        return None
    # Each text is prepared once, so the number is a part of it; there are few.
    return (
        f"WITH unit AS ({statement.sql} RETURNING 1) SELECT count(*) / "  # noqa: S608 - it is the caller's own constant
        f"(CASE WHEN count(*) IN (0, {int(statement.rows)}) THEN 1 ELSE 0 END) FROM unit"
    )


def _number(text: str) -> int | float:
    """Read PostgreSQL's exact numbers, which sums are, as SQLite gives them."""
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _flag(text: str) -> int:
    return 1 if text == "t" else 0


def _written(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
