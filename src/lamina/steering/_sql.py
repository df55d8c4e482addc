"""Every statement that steering is made of. A unit writes the run's queue first, with what it relies on as a condition.

Whether a command is in the log is decided by its record, `input:{id}`: where a run ended between the record and the
note of it, the next unit that looks finds it there, and the command counts as delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias, cast

from lamina.steering.port import Command, CommandKind, CommandState, Placed
from lamina.store import Row, Statement

State: TypeAlias = Literal["open", "paused", "closed"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

QUEUE = "SELECT conversation, principal, state, queued FROM steering_queue WHERE run = $1"
BY_ID = "SELECT run, seq, kind, author, content, state FROM steering WHERE scope = $1 AND id = $2"
_FIELDS = "s.seq, s.id, s.kind, s.author, s.content, s.created, s.state, q.conversation"
_JOINED = f"SELECT {_FIELDS} FROM steering s JOIN steering_queue q ON q.run = s.run"  # noqa: S608 - constants
ONE = (
    f"SELECT s.run, q.principal, {_FIELDS} FROM steering s JOIN steering_queue q ON q.run = s.run "  # noqa: S608 - constants
    "WHERE s.scope = $1 AND s.id = $2"
)
ALL = f"{_JOINED} WHERE s.run = $1 ORDER BY s.seq"
WAITING = f"{_JOINED} WHERE s.run = $1 AND s.kind = $2 AND s.state = 'queued' ORDER BY s.seq LIMIT $3"
_IN_STATE = f"{_JOINED} WHERE s.run = $1 AND s.state = $2 ORDER BY s.seq"

# What the index of the records' ids asks of those that it holds: so a query is known to look for no other.
_INDEXED = "r.kind <> 'ResultSettled' AND r.kind <> 'ResponseDeclared' AND r.kind <> 'TurnAdvanced'"
_IS_IN_LOG = (
    "EXISTS (SELECT 1 FROM record r WHERE r.conversation = steering.scope AND r.id = 'input:' || steering.id "  # noqa: S608 - constants
    f"AND {_INDEXED})"
)
_SETTLED = f"CASE WHEN {_IS_IN_LOG} THEN 'delivered' ELSE 'dropped' END"

_CLOSE_OTHERS = (
    "UPDATE steering_queue SET state = 'closed', queued = 0 WHERE conversation = $1 AND state <> 'closed' AND run <> $2"
)
_SETTLE_OTHERS = (
    f"UPDATE steering SET state = {_SETTLED} "  # noqa: S608 - constants
    "WHERE scope = $1 AND state = 'queued' AND run <> $2"
)
_OPEN = (
    "INSERT INTO steering_queue (run, conversation, principal, state, last, queued) VALUES ($1, $2, $3, 'open', 0, 0) "
    "ON CONFLICT (run) DO UPDATE SET state = 'open' WHERE steering_queue.state <> 'closed'"
)
_FIND_DELIVERED = (
    f"UPDATE steering SET state = 'delivered' WHERE {_IS_IN_LOG} "  # noqa: S608 - constants
    "AND run = $1 AND state = 'queued'"
)
_COUNT = (
    "UPDATE steering_queue SET queued = (SELECT COUNT(*) FROM steering s WHERE s.run = $1 AND s.state = 'queued') "
    "WHERE run = $1"
)
# Its conversation's row, where there is one, says whether the run still has it: one that has crashed takes nothing.
_ADMIT = (
    "UPDATE steering_queue SET last = last + 1, queued = queued + 1 WHERE run = $1 AND state = 'open' AND queued < $2 "
    "AND NOT EXISTS (SELECT 1 FROM conversation c WHERE c.id = steering_queue.conversation AND "
    "(c.busy_run IS NULL OR c.busy_run <> steering_queue.run OR c.busy_state <> 'active' OR c.busy_until <= $3))"
)
IS_OVER = (
    "SELECT 1 FROM steering_queue q JOIN conversation c ON c.id = q.conversation WHERE q.run = $1 AND "
    "(c.busy_run IS NULL OR c.busy_run <> q.run OR c.busy_state <> 'active' OR c.busy_until <= $2)"
)
_ADD = (
    "INSERT INTO steering (run, seq, scope, id, kind, author, content, state, created) "  # noqa: S608 - constants
    "SELECT q.run, q.last, COALESCE(q.conversation, '/' || q.run), CAST($2 AS TEXT), CAST($3 AS TEXT), "
    "CAST($4 AS TEXT), CAST($5 AS TEXT), 'queued', CAST($6 AS BIGINT) FROM steering_queue q WHERE q.run = $1 "
    "AND NOT EXISTS (SELECT 1 FROM record r WHERE r.conversation = q.conversation AND "
    f"r.id = 'input:' || CAST($2 AS TEXT) AND {_INDEXED}) RETURNING seq"
)
_TAKE = "UPDATE steering_queue SET queued = queued - $2 WHERE run = $1 AND state = 'open' AND queued >= $2"
_NOTE = "UPDATE steering SET state = 'delivered' WHERE run = $1 AND id = $2 AND state = 'queued'"
_CLOSE_EMPTY = "UPDATE steering_queue SET state = 'closed' WHERE run = $1 AND state = 'open' AND queued = 0"
_PAUSE = "UPDATE steering_queue SET state = 'paused' WHERE run = $1 AND state <> 'closed'"
_END = "UPDATE steering_queue SET state = 'closed', queued = 0 WHERE run = $1"
_SETTLE = f"UPDATE steering SET state = {_SETTLED} WHERE run = $1 AND state = 'queued'"  # noqa: S608 - constants


def microseconds(moment: datetime) -> int:
    """Give a moment as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def scope_of(run: str, conversation: str | None) -> str:
    """Give where a command's id is its own; no conversation's id holds a slash."""
    return f"/{run}" if conversation is None else conversation


