"""The database port: statements that commit together, reads that see what was committed, and why either may fail.

    StoreError
      StoreUnavailable   not there, refused, lost, too slow, closed      worth another try, unless closed or refused
      StoreLocked        another holds what was needed                   worth another try
      StoreFull          no space                                        when somebody has made some
      StoreReadOnly      may be read only                                when somebody has changed that
      StoreCorrupt       no database, or a damaged one                   never
      StoreTooNew        of a newer release                              never
      StoreForeign       of something else                               never
      ValueRefused       a value that the databases cannot both keep     never

Each sentence is fixed, and quotes neither the database nor a value; what the database said is in the log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import attrs
from returns.result import Result

from lamina.effect import tagged

Value: TypeAlias = str | int | float | bytes | None
"""What a column holds. A `bool` may be given, and comes back as 0 or 1."""

Row: TypeAlias = tuple[Value, ...]
"""One row of an answer."""


if TYPE_CHECKING:
    from attrs import frozen as _statement
else:
    # It is not to be changed, as to the checkers it cannot be; but to see to it makes one cost three times as much, and
    # there are two for each batch of each run.
    _statement = partial(attrs.define, unsafe_hash=True)


@_statement
class Statement:
    """One SQL statement, common to SQLite 3.35 and PostgreSQL 13, with its parameters.

    Parameters are numbered, `$1` and on. PostgreSQL takes their types from where they stand; where nothing says it,
    write `CAST($1 AS BIGINT)`. The column types are `TEXT`, `BIGINT`, `DOUBLE PRECISION` and `BYTEA`. Order by numbers
    or by texts: texts are ordered by their UTF-8 bytes.

    Attributes:
        sql: A constant: each text is prepared once and kept. Values belong into the parameters.
        parameters: `$1` first.
        rows: How many rows it has to return, or to affect where it returns none; else its whole unit is undone, and
            `Unmet` tells which statement it was. `None` takes any number.
        size: About how many bytes its parameters have, said by who has seen to it that every database keeps them as
            they are, no text of theirs with a NUL among them: then nobody looks at each of them again.

    Example:
        >>> Statement("UPDATE conversation SET head_seq = $2 WHERE id = $1 AND head_seq = $3", ("c-1", 8, 7), rows=1)
        Statement(sql='UPDATE conversation SET head_seq = $2 WHERE id = $1 AND head_seq = $3', ...)
    """

    sql: str = attrs.field(repr=True)
    parameters: tuple[Value, ...] = attrs.field(default=(), repr=lambda _: "...")
    rows: int | None = None
    size: int | None = None

    def __repr__(self) -> str:
        """Show the text and no value: values are the application's own."""
        return f"Statement(sql={self.sql!r}, ...)"


class StatementError(Exception):
    """A statement that no database would take: a mistake in its SQL or in the number or types of its parameters.

    It is raised, for it is a defect of the program. Its cause is what the database said.
    """


@tagged("The statement {statement} of the unit did not find what it needs.")
class Unmet:
    """Another was first: what a compare-and-append turns into its own conflict. Nothing of the unit was kept.

    Attributes:
        statement: The index, from 0, of the first statement that affected another number of rows than its `rows`, or
            that met a row which is there already, or the absence of one that it refers to.
    """

    statement: int


@tagged("The store cannot be used: {why}.")
class StoreUnavailable:
    """The database is not there, refuses, is lost, does not answer in time, or was closed.

    Attributes:
        why: `missing` and `refused` need a person: there is no such file, folder or database, or no permission.
        in_doubt: Whether a write may have been committed all the same: it broke off while it was being committed.
    """

    why: Literal["missing", "refused", "lost", "timeout", "overloaded", "io", "closed"]
    in_doubt: bool = False

    @property
    def retryable(self) -> bool:
        """Whether the same may succeed in a moment."""
        return self.why in ("lost", "timeout", "overloaded", "io")


@tagged("The store has no space left.")
class StoreFull:
    """The disk, or a quota, is full. What was committed is still there."""

    retryable: ClassVar[bool] = False


@tagged("The store is locked by another.")
class StoreLocked:
    """Another process held the lock for longer than the store waits."""

    retryable: ClassVar[bool] = True


@tagged("The store may be read only.")
class StoreReadOnly:
    """The file, its folder, or the database takes no writes."""

    retryable: ClassVar[bool] = False


@tagged("The store is damaged, or is no database.")
class StoreCorrupt:
    """A page cannot be read as what it has to be. After this a store takes no more writes, and still reads."""

    retryable: ClassVar[bool] = False


@tagged("The store has schema {found}, and this release knows no more than {known}.")
class StoreTooNew:
    """A newer release has been at work here; nothing was written (STORE-011)."""

    found: int
    known: int
    retryable: ClassVar[bool] = False


@tagged("The store holds something else than this release made: {what}.")
class StoreForeign:
    """The database is in use by something else, or its schema was made by other files than this release has.

    Attributes:
        what: `tables of another program`, `schema N`, or `encoding NAME`, where the database's texts cannot hold every
            character.
    """

    what: str
    retryable: ClassVar[bool] = False


@tagged("The parameter ${parameter} of the statement {statement} cannot be stored: {why}.")
class ValueRefused:
    """A value that one of the databases cannot keep as it is, so that none takes it; nothing was written.

    Attributes:
        statement: Its index in the unit, from 0.
        parameter: Its number, from 1; 0 where only the database knows which it was.
        why: `nul` and `surrogate` are about texts, `range` about numbers: 64 bits, and no NaN.
    """

    statement: int
    parameter: int
    why: Literal["nul", "surrogate", "range", "size"]
    retryable: ClassVar[bool] = False


StoreError: TypeAlias = (
    StoreUnavailable
    | StoreLocked
    | StoreFull
    | StoreReadOnly
    | StoreCorrupt
    | StoreTooNew
    | StoreForeign
    | ValueRefused
)
"""Every reason for which a store does not do what it was asked; each has `retryable`."""

Rows: TypeAlias = tuple[tuple[Row, ...], ...]
"""What a unit answers: for each of its statements the rows that it returned."""


class Store(ABC):
    """The one database of a runtime, which capabilities contribute statements to (design §8, STORE-002).

    Offer one with `memory_store()`, `sqlite_store(path)` or `postgres_store(dsn)`.

    Attributes:
        durable: Whether what was committed is there after the process has ended.
    """

    durable: bool

    @abstractmethod
    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        """Commit statements as one unit: all of them in this order, or none.

        A condition that the unit relies on has to be on a row that the unit itself writes, and first: `UPDATE … WHERE
        head_seq = $1` with `rows=1`, then whatever depends on it. Such units are serial; of any number that race for
        one row exactly one finds it as it was.

        When the caller is cancelled the unit may still be committed, a moment later even, and then is whole: what has
        to know waits for the answer, or makes its unit such that doing it twice is told apart.

        Returns:
            For each statement the rows that it returned; `Unmet` where one did not find what it needs.

        Raises:
            StatementError: A statement is wrong.
        """

    @abstractmethod
    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        """Give the rows of one query, all as they were at one moment; what was committed before the call is seen.

        Raises:
            StatementError: The query is wrong.
        """
