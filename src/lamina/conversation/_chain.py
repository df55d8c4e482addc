"""Batches and the digests that chain them: SHA-256 of canonical JSON `{batch, previous}` (behaviour §6, STORE-004).

The time of a record is not part of it, so that a batch that is appended again later is known to be the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import attrs

from lamina.conversation._codec import VERSION, Written, write_record
from lamina.conversation._errors import RecordRefused
from lamina.conversation._json import Refused, dump
from lamina.conversation._records import Record, run_of
from lamina.conversation.port import LONGEST_BATCH
from lamina.effect import Value


@attrs.define(eq=False, repr=False)
class Batch(Value):
    """Records that are committed together.

    Attributes:
        records: As they are stored, in order.
        body: The canonical JSON of them all.
    """

    records: tuple[Written, ...]
    body: bytes

    @property
    def id(self) -> str:
        """The id of its first record."""
        return self.records[0].id

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
    written: list[Written] = []
    for record in records:
        if run is not None and run_of(record) != run:
            return RecordRefused(record.id, "it is not this run's own")
        try:
            written.append(write_record(record))
        except Refused as refused:
            return RecordRefused(record.id, str(refused))
        except Exception:  # a field of the application's own that is not what it is declared to be
            return RecordRefused(record.id, "a field is not what its kind declares")
    if len(written) > LONGEST_BATCH:
        return RecordRefused(records[0].id, f"a batch has at most {LONGEST_BATCH} records")
    if len(written) > 1 and len({each.id for each in written}) != len(written):
        return RecordRefused(records[0].id, "two records of its batch have one id")
    return Batch(tuple(written), body_of([(each.id, each.kind, VERSION, each.canonical) for each in written]))