def opening(run: str, conversation: str | None, principal: str | None) -> tuple[tuple[Statement, ...], int]:
    """Open a run's queue; gives also which statement is unmet where it was closed before."""
    opened = Statement(_OPEN, (run, conversation, principal), rows=1)
    if conversation is None:
        return (opened,), 0
    unit = (
        Statement(_CLOSE_OTHERS, (conversation, run)),
        Statement(_SETTLE_OTHERS, (conversation, run)),
        opened,
        Statement(_FIND_DELIVERED, (run,)),
        Statement(_COUNT, (run,)),
    )
    return unit, 2


def admission(
    run: str, limit: int, command: str, kind: CommandKind, author: str | None, text: str, now: int
) -> tuple[Statement, ...]:
    """Add a command to an open queue that is not full; its id is new, in the log too."""
    return (
        Statement(_ADMIT, (run, limit, now), rows=1),
        Statement(_ADD, (run, command, kind, author, text, now), rows=1),
    )


def delivery(run: str, commands: Sequence[Command]) -> tuple[Statement, ...]:
    """Note that commands are in the log, each of which waits."""
    noted = [Statement(_NOTE, (run, command.id), rows=1) for command in commands]
    return (Statement(_TAKE, (run, len(commands)), rows=1), *noted)


def closing(run: str) -> Statement:
    """Close an open queue in which nothing waits."""
    return Statement(_CLOSE_EMPTY, (run,), rows=1)


def pausing(run: str) -> tuple[Statement, ...]:
    """Pause a queue, and give what waits in it."""
    return Statement(_PAUSE, (run,), rows=1), Statement(_IN_STATE, (run, "queued"))


def ending(run: str, delivered: Sequence[Command]) -> tuple[Statement, ...]:
    """Close a queue, settle what waits in it, and give what is dropped."""
    noted = [Statement(_NOTE, (run, command.id)) for command in delivered]
    return (
        Statement(_END, (run,)),
        *noted,
        Statement(_SETTLE, (run,)),
        Statement(_IN_STATE, (run, "dropped")),
    )


def placed(run: str, row: Row) -> Placed:
    """Read a row."""
    seq, id_, kind, author, content, created, state, conversation = row
    command = Command(
        id=cast("str", id_),
        run=run,
        conversation=cast("str | None", conversation),
        kind=cast("CommandKind", kind),
        author=cast("str | None", author),
        text=cast("str", content),
        created=_EPOCH + cast("int", created) * _MICROSECOND,
    )
    return Placed(command=command, position=cast("int", seq), state=cast("CommandState", state))


def commands(run: str, rows: Sequence[Row]) -> tuple[Command, ...]:
    """Read rows, without what became of them."""
    return tuple([placed(run, row).command for row in rows])
