"""Every statement that sessions are made of. A change begins with the session's row, at the revision that it names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, cast

from lamina.schema import JsonValue
from lamina.session.port import Metadata, Session
from lamina.store import Row, Statement

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_COLUMNS = (
    "s.id, s.principal, s.revision, s.schema_version, s.metadata, s.created, s.updated, s.closed, "
    "c.position, c.conversation"
)
_JOINED = "LEFT JOIN session_conversation c ON c.session = s.id"
GET = f"SELECT {_COLUMNS} FROM session s {_JOINED} WHERE s.id = $1 ORDER BY c.position"  # noqa: S608 - constants
LIST = (
    f"SELECT {_COLUMNS} FROM (SELECT * FROM session WHERE principal = $1 AND id > $2 ORDER BY id LIMIT $3) s "  # noqa: S608
    f"{_JOINED} ORDER BY s.id, c.position"
)
LIST_OF_NOBODY = (
    f"SELECT {_COLUMNS} FROM (SELECT * FROM session WHERE principal IS NULL AND id > $1 ORDER BY id LIMIT $2) s "  # noqa: S608
    f"{_JOINED} ORDER BY s.id, c.position"
)
_CREATE = (
    "INSERT INTO session (id, principal, revision, schema_version, metadata, created, updated, closed) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
)
_CHANGE = (
    "UPDATE session SET revision = revision + 1, schema_version = $1, metadata = $2, updated = $3, closed = $4 "
    "WHERE id = $5 AND revision = $6 AND closed = 0"
)
_POINT = "INSERT INTO session_conversation (session, position, conversation) VALUES ($1, $2, $3)"
_FORGET = "DELETE FROM session_conversation WHERE session = $1 AND conversation = $2"


def microseconds(moment: datetime) -> int:
    """Give a moment as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def create(session: str, principal: str | None, version: int, metadata: bytes, now: int) -> Statement:
    """Make a session; there is none of its id."""
    return Statement(_CREATE, (session, principal, 1, version, metadata.decode(), now, now, 0), rows=1)


def change(session: str, revision: int, version: int, metadata: bytes, now: int, *, closed: bool) -> Statement:
    """Change a session that is at a revision, and open."""
    return Statement(_CHANGE, (version, metadata.decode(), now, int(closed), session, revision), rows=1)


def point(session: str, position: int, conversation: str) -> Statement:
    """Let a session point to a conversation."""
    return Statement(_POINT, (session, position, conversation), rows=1)


def forget(session: str, conversation: str) -> Statement:
    """Let a session point to a conversation no more."""
    return Statement(_FORGET, (session, conversation))


class Found:
    """A session as it was read, and where its last conversation stands."""

    __slots__ = ("position", "session")

    def __init__(self, session: Session, position: int) -> None:
        self.session = session
        self.position = position


def found(rows: Iterable[Row]) -> list[Found]:
    """Make sessions of rows: one for each conversation, or one where there is none."""
    made: list[Found] = []
    for _, group in groupby(cast("Iterable[tuple[Any, ...]]", rows), key=lambda row: row[0]):
        lines = list(group)
        id_, principal, revision, version, metadata, created, updated, closed, *_ = lines[0]
        session = Session(
            id=id_,
            principal=principal,
            revision=revision,
            metadata=Metadata(version, cast("JsonValue", json.loads(metadata))),
            conversations=tuple([line[9] for line in lines if line[9] is not None]),
            created=_EPOCH + created * _MICROSECOND,
            updated=_EPOCH + updated * _MICROSECOND,
            closed=bool(closed),
        )
        made.append(Found(session, lines[-1][8] or 0))
    return made
