"""The journal of one run: compare-and-append at the end that it knows (STORE-004, DUR-006, DUR-007)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import anyio
from returns.result import Failure, Result, Success

from lamina.conversation import _sql
from lamina.conversation._chain import Batch, make_batch
from lamina.conversation._codec import VERSION, Written, write_record
from lamina.conversation._errors import AppendConflict, RecordRefused
from lamina.conversation._json import Malformed, dump, load
from lamina.conversation._records import Record, RunEnded, RunSuspended
from lamina.conversation.port import JournalFailed, RunLog, Tail
from lamina.effect import Clock
from lamina.store import Row, Statement, Store, StoreError, StoreUnavailable, Unmet

Over: TypeAlias = Literal["ended", "suspended"] | None
"""How what a batch holds ends what a run does in its conversation; None where the run goes on."""

_Step: TypeAlias = tuple[Tail, Over, Sequence[tuple[int, str, bool]]]
"""What a batch makes of a log: its end, how the run's part in it ends, and what has to be remembered of its ids."""

_DONE: Result[None, JournalFailed] = Success(None)
_LAST: frozenset[type[Record]] = frozenset({RunEnded, RunSuspended})


class StoredRunLog(RunLog):
    """Appends to a store.

    What it knows of the log's end is right, or some of its own writes are in doubt: one whose caller was cancelled, or
    whose commit broke off. Those are looked for when the next append does not find the end that it expects.

    It also sees to it that no id comes twice of those which the store does not guard (`UNGUARDED`): they are this
    run's alone, and nobody else appends while the run has the conversation. Those of the turn that goes on are kept;
    a record of an earlier turn is looked for.

    Args:
        store: Where the log is.
        clock: What leases are measured by.
        lease: Seconds.
        conversation: The conversation's id.
        run: The run's id.
        epoch: The owner's number.
        tail: Where the log ends.
        turn: The last turn of which the log may hold something of this run already.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        lease: float,
        *,
        conversation: str,
        run: str,
        epoch: int,
        tail: Tail,
        turn: int,
    ) -> None:
        self.conversation = conversation
        self.run = run
        self._store = store
        self._clock = clock
        self._lease = lease
        self._term = int(lease * 1e6)
        self._epoch = epoch
        self._tail = tail
        self._over: Over = None
        self._in_doubt: dict[str, _Step] = {}  # by the digest that the log has once one is there
        self._turn = turn
        self._ids: dict[str, int] = {}
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
            # The first try, which nearly always is the last, is made here: each coroutine more is paid for by every
            # batch of every run. While it waits, nothing of it is held but its statements and the records.
            step = self._step(batch)
            if self._over is None and not self._may_be_there(batch.unguarded):
                moved, added = self._unit(batch, step[0], step[1])
                del batch
                try:
                    answer = await self._store.write(moved, added)
                except BaseException:
                    self._in_doubt[step[0].digest] = step
                    raise
                if isinstance(answer, Success):
                    self._adopt(step)
                    return _DONE
                return await self._once_more(records, step, answer.failure())
            return await self._once_more(records, None, None)
        finally:
            self._appending = False
            if self._free is not None:
                self._free.set()
                self._free = None

    async def renew(self) -> Result[None, JournalFailed]:
        """Keep the conversation for another lease."""
        if self._over is not None:
            return _DONE
        until = _sql.microseconds(self._clock.now()) + self._term
        answer = await self._store.write(_sql.renew(self.conversation, self.run, self._epoch, until))
        if not isinstance(answer, Failure):
            return _DONE
        why = answer.failure()
        if not isinstance(why, Unmet):
            return _failed("lease", why)
        # The run may have ended between the look at it and the write; then there was nothing to renew.
        return _DONE if self._over is not None else await self._conflict("lease")

    async def _once_more(
        self, records: Sequence[Record], step: _Step | None, why: StoreError | Unmet | None
    ) -> Result[None, JournalFailed]:
        """Find out what became of a batch that was not simply taken, and append it once that is known."""
        batch = make_batch(records, self.run)
        assert isinstance(batch, Batch), "it was one a moment ago"
        while True:
            if step is not None and why is not None:
                if isinstance(why, StoreUnavailable) and why.in_doubt:
                    self._in_doubt[step[0].digest] = step
                if not isinstance(why, Unmet):
                    return _failed(records[0].id, why)
                if why.statement > 0:  # one of its ids is taken
                    return await self._again(batch, "another record has its id")
                if not await self._find_doubtful():
                    return await self._again(batch, None)
            if self._over is not None:
                return await self._again(batch, f"the run has {self._over}")
            step = self._step(batch)
            if self._may_be_there(batch.unguarded):
                found = await self._is_there(batch.unguarded)
                if isinstance(found, Failure):
                    return _failed(records[0].id, found.failure())
                if found.unwrap():
                    return await self._again(batch, "another record has its id")
            try:
                answer = await self._store.write(*self._unit(batch, step[0], step[1]))
            except BaseException:
                self._in_doubt[step[0].digest] = step
                raise
            if isinstance(answer, Success):
                self._adopt(step)
                return _DONE
            why = answer.failure()

    def _may_be_there(self, unguarded: Sequence[tuple[int, str, bool]]) -> bool:
        """Whether the log may hold a record already whose id the store does not guard."""
        for turn, record_id, _ in unguarded:  # noqa: SIM110 - no generator for each batch
            if turn <= self._turn or record_id in self._ids:
                return True
        return False

    async def _is_there(self, unguarded: Sequence[tuple[int, str, bool]]) -> Result[bool, StoreError]:
        for _, record_id, _ in unguarded:
            read = await self._store.read(_sql.FIND, self.conversation, record_id)
            if isinstance(read, Failure):
                return Failure(read.failure())
            if read.unwrap():
                return Success(True)
        return Success(False)

    def _step(self, batch: Batch) -> _Step:
        last = type(batch.records[-1])
        over: Over = "ended" if last is RunEnded else "suspended" if last is RunSuspended else None
        return _sql.after(batch, self._tail), over, batch.unguarded

    def _unit(self, batch: Batch, after: Tail, over: Over) -> tuple[Statement, Statement]:
        now = _sql.microseconds(self._clock.now())
        state: _sql.State | None = "active" if over is None else "suspended" if over == "suspended" else None
        until = now + self._term if over is None else None
        moved = _sql.advance(self.conversation, self.run, self._epoch, self._tail, after, state, until)
        return moved, _sql.insert(self.conversation, batch, after, now)

    def _adopt(self, step: _Step) -> None:
        self._tail, self._over, unguarded = step
        if self._in_doubt:
            self._in_doubt.clear()
        for turn, record_id, ends in unguarded:
            if ends and turn > self._turn:
                self._turn = turn
                self._ids = {id_: of for id_, of in self._ids.items() if of > turn}
            elif turn > self._turn:
                self._ids[record_id] = turn

    async def _find_doubtful(self) -> bool:
        """Whether one of this run's own doubtful writes is what moved the log on."""
        if not self._in_doubt:
            return False
        read = await self._store.read(_sql.HEAD, self.conversation)
        if isinstance(read, Failure) or not read.unwrap():
            return False
        step = self._in_doubt.get(_sql.Head.of(read.unwrap()[0]).tail.digest)
        if step is None:
            return False
        self._adopt(step)
        return True

    async def _again(self, batch: Batch, otherwise: str | None) -> Result[None, JournalFailed]:
        """Take a batch that is there already for what it is; say what is wrong with any other."""
        last = None
        for written in map(write_record, batch.records):
            read = await self._store.read(_sql.by_id(written.kind), self.conversation, written.id)
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
        first = batch.records[0].id
        return await self._conflict(first) if otherwise is None else Failure(JournalFailed(first, otherwise))

    async def _conflict(self, record: str) -> Result[None, JournalFailed]:
        read = await self._store.read(_sql.HEAD, self.conversation)
        if isinstance(read, Failure):
            return _failed(record, read.failure())
        rows = read.unwrap()
        actual = _sql.Head.of(rows[0]).tail.seq if rows else 0
        return _failed(record, AppendConflict(self.conversation, self._tail.seq, actual))


def _is(row: Row, written: Written) -> bool:
    """Whether a stored record is the same one, whatever the order of its members."""
    _, kind, version, payload = row
    try:
        return (kind, version, dump(load(str(payload).encode()))) == (written.kind, VERSION, written.canonical)
    except Malformed:
        return False


def _failed(record: str, cause: AppendConflict | StoreError) -> Result[None, JournalFailed]:
    return Failure(JournalFailed(record, str(cause).rstrip("."), cause))
