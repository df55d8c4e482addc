"""Suspended runs: taken up again by exactly one owner, without asking the model again (design §8)."""

from __future__ import annotations

from secrets import randbelow

import attrs
from returns.result import Failure, Result, Success

from lamina.conversation import _sql
from lamina.conversation._errors import AlreadyDecided, ConversationDamaged, ConversationError
from lamina.conversation._load import Reading
from lamina.conversation._log import StoredRunLog
from lamina.conversation._records import RunResumed, RunSuspended
from lamina.conversation._shelf import TRIES, Shelf, appended, batches_of, refused_run
from lamina.conversation.port import Claim, Resumed
from lamina.store import StoreError, StoreUnavailable, Unmet

_LEAP = 1 << 31


async def resume(
    shelf: Shelf, conversation: str, run: str, principal: str | None
) -> Result[Resumed, ConversationError | AlreadyDecided]:
    """Take a suspended run up again; see `Conversations.resume`."""
    doubtful: tuple[_sql.Head, Reading, RunSuspended] | None = None
    doubt: StoreError | None = None
    for _ in range(TRIES):
        if doubtful is not None:
            row = await shelf.row(conversation)
            if isinstance(row, Failure):
                return Failure(doubt or row.failure())
            ours, read, held = doubtful
            there = row.unwrap()
            if there is not None and (there.run, there.state, there.epoch) == (run, "active", ours.epoch):
                return Success(_resumed(shelf, read, held, shelf.log(ours, held.turn)))
        found = await find_suspended(shelf, conversation, run, principal)
        if isinstance(found, Failure):
            return Failure(found.failure())
        head, reading, suspended = found.unwrap()
        (batch,) = batches_of((RunResumed(run, suspended.nth),))
        now = shelf.now()
        statements, tails = appended(conversation, [batch], reading.tail, now)
        # Whoever else resumes it would write the very same; by the owner's number one knows one's own, if in doubt.
        epoch = head.epoch + 1 + randbelow(_LEAP)
        owned = attrs.evolve(head, tail=tails[-1], state="active", epoch=epoch, until=now + shelf.term())
        answer = await shelf.store.write(_sql.take(head, owned), *statements)
        if isinstance(answer, Failure):
            lost = answer.failure()
            if isinstance(lost, Unmet):
                continue
            if doubt is not None or not (isinstance(lost, StoreUnavailable) and lost.in_doubt):
                return Failure(doubt or lost)
            # A run that is taken up, and does not know it, would be lost: look, and try once more.
            doubtful, doubt = (owned, reading, suspended), lost
            continue
        return Success(_resumed(shelf, reading, suspended, shelf.log(owned, suspended.turn)))
    return Failure(AlreadyDecided(conversation, run))


async def suspended(
    shelf: Shelf, conversation: str, run: str, principal: str | None
) -> Result[Resumed, ConversationError | AlreadyDecided]:
    """Look at a suspended run without taking it up; see `Conversations.suspended`."""
    found = await find_suspended(shelf, conversation, run, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    head, reading, suspended = found.unwrap()
    return Success(_resumed(shelf, reading, suspended, shelf.log(attrs.evolve(head, epoch=-1))))


async def find_suspended(
    shelf: Shelf, conversation: str, run: str, principal: str | None
) -> Result[tuple[_sql.Head, Reading, RunSuspended], ConversationError | AlreadyDecided]:
    """Read a suspended run's conversation; the reading has to be kept again."""
    if (refused := refused_run(conversation, run, principal)) is not None:
        return Failure(refused)
    found = await shelf.find(conversation, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    head = found.unwrap()
    if head.run != run or head.state != "suspended":
        return Failure(AlreadyDecided(conversation, run))
    read = await shelf.read(head)
    if isinstance(read, Failure):
        return Failure(read.failure())
    reading = read.unwrap()
    suspended = reading.projected().suspended
    if suspended is None or suspended.run != run:  # the row says what the log does not
        return Failure(ConversationDamaged(conversation, head.tail.seq, "record"))
    return Success((head, reading, suspended))


def _resumed(shelf: Shelf, reading: Reading, suspended: RunSuspended, log: StoredRunLog) -> Resumed:
    projection = reading.projected()
    batch = projection.open
    made = Resumed(
        claim=Claim(history=projection.settled_history(), tail=reading.tail, repairs=projection.untold(), log=log),
        agent=projection.agent,
        turn=suspended.turn,
        response=None if batch is None else batch.message,
        state=suspended.state,
        nth=suspended.nth,
        outcomes={} if batch is None else dict(batch.outcomes),
        started=frozenset() if batch is None else frozenset(batch.started),
        requests={} if batch is None else dict(batch.requests),
        decisions=projection.decisions(),
        recorded={} if batch is None else {call: len(found) for call, found in batch.records.items()},
        blanket=dict(projection.blanket),
    )
    shelf.readings.keep(reading)
    return made
