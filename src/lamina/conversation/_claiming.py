"""Who has a conversation: claims, takeovers and aborts, each one compare-and-append (design §5, DUR-006).

A run whose lease is over has lost its conversation to the next claim. That raises the owner's number, so that whatever
the run still writes is a conflict; its calls get the outcomes that are honest of them, it ends as `interrupted`, and
what was done is recorded once, in the unit that makes the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import attrs
from returns.result import Failure, Result, Success

from lamina.call import CallKey
from lamina.conversation import _sql
from lamina.conversation._chain import Batch, make_batch
from lamina.conversation._errors import AlreadyDecided, ConversationBusy, ConversationError, NotAllowed, RecordRefused
from lamina.conversation._load import Reading
from lamina.conversation._projection import Projection, cut_short
from lamina.conversation._records import (
    ConversationCreated,
    Record,
    RepairAnnotated,
    ResultSettled,
    RunEnded,
    RunSuspended,
)
from lamina.conversation._shelf import TRIES, Shelf, appended, batches_of, refused_run
from lamina.conversation.port import Claim, Tail
from lamina.store import Statement, StoreError, StoreUnavailable, Unmet

Why: TypeAlias = Literal["owner-lost", "aborted"]

MOST_DETAILS = 256


async def claim(
    shelf: Shelf, conversation: str, run: str, principal: str | None, opening: Sequence[Record]
) -> Result[Claim, ConversationError]:
    """Make a run the conversation's active run; see `Conversations.claim`."""
    if (refused := refused_run(conversation, run, principal)) is not None:
        return Failure(refused)
    opened = _opening(opening, run)
    if isinstance(opened, RecordRefused):
        return Failure(opened)
    doubtful: _Attempt | None = None
    doubt: StoreError | None = None
    for _ in range(TRIES):
        found = await shelf.row(conversation)
        if isinstance(found, Failure):
            return Failure(doubt or found.failure())
        head, reading = found.unwrap(), Reading(conversation)
        if head is not None:
            if doubtful is not None and doubtful.is_there(head):
                return Success(doubtful.kept(shelf))
            if head.principal != principal:
                return Failure(NotAllowed("conversation", conversation))
            if head.held_at(shelf.now()):
                return Failure(_busy(head))
            read = await shelf.read(head)
            if isinstance(read, Failure):
                return Failure(read.failure())
            reading = read.unwrap()
        attempt, unit = _attempt(shelf, head, reading, conversation, run, principal, opened)
        answer = await shelf.store.write(*unit)
        if not isinstance(answer, Failure):
            return Success(attempt.kept(shelf))
        lost = answer.failure()
        if isinstance(lost, Unmet):
            if lost.statement == 0:  # another was first, or this claim itself, in doubt before
                continue
            return Failure(RecordRefused(_named(attempt.batches, lost.statement), "another record has its id"))
        if doubt is not None or not (isinstance(lost, StoreUnavailable) and lost.in_doubt):
            return Failure(doubt or lost)
        # A run that does not know of its claim would hold the conversation for a lease: look, and try once more.
        doubtful, doubt = attempt, lost
    return await shelf.lost_out(conversation)


@attrs.frozen(kw_only=True, eq=False)
class _Attempt:
    """What a claim writes, and what it comes to once it is there."""

    claimed: _sql.Head
    batches: Sequence[Batch]
    reading: Reading
    mended: Sequence[Record]
    mended_tail: Tail | None
    told: tuple[str, ...]

    def is_there(self, head: _sql.Head) -> bool:
        """Tell whether a row is what was written: nobody else claims for this run."""
        ours = self.claimed
        return (head.run, head.state, head.epoch, head.tail) == (ours.run, ours.state, ours.epoch, ours.tail)

    def kept(self, shelf: Shelf) -> Claim:
        """Give the claim."""
        reading = self.reading
        if self.mended_tail is not None:
            follow(reading, self.mended, self.mended_tail)
        shelf.readings.keep(reading)
        history = reading.projected().settled_history()
        return Claim(history=history, tail=reading.tail, repairs=self.told, log=shelf.log(self.claimed))


