"""Every statement that conversations are made of, common to SQLite and PostgreSQL.

A unit begins with the conversation's row, and with everything that the unit relies on as a condition on it: where the
log ends, who owns it, and until when. So of any number of units that race for one position exactly one is kept.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal, TypeAlias, cast

import attrs

from lamina.conversation._chain import UNGUARDED, Batch
from lamina.conversation._codec import VERSION
from lamina.conversation.port import Summary, Tail
from lamina.effect import Value
from lamina.store import Row, Statement

State: TypeAlias = Literal["active", "suspended"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_COLUMNS = (
    "id, principal, created, head_seq, head_digest, busy_run, busy_state, busy_epoch, busy_until, "
    "forked_from, forked_seq"
)
HEAD = f"SELECT {_COLUMNS} FROM conversation WHERE id = $1"  # noqa: S608 - constants
LIST = f"SELECT {_COLUMNS} FROM conversation WHERE principal = $1 AND id > $2 ORDER BY id LIMIT $3"  # noqa: S608 - the columns are a constant of ours
LIST_OF_NOBODY = f"SELECT {_COLUMNS} FROM conversation WHERE principal IS NULL AND id > $1 ORDER BY id LIMIT $2"  # noqa: S608 - the columns are a constant of ours
PAGE = (
    "SELECT seq, id, batch, kind, version, created, payload, digest FROM record "
    "WHERE conversation = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4"
)
FIND = "SELECT seq, kind, version, payload FROM record WHERE conversation = $1 AND id = $2"
_FIND_GUARDED = f"{FIND} AND kind <> 'ResultSettled' AND kind <> 'ResponseDeclared' AND kind <> 'TurnAdvanced'"


def by_id(kind: str) -> str:
    """Give the query for a record of a kind by its id; one of the unguarded kinds is looked for in all of the log."""
    return FIND if kind in UNGUARDED else _FIND_GUARDED


def _pending(principal: str, first: int) -> str:
    """Write the query for what waits: a run's requests are a range of record ids, `0` being what follows `/`."""
    return (
        "SELECT r.conversation, r.seq, r.id, r.batch, r.kind, r.version, r.created, r.payload, r.digest "  # noqa: S608 - constants
        "FROM conversation c JOIN record r ON r.conversation = c.id "
        "AND r.id >= 'asked:' || c.busy_run || '/' AND r.id < 'asked:' || c.busy_run || '0' "
        "AND r.kind <> 'ResultSettled' AND r.kind <> 'ResponseDeclared' AND r.kind <> 'TurnAdvanced' "
        f"WHERE {principal} AND c.busy_state = 'suspended' "
        f"AND (c.id > ${first} OR (c.id = ${first} AND r.seq > ${first + 1})) "
        "AND NOT EXISTS (SELECT 1 FROM record d "
        "WHERE d.conversation = r.conversation AND d.id = 'decided:' || substr(r.id, 7) "
        "AND d.kind <> 'ResultSettled' AND d.kind <> 'ResponseDeclared' AND d.kind <> 'TurnAdvanced') "
        "AND NOT EXISTS (SELECT 1 FROM record s "
        "WHERE s.conversation = r.conversation AND s.seq > r.seq AND s.id = 'settled:' || substr(r.id, 7)) "
        f"ORDER BY c.id, r.seq LIMIT ${first + 2}"
    )


PENDING = _pending("c.principal = $1", 2)
PENDING_OF_NOBODY = _pending("c.principal IS NULL", 1)

_CREATE = (
    "INSERT INTO conversation (id, principal, created, head_seq, head_digest, busy_run, busy_state, busy_epoch, "
    "busy_until, forked_from, forked_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
)
_TAKE = (
    "UPDATE conversation SET head_seq = $1, head_digest = $2, busy_run = $3, busy_state = $4, busy_epoch = $5, "
    "busy_until = $6 WHERE id = $7 AND head_seq = $8 AND head_digest = $9 AND busy_epoch = $10 "
    "AND COALESCE(busy_until, 0) = $11"
)
_ADVANCE = (
    "UPDATE conversation SET head_seq = $1, head_digest = $2, busy_run = $3, busy_state = $4, busy_until = $5 "
    "WHERE id = $6 AND head_seq = $7 AND head_digest = $8 AND busy_run = $9 AND busy_epoch = $10 "
    "AND busy_state = 'active'"
)
_GO_ON = (
    "UPDATE conversation SET head_seq = $1, head_digest = $2, busy_until = $3 "
    "WHERE id = $4 AND head_seq = $5 AND head_digest = $6 AND busy_run = $7 AND busy_epoch = $8 "
    "AND busy_state = 'active'"
)
_RENEW = (
    "UPDATE conversation SET busy_until = $1 WHERE id = $2 AND busy_run = $3 AND busy_epoch = $4 "
    "AND busy_state = 'active'"
)
_COPY = (
    "INSERT INTO record (conversation, seq, id, batch, kind, version, created, payload, digest) "
    "SELECT CAST($1 AS TEXT), seq, id, batch, kind, version, created, payload, digest FROM record "
    "WHERE conversation = $2 AND seq <= $3"
)


