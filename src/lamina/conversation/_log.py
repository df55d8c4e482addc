"""The journal of one run: compare-and-append at the end that it knows (STORE-004, DUR-006, DUR-007)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import anyio
from returns.result import Failure, Result, Success

from lamina.conversation import _sql
from lamina.conversation._chain import Batch, make_batch
from lamina.conversation._codec import VERSION, Written
from lamina.conversation._errors import AppendConflict, RecordRefused
from lamina.conversation._json import Malformed, dump, load
from lamina.conversation._records import Record, RunEnded, RunSuspended
from lamina.conversation.port import JournalFailed, RunLog, Tail
from lamina.effect import Clock
from lamina.store import Row, Statement, Store, StoreError, StoreUnavailable, Unmet

Over: TypeAlias = Literal["ended", "suspended"] | None
"""How what a batch holds ends what a run does in its conversation; None where the run goes on."""

_DONE: Result[None, JournalFailed] = Success(None)
_LAST: frozenset[type[Record]] = frozenset({RunEnded, RunSuspended})


class StoredRunLog(RunLog):
    """Appends to a store.

    What it knows of the log's end is right, or some of its own writes are in doubt: one whose caller was cancelled, or
    whose commit broke off. Those are looked for when the next append does not find the end that it expects.
    """

    def __init__(
        self, store: Store, clock: Clock, lease: float, *, conversation: str, run: str, epoch: int, tail: Tail
    ) -> None:
        self.conversation = conversation
        self.run = run
        self._store = store
        self._clock = clock
        self._lease = lease
        self._epoch = epoch
        self._tail = tail
        self._over: Over = None
        self._in_doubt: dict[str, tuple[Tail, Over]] = {}  # by the digest that the log has once one is there
        self._appending = False
        self._free: anyio.Event | None = None  # there while an append waits for another

    @property
    def tail(self) -> Tail:
        """Where the log ends, as far as this run knows."""
        return self._tail

    @property
    def renew_within(self) -> float:
        """A third of the lease, in seconds."""
        return self._lease / 3

    async def append(self, *records: Record) -> Result[None, JournalFailed]:
        """Commit records as one batch; see `Journal.append` and `RunLog`."""
        if not records:
            return _DONE
        if len(records) > 1 and not _LAST.isdisjoint(map(type, records[:-1])):
            return Failure(JournalFailed(records[0].id, "what ends a run, or suspends it, is the last of its batch"))
        batch = make_batch(records, self.run)
        if isinstance(batch, RecordRefused):
            return Failure(JournalFailed(batch.record, batch.why))
        while self._appending:  # seldom: only calls that run side by side append at once
            self._free = self._free or anyio.Event()
            await self._free.wait()
        self._appending = True
        try:
            return await self._append(batch)
        finally:
            self._appending = False
            if self._free is not None:
                self._free.set()
                self._free = None

    async def renew(self) -> Result[None, JournalFailed]:
        """Keep the conversation for another lease."""
        if self._over is not None:
            return _DONE
        until = _sql.microseconds(self._clock.now()) + int(self._lease * 1e6)
        answer = await self._store.write(_sql.renew(self.conversation, self.run, self._epoch, until))
        if not isinstance(answer, Failure):
            return _DONE
        why = answer.failure()
        if not isinstance(why, Unmet):
            return _failed("lease", why)
        # The run may have ended between the look at it and the write; then there was nothing to renew.
        return _DONE if self._over is not None else await self._conflict("lease")

    async def _append(self, batch: Batch) -> Result[None, JournalFailed]:
        while True:
            if self._over is not None:
                return await self._again(batch, f"the run has {self._over}")
            before, after, over = self._tail, _sql.after(batch, self._tail), _ending(batch)
            # From here until the answer is known it is in doubt, whatever happens to this task. The same batch may
            # have been so before; what becomes of this write then says nothing of that one.
            doubted = after.digest in self._in_doubt
            self._in_doubt[after.digest] = after, over
            answer = await self._store.write(*self._unit(batch, before, after, over))
            if isinstance(answer, Success):
                self._adopt(after.digest)
                return _DONE
            why = answer.failure()
            if not doubted and not (isinstance(why, StoreUnavailable) and why.in_doubt):
                del self._in_doubt[after.digest]
            if not isinstance(why, Unmet):
                return _failed(batch.records[0].record.id, why)
            if why.statement > 0:  # one of its ids is taken
                return await self._again(batch, "another record has its id")
            if not await self._find_doubtful():
                return await self._again(batch, None)

    def _unit(self, batch: Batch, before: Tail, after: Tail, over: Over) -> tuple[Statement, ...]:
        now = _sql.microseconds(self._clock.now())
        state: _sql.State | None = "active" if over is None else "suspended" if over == "suspended" else None
        until = now + int(self._lease * 1e6) if state == "active" else None
        moved = _sql.advance(self.conversation, self.run, self._epoch, before, after, state, until)
        return (moved, _sql.insert(self.conversation, batch, after, now))

    def _adopt(self, digest: str) -> None:
        self._tail, self._over = self._in_doubt[digest]
        self._in_doubt.clear()

    async def _find_doubtful(self) -> bool:
        """Whether one of this run's own doubtful writes is what moved the log on."""
        if not self._in_doubt:
            return False
        read = await self._store.read(_sql.HEAD, self.conversation)
        if isinstance(read, Failure) or not read.unwrap():
            return False
        digest = _sql.Head.of(read.unwrap()[0]).tail.digest
        if digest not in self._in_doubt:
            return False
        self._adopt(digest)
        return True

    async def _again(self, batch: Batch, otherwise: str | None) -> Result[None, JournalFailed]:
        """Take a batch that is there already for what it is; say what is wrong with any other."""
        last = None
        for written in batch.records:
            read = await self._store.read(_sql.BY_ID, self.conversation, written.id)
            if isinstance(read, Failure):
                return _failed(written.record.id, read.failure())
            rows = read.unwrap()
            here = rows[0] if rows else None
            if here is None or not _is(here, written):
                if here is not None and otherwise is not None:
                    return Failure(JournalFailed(written.record.id, "another record has its id"))
                break
            if last is not None and here[0] != last + 1:
                break
            last = here[0] if isinstance(here[0], int) else None
        else:
            return _DONE
        first = batch.records[0].record.id
        return await self._conflict(first) if otherwise is None else Failure(JournalFailed(first, otherwise))

    async def _conflict(self, record: str) -> Result[None, JournalFailed]:
        read = await self._store.read(_sql.HEAD, self.conversation)
        if isinstance(read, Failure):
            return _failed(record, read.failure())
        rows = read.unwrap()
        actual = _sql.Head.of(rows[0]).tail.seq if rows else 0
        return _failed(record, AppendConflict(self.conversation, self._tail.seq, actual))


def _ending(batch: Batch) -> Over:
    last = batch.records[-1].record
    return "ended" if isinstance(last, RunEnded) else "suspended" if isinstance(last, RunSuspended) else None


def _is(row: Row, written: Written) -> bool:
    """Whether a stored record is the same one, whatever the order of its members."""
    _, kind, version, payload = row
    try:
        return (kind, version, dump(load(str(payload).encode()))) == (written.kind, VERSION, written.canonical)
    except Malformed:
        return False


def _failed(record: str, cause: AppendConflict | StoreError) -> Result[None, JournalFailed]:
    return Failure(JournalFailed(record, str(cause).rstrip("."), cause))