def _attempt(
    shelf: Shelf,
    head: _sql.Head | None,
    reading: Reading,
    conversation: str,
    run: str,
    principal: str | None,
    opened: Batch | None,
) -> tuple[_Attempt, tuple[Statement, ...]]:
    """Make a claim's one unit."""
    projection = reading.projected()
    if head is None:
        mended: Sequence[Record] = (ConversationCreated(conversation),)
        told: tuple[str, ...] = ()
    else:
        mended, told = _mend(projection, reading.tail, head.run, "owner-lost")
    own = batches_of(mended)
    batches = [*own, *([] if opened is None else [opened])]
    now = shelf.now()
    statements, tails = appended(conversation, batches, reading.tail, now)
    claimed = _sql.Head(
        id=conversation,
        principal=principal,
        created=now,
        tail=tails[-1] if tails else reading.tail,
        run=run,
        state="active",
        epoch=1 if head is None else head.epoch + 1,
        until=now + shelf.term(),
    )
    owner = _sql.create(claimed) if head is None else _sql.take(head, claimed)
    attempt = _Attempt(
        claimed=claimed,
        batches=batches,
        reading=reading,
        mended=mended,
        mended_tail=tails[len(own) - 1] if own else None,
        told=told,
    )
    return attempt, (owner, *statements)


async def abort(
    shelf: Shelf, conversation: str, run: str, principal: str | None
) -> Result[Tail, ConversationError | AlreadyDecided]:
    """End a run from outside; see `Conversations.abort`."""
    if (refused := refused_run(conversation, run, principal)) is not None:
        return Failure(refused)
    for _ in range(TRIES):
        found = await shelf.find(conversation, principal)
        if isinstance(found, Failure):
            return Failure(found.failure())
        head = found.unwrap()
        if head.run != run:
            return Failure(AlreadyDecided(conversation, run))
        read = await shelf.read(head)
        if isinstance(read, Failure):
            return Failure(read.failure())
        reading = read.unwrap()
        mended, _told = _mend(reading.projected(), reading.tail, run, "aborted")
        statements, tails = appended(conversation, batches_of(mended), reading.tail, shelf.now())
        free = attrs.evolve(head, tail=tails[-1], run=None, state=None, epoch=head.epoch + 1, until=None)
        answer = await shelf.store.write(_sql.take(head, free), *statements)
        if not isinstance(answer, Failure):
            follow(reading, mended, tails[-1])
            shelf.readings.keep(reading)
            return Success(free.tail)
        if not isinstance(lost := answer.failure(), Unmet):
            return Failure(lost)
    return await shelf.lost_out(conversation)


def _opening(records: Sequence[Record], run: str) -> Batch | RecordRefused | None:
    if not records:
        return None
    if ending := [record for record in records if isinstance(record, RunEnded | RunSuspended)]:
        return RecordRefused(ending[0].id, "a run that begins goes on")
    return make_batch(records, run)


def _mend(projection: Projection, tail: Tail, run: str | None, why: Why) -> tuple[list[Record], tuple[str, ...]]:
    """Give the records that make a log whole which nobody writes to any more, and what they say was done."""
    notes = list(projection.untold())
    records: list[Record] = []
    if (batch := projection.open) is not None:
        declared = batch.declared
        for call, outcome in batch.missing():
            key = CallKey(declared.run, declared.turn, call.id)
            notes.append(cut_short(key, outcome))
            if str(key) not in projection.strays:  # a stray result has the id already
                records.append(ResultSettled(key, outcome))
    if run is not None:
        notes.append(f"run {run}: {_SAID[why]}, so it is ended")
        records.append(RunEnded(run, "interrupted", _TAGS[why]))
    if notes:
        more = len(notes) - MOST_DETAILS
        told = (*notes[:MOST_DETAILS], *([f"and {more} more"] if more > 0 else []))
        through = tail.seq + len(records)
        records.append(RepairAnnotated("invalid-log" if run is None else why, told, through))
        return records, told
    return records, ()


_SAID: dict[Why, str] = {"owner-lost": "its owner is gone", "aborted": "it was aborted"}
_TAGS: dict[Why, str] = {"owner-lost": "OwnerLost", "aborted": "RunAborted"}


def follow(reading: Reading, records: Sequence[Record], tail: Tail) -> None:
    """Take what was appended into a reading; it ends a batch."""
    seq, projection = reading.tail.seq, reading.projected()
    for record in records:
        seq += 1
        projection.feed(seq, record)
    projection.mark(seq)
    reading.tail = tail


def _busy(head: _sql.Head) -> ConversationBusy:
    until = None if head.until is None else _sql.moment(head.until)
    return ConversationBusy(head.id, head.run or "", head.state or "active", until)


def _named(batches: Sequence[Batch], statement: int) -> str:
    return batches[statement - 1].records[0].id