SMALL = 1024
"""About how many bytes the parameters of a statement have that holds no payload."""


def microseconds(moment: datetime) -> int:
    """Give a moment as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(stored: int) -> datetime:
    """Give the moment that a number of microseconds stands for, in UTC."""
    return _EPOCH + stored * _MICROSECOND


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Head(Value):
    """A conversation's row.

    Attributes:
        id: The conversation's id.
        principal: Whose it is.
        created: Microseconds.
        tail: Where its log ends.
        run: The run that has it.
        state: What that run does.
        epoch: The number of its owner, which each change of owner raises.
        until: When an active run's lease is over, in microseconds.
        forked_from: The conversation that it was forked from.
        forked_seq: The last position that was copied.
    """

    id: str
    principal: str | None
    created: int
    tail: Tail
    run: str | None = None
    state: State | None = None
    epoch: int = 0
    until: int | None = None
    forked_from: str | None = None
    forked_seq: int | None = None

    @staticmethod
    def of(row: Row) -> Head:
        """Read a row."""
        (id_, principal, created, seq, digest, run, state, epoch, until, forked_from, forked_seq) = row
        return Head(
            id=cast("str", id_),
            principal=cast("str | None", principal),
            created=cast("int", created),
            tail=Tail(cast("int", seq), cast("str", digest)),
            run=cast("str | None", run),
            state=cast("State | None", state),
            epoch=cast("int", epoch),
            until=cast("int | None", until),
            forked_from=cast("str | None", forked_from),
            forked_seq=cast("int | None", forked_seq),
        )

    def held_at(self, now: int) -> bool:
        """Whether a run has the conversation, and its lease, if it has one, is not over."""
        return self.run is not None and (self.state == "suspended" or self.until is None or self.until > now)

    def summary(self) -> Summary:
        """Say what a list says of it."""
        return Summary(
            id=self.id,
            created=moment(self.created),
            tail=self.tail,
            run=self.run,
            state=self.state,
            forked_from=self.forked_from,
            forked_seq=self.forked_seq,
        )


def create(head: Head) -> Statement:
    """Make a conversation; there is none of its id."""
    return Statement(
        _CREATE,
        (
            head.id,
            head.principal,
            head.created,
            head.tail.seq,
            head.tail.digest,
            head.run,
            head.state,
            head.epoch,
            head.until,
            head.forked_from,
            head.forked_seq,
        ),
        rows=1,
    )


def take(before: Head, after: Head) -> Statement:
    """Change a conversation's owner; it is exactly as it was read."""
    return Statement(
        _TAKE,
        (
            after.tail.seq,
            after.tail.digest,
            after.run,
            after.state,
            after.epoch,
            after.until,
            before.id,
            before.tail.seq,
            before.tail.digest,
            before.epoch,
            before.until or 0,
        ),
        rows=1,
    )


def advance(
    conversation: str, run: str, epoch: int, before: Tail, after: Tail, state: State | None, until: int | None
) -> Statement:
    """Move a log's end; it is where its owner left it, and the owner is the same."""
    if state == "active":  # nearly always; what stays as it is costs a look at an index and at what is checked
        return Statement(
            _GO_ON, (after.seq, after.digest, until, conversation, before.seq, before.digest, run, epoch), 1, SMALL
        )
    kept = None if state is None else run
    return Statement(
        _ADVANCE,
        (after.seq, after.digest, kept, state, until, conversation, before.seq, before.digest, run, epoch),
        1,
        SMALL,
    )


def renew(conversation: str, run: str, epoch: int, until: int) -> Statement:
    """Give an owner another lease."""
    return Statement(_RENEW, (until, conversation, run, epoch), rows=1)


def copy(source: str, new: str, through: int) -> Statement:
    """Copy the beginning of a log."""
    return Statement(_COPY, (new, source, through), rows=through)


def insert(conversation: str, batch: Batch, end: Tail, now: int) -> Statement:
    """Add a batch to a log, of which it becomes the end."""
    count = len(batch.rows)
    seq = end.seq - count
    values: list[str | int] = [conversation, batch.rows[0][0], now, end.digest, VERSION]
    for row in batch.rows:
        seq += 1
        values.append(seq)
        values += row
    # What is in a batch was written as JSON, its ids among it, so it is plain text; all else is of our own making.
    return Statement(_insert_of(count), tuple(values), count, SMALL + len(batch.body))


@lru_cache(maxsize=256)
def _insert_of(count: int) -> str:
    # What all records of a batch have in common is given once.
    columns = "conversation, batch, created, digest, version, seq, id, kind, payload"
    rows = ", ".join(
        f"($1, $2, $3, $4, $5, {', '.join(f'${number}' for number in range(first, first + 4))})"
        for first in range(6, 6 + 4 * count, 4)
    )
    return f"INSERT INTO record ({columns}) VALUES {rows}"  # noqa: S608 - numbers only


def after(batch: Batch, before: Tail) -> Tail:
    """Give where a log ends once a batch is appended."""
    return Tail(before.seq + len(batch.rows), batch.digest(before.digest))
