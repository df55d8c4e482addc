"""An audit in the runtime's store: written behind, so that a decision never waits for a disk."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Never, cast

import anyio
import attrs
import orjson
from returns.result import Failure, Result, Success

from lamina.audit.port import Audit, AuditEntry, Projection
from lamina.effect import Clock, Layer, log, scoped, tag_of
from lamina.schema import JsonValue, canonical_json
from lamina.store import Row, Statement, Store, StoreError, Unmet

# An entry whose commit was in doubt is written once more, and may be there.
_INSERT = (
    "INSERT INTO audit (id, created, kind, subject, outcome, entry) "
    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING"
)
_SELECT = "SELECT entry FROM audit ORDER BY created DESC, id DESC LIMIT $1"
_SELECT_SUBJECT = "SELECT entry FROM audit WHERE subject = $2 ORDER BY created DESC, id DESC LIMIT $1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PAUSES = (0.05, 0.2, 0.8)
"""Seconds before each further try of what may pass."""


class StoredAudit(Audit):
    """Writes decisions to the `audit` table of a store, many in one unit; `stored_audit` makes it.

    Attributes:
        lost: How many could not be kept: the queue was full, the store refused, or there was no more time.
    """

    def __init__(
        self,
        store: Store,
        *,
        limit: int = 4_096,
        batch: int = 128,
        principal: Projection | None = None,
        details: bool = False,
        clock: Clock | None = None,
    ) -> None:
        if limit < 1 or batch < 1:
            raise ValueError("an audit's queue and its batches hold at least one entry")
        self._store = store
        self._limit = limit
        self._batch = batch
        self._principal = principal
        self._sleep = anyio.sleep if clock is None else clock.sleep
        self._waiting: deque[AuditEntry] = deque()
        self._more = anyio.Event()
        self._closed = False
        self._full = False
        self.details = details
        self.lost = 0

    @property
    def waiting(self) -> int:
        """How many are not written yet."""
        return len(self._waiting)

    def record(self, entry: AuditEntry) -> None:
        """Have an entry written, soon; where the queue is full it is lost, and counted."""
        if self._closed or len(self._waiting) >= self._limit:
            self.lost += 1
            if not self._full:
                self._full = True
                log().error("the audit's queue is full or closed; decisions are lost", lost=self.lost)
            return
        self._waiting.append(entry)
        self._more.set()

    def project(self, principal: object) -> str | None:
        """Give what may be kept of a principal."""
        return None if self._principal is None else self._principal(principal)

    async def write_all(self) -> None:
        """Write what comes, until the audit is closed and all is written; run it in one task."""
        try:
            while True:
                if not self._waiting:
                    if self._closed:
                        return
                    self._more = anyio.Event()
                    await self._more.wait()
                    continue
                # Left in the queue until they are written: what a cancellation cuts off is counted.
                entries = [self._waiting[index] for index in range(min(self._batch, len(self._waiting)))]
                await self._write(entries)
                for _ in entries:
                    self._waiting.popleft()
                self._tell_losses()
        finally:
            if self._waiting:
                self._lose(len(self._waiting), "there was no more time")
                self._waiting.clear()

    def close(self) -> None:
        """Take nothing more; `write_all` ends when it has written what is there."""
        self._closed = True
        self._more.set()

    async def _write(self, entries: Sequence[AuditEntry]) -> None:
        refused = await self._try(entries)
        if refused is None:
            return
        if len(entries) == 1 or getattr(refused, "retryable", False):
            self._lose(len(entries), tag_of(refused))
            return
        # One entry that the store does not take is no reason to lose the others.
        for entry in entries:
            refused = await self._try([entry])
            if refused is not None:
                self._lose(1, tag_of(refused))

    async def _try(self, entries: Sequence[AuditEntry]) -> StoreError | Unmet | Exception | None:
        """Write a unit; what may pass is tried again."""
        statements = [_statement(entry) for entry in entries]
        for pause in (*_PAUSES, None):
            try:
                written = await self._store.write(*statements)
            except Exception as broken:
                log().exception("the store broke under the audit")
                return broken
            if not isinstance(written, Failure):
                return None
            refused: StoreError | Unmet = written.failure()
            if pause is None or isinstance(refused, Unmet) or not refused.retryable:
                return refused
            await self._sleep(pause)
        raise AssertionError("the last pause is none")

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        log().error("decisions could not be kept in the audit", count=count, lost=self.lost, why=why)

    def _tell_losses(self) -> None:
        if self._full and len(self._waiting) < self._limit:
            self._full = False
            log().error("the audit keeps decisions again", lost=self.lost)


def stored_audit(
    *, limit: int = 4_096, batch: int = 128, principal: Projection | None = None, details: bool = False
) -> Layer[Store, Audit, Never]:
    """Offer an audit that writes to the runtime's store, and has written all when the runtime is closed.

    Args:
        limit: How many entries may wait to be written; more are lost, and counted.
        batch: How many go into one unit.
        principal: What is kept of a principal; nothing without it.
        details: Whether what was said in words is kept.

    Example:
        >>> stored_audit()
        Layer(offers Audit; needs Store)
    """

    async def stored(store: Store) -> AsyncIterator[Audit]:
        audit = StoredAudit(store, limit=limit, batch=batch, principal=principal, details=details)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(audit.write_all)
            try:
                yield audit
            finally:
                audit.close()

    return scoped(stored)


async def audit_entries(
    store: Store, *, subject: str | None = None, limit: int = 1_024
) -> Result[tuple[AuditEntry, ...], StoreError]:
    """Read the latest entries, newest first.

    Args:
        store: The store.
        subject: Only of this subject.
        limit: How many at most.
    """
    query, parameters = (_SELECT, (limit,)) if subject is None else (_SELECT_SUBJECT, (limit, subject))
    rows = await store.read(query, *parameters)
    if isinstance(rows, Failure):
        return Failure(rows.failure())
    return Success(tuple(_entry(row) for row in rows.unwrap()))


def _statement(entry: AuditEntry) -> Statement:
    written = cast("dict[str, JsonValue]", attrs.asdict(entry, recurse=False))
    written["at"] = entry.at.isoformat()
    del written["input"]  # callers' data, which is kept in memory only
    created = (entry.at - _EPOCH) // _MICROSECOND
    parameters = (entry.id, created, entry.kind, entry.subject, entry.outcome, canonical_json(written).decode())
    return Statement(_INSERT, parameters)


def _entry(row: Row) -> AuditEntry:
    written = cast("dict[str, Any]", orjson.loads(cast("str", row[0])))
    written["at"] = datetime.fromisoformat(written["at"])
    return AuditEntry(**written)
