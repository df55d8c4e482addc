"""What every operation on stored conversations needs: the row, the log as it was read, and the time."""

from __future__ import annotations

from collections.abc import Sequence

from returns.result import Failure, Result, Success

from lamina.conversation import _sql
from lamina.conversation._chain import Batch, make_batch
from lamina.conversation._errors import (
    AppendConflict,
    ConversationDamaged,
    ConversationError,
    InvalidId,
    NotAllowed,
    RecordRefused,
)
from lamina.conversation._ids import check_id, check_principal
from lamina.conversation._load import Reading, Readings
from lamina.conversation._log import StoredRunLog
from lamina.conversation._records import Record
from lamina.conversation.port import LONGEST_BATCH, Tail
from lamina.effect import Clock
from lamina.store import Statement, Store, StoreError

KEPT = 128
KEPT_BYTES = 64 * 1024 * 1024
TRIES = 16
"""How often a unit is made anew because another was first; each time one of them got through."""


class Shelf:
    """The conversations of one store, as one process sees them.

    Attributes:
        store: Where the logs are.
        clock: What leases are measured by.
        lease: Seconds.
        readings: What was read of logs.
    """

    __slots__ = ("clock", "lease", "readings", "store")

    def __init__(self, store: Store, clock: Clock, lease: float) -> None:
        self.store = store
        self.clock = clock
        self.lease = lease
        self.readings = Readings(most=KEPT, size=KEPT_BYTES)

    async def find(
        self, conversation: str, principal: str | None
    ) -> Result[_sql.Head, InvalidId | NotAllowed | StoreError]:
        """Give a conversation's row; another principal's is not there."""
        if (refused := refused_ids(conversation, principal)) is not None:
            return Failure(refused)
        row = await self.row(conversation)
        if isinstance(row, Failure):
            return Failure(row.failure())
        head = row.unwrap()
        if head is None or head.principal != principal:
            return Failure(NotAllowed("conversation", conversation))
        return Success(head)

    async def row(self, conversation: str) -> Result[_sql.Head | None, StoreError]:
        """Give a conversation's row, whoever's it is; None where there is none."""
        read = await self.store.read(_sql.HEAD, conversation)
        if isinstance(read, Failure):
            return Failure(read.failure())
        rows = read.unwrap()
        return Success(_sql.Head.of(rows[0]) if rows else None)

    async def read(self, head: _sql.Head) -> Result[Reading, ConversationError]:
        """Read a log up to where its row says that it ends; the reading has to be kept again."""
        reading = self.readings.take(head.id)
        if 0 < reading.tail.seq <= head.tail.seq:
            wrong = await reading.go_on(self.store, head.tail.seq, head.tail.digest)
            if not isinstance(wrong, ConversationDamaged):
                return Success(reading) if wrong is None else Failure(wrong)
        # Nothing is kept of it, or it is of a database that was set back since.
        reading = Reading(head.id)
        wrong = await reading.go_on(self.store, head.tail.seq, head.tail.digest)
        return Success(reading) if wrong is None else Failure(wrong)

    async def lost_out(self, conversation: str) -> Failure[ConversationError]:
        """Say that others were first, again and again."""
        read = await self.store.read(_sql.HEAD, conversation)
        if isinstance(read, Failure):
            return Failure(read.failure())
        tail = _sql.Head.of(read.unwrap()[0]).tail if read.unwrap() else Tail()
        return Failure(AppendConflict(conversation, tail.seq, tail.seq))

    def log(self, head: _sql.Head, turn: int = 0) -> StoredRunLog:
        """Make the journal of a conversation's owner, who may have been there until a turn."""
        return StoredRunLog(
            self.store,
            self.clock,
            self.lease,
            conversation=head.id,
            run=head.run or "",
            epoch=head.epoch,
            tail=head.tail,
            turn=turn,
        )

    def now(self) -> int:
        """Give the time in microseconds."""
        return _sql.microseconds(self.clock.now())

    def term(self) -> int:
        """Give the lease in microseconds."""
        return int(self.lease * 1e6)


def refused_ids(conversation: str, principal: str | None) -> InvalidId | None:
    """Say which of these cannot be what it is given for."""
    return check_id("conversation", conversation) or check_principal(principal)


def refused_run(conversation: str, run: str, principal: str | None) -> InvalidId | None:
    """Say which of these cannot be what it is given for."""
    return check_id("conversation", conversation) or check_id("run", run) or check_principal(principal)


def batches_of(records: Sequence[Record]) -> list[Batch]:
    """Write records of the framework's own, which nothing refuses, in as few batches as they fit into."""
    made: list[Batch] = []
    for start in range(0, len(records), LONGEST_BATCH):
        batch = make_batch(records[start : start + LONGEST_BATCH], None)
        if isinstance(batch, RecordRefused):
            raise RuntimeError(f"a record of the framework's own was refused: {batch.why}")
        made.append(batch)
    return made


def appended(conversation: str, batches: Sequence[Batch], before: Tail, now: int) -> tuple[list[Statement], list[Tail]]:
    """Give the statements that add batches to a log, and where the log ends after each."""
    statements: list[Statement] = []
    tails: list[Tail] = []
    for batch in batches:
        before = _sql.after(batch, before)
        statements.append(_sql.insert(conversation, batch, before, now))
        tails.append(before)
    return statements, tails
