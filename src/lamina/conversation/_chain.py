"""Batches and the digests that chain them: SHA-256 of canonical JSON `{batch, previous}` (behaviour §6, STORE-004).

The time of a record is not part of it, so that a batch that is appended again later is known to be the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs

from lamina.conversation._codec import VERSION, write_record
from lamina.conversation._errors import RecordRefused
from lamina.conversation._ids import stored_id
from lamina.conversation._json import LARGEST_RECORD, Refused, dump
from lamina.conversation._quick import QUICK, Quick, text
from lamina.conversation._records import Record, ResponseDeclared, ResultSettled, TurnAdvanced, run_of
from lamina.conversation.port import LONGEST_BATCH
from lamina.effect import Value

UNGUARDED = frozenset({"ResultSettled", "ResponseDeclared", "TurnAdvanced"})
"""The kinds of which the store takes an id twice: most of a log, and a run's own; see `StoredRunLog`."""

_UNGUARDED: frozenset[type[Record]] = frozenset({ResultSettled, ResponseDeclared, TurnAdvanced})
_SMALL = LARGEST_RECORD // 4
"""So many characters have no more bytes than a record may have."""


@attrs.define(eq=False, repr=False)
class Batch(Value):
    """Records that are committed together.

    Attributes:
        records: They, in order.
        rows: The id, kind and JSON of each, as they are stored.
        body: The canonical JSON of them all.
        unguarded: The turns and ids of those whose ids the store does not guard, and whether each ends its turn.
    """

    records: Sequence[Record]
    rows: Sequence[tuple[str, str, str]]
    body: bytes
    unguarded: Sequence[tuple[int, str, bool]]

    @property
    def id(self) -> str:
        """The id of its first record."""
        return self.rows[0][0]

    def digest(self, previous: str) -> str:
        """Give the digest of everything up to the end of this batch."""
        return chain(self.body, previous)


def chain(body: bytes, previous: str) -> str:
    """Give the digest of a batch on top of what is before it.

    Example:
        >>> chain(b"[]", "0" * 64)[:8]
        '2afa4d2b'
    """
    return hashlib.sha256(b'{"batch":%b,"previous":"%b"}' % (body, previous.encode())).hexdigest()


def body_of(rows: Iterable[tuple[str, str, int, bytes]]) -> bytes:
    """Give the canonical JSON of a batch, from the id, kind, version and canonical payload of each record."""
    made: list[bytes] = []
    for id_, kind, version, payload in rows:
        made += (b',{"id":', dump(id_), _described(kind), payload, _ended(version))
    return b"[%b]" % b"".join(made)[1:]


@lru_cache(maxsize=64)
def _described(kind: str) -> bytes:
    return b',"kind":%b,"payload":' % dump(kind)


@lru_cache(maxsize=64)
def _ended(version: int) -> bytes:
    return b',"version":%d}' % version


def make_batch(records: Sequence[Record], run: str | None) -> Batch | RecordRefused:
    """Write records as one batch, or say which of them is refused and why.

    Args:
        records: At least one.
        run: The run that all of them have to belong to; None takes any.
    """
    made = _written(records, run, QUICK)
    if isinstance(made, RecordRefused):
        return made
    rows, body, unguarded = made
    try:
        whole = body.encode()
    except UnicodeEncodeError:  # half of a character somewhere: the codec says where
        slow = _written(records, run, {})
        return slow if isinstance(slow, RecordRefused) else RecordRefused(records[0].id, "it is no text")
    if len(rows) > LONGEST_BATCH:
        return RecordRefused(records[0].id, f"a batch has at most {LONGEST_BATCH} records")
    if len(rows) > 1 and len({row[0] for row in rows}) != len(rows):
        return RecordRefused(records[0].id, "two records of its batch have one id")
    return Batch(records, rows, whole, unguarded)


def _written(
    records: Sequence[Record], run: str | None, writers: Mapping[type[object], Callable[[Any], Quick | None]]
) -> tuple[list[tuple[str, str, str]], str, list[tuple[int, str, bool]]] | RecordRefused:
    """Write records, and their canonical JSON all together, which is what `body_of` gives."""
    rows: list[tuple[str, str, str]] = []
    parts: list[str] = []
    unguarded: list[tuple[int, str, bool]] = []
    for record in records:
        kind = type(record)
        write = writers.get(kind)
        try:
            quick = None if write is None else write(record)
        except Exception:  # a field is not what it is declared to be: the codec says so
            quick = None
        if quick is not None and len(quick[3]) <= _SMALL:
            owner, turn, id_, payload = quick
            if run is not None and owner != run:
                return RecordRefused(record.id, "it is not this run's own")
            named, canonical = kind.__name__, payload
            if "\\" in id_ or "\0" in id_:
                id_ = stored_id(id_)
        else:
            if run is not None and run_of(record) != run:
                return RecordRefused(record.id, "it is not this run's own")
            try:
                written = write_record(record)
            except Refused as refused:
                return RecordRefused(record.id, str(refused))
            except Exception:  # a field of the application's own that is not what it is declared to be
                return RecordRefused(record.id, "a field is not what its kind declares")
            id_, named, turn = written.id, written.kind, _turn_of(record)
            payload, canonical = written.payload.decode(), written.canonical.decode()
        if kind in _UNGUARDED:
            unguarded.append((turn, id_, kind is TurnAdvanced))
        rows.append((id_, named, payload))
        parts.append(f'{{"id":{text(id_)},"kind":"{named}","payload":{canonical},"version":{VERSION}}}')
    return rows, f"[{','.join(parts)}]", unguarded


def _turn_of(record: Record) -> int:
    if isinstance(record, ResultSettled):
        return record.key.turn
    return record.turn if isinstance(record, ResponseDeclared | TurnAdvanced) else 0
