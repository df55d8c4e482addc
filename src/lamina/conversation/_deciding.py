"""Decisions from outside: what waits for somebody, and what was decided meanwhile (CAP-006, design §8).

A decision is one compare-and-append that keeps the suspension. Whoever takes the run up again reads the log to the end,
so a decision is there when the run goes on, or it is refused because the run has gone on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import attrs
from returns.result import Failure, Result, Success

from lamina.approval import LONGEST_TEXT, Approved, Denied
from lamina.conversation import _sql
from lamina.conversation._chain import Batch, make_batch
from lamina.conversation._claiming import follow
from lamina.conversation._errors import (
    AlreadyDecided,
    ApprovalLapsed,
    ArgumentsDiffer,
    ConversationDamaged,
    ConversationError,
    DecideError,
    InvalidId,
    NotAsked,
    RecordRefused,
)
from lamina.conversation._ids import check_decision, check_id, check_principal
from lamina.conversation._load import Line
from lamina.conversation._looking import page_size
from lamina.conversation._projection import OpenBatch, Projection, stronger
from lamina.conversation._records import ApprovalDecided, ApprovalRequested
from lamina.conversation._resuming import find_suspended
from lamina.conversation._shelf import TRIES, Shelf, appended
from lamina.conversation.port import LONGEST_BATCH, Entry, Pending
from lamina.effect import Value
from lamina.store import Unmet

MOST_DECISIONS = 64
"""How many records of decisions a call may have: whoever may decide cannot fill the log with it."""


async def pending(
    shelf: Shelf, principal: str | None, after: str, limit: int
) -> Result[tuple[Pending, ...], ConversationError]:
    """Give a page of what waits for a decision; see `Conversations.pending`."""
    place = check_principal(principal) or _place(after)
    if isinstance(place, InvalidId):
        return Failure(place)
    if principal is None:
        page = await shelf.store.read(_sql.PENDING_OF_NOBODY, *place, page_size(limit))
    else:
        page = await shelf.store.read(_sql.PENDING, principal, *place, page_size(limit))
    if isinstance(page, Failure):
        return Failure(page.failure())
    found: list[Pending] = []
    for conversation, *row in page.unwrap():
        name = cast("str", conversation)
        line = Line.of(name, tuple(row))
        entry = line if isinstance(line, ConversationDamaged) else line.entry(name)
        if not isinstance(entry, Entry):
            return Failure(entry)
        if not isinstance(entry.record, ApprovalRequested):
            return Failure(ConversationDamaged(name, entry.seq, "record"))
        found.append(_pending(shelf, name, entry, entry.record))
    return Success(tuple(found))


def _pending(shelf: Shelf, conversation: str, entry: Entry, asked: ApprovalRequested) -> Pending:
    request = asked.request
    return Pending(
        conversation=conversation,
        run=request.key.run,
        agent=request.agent,
        turn=request.key.turn,
        call=request.key.call,
        request=request,
        asked=entry.created,
        expired=request.expired(shelf.clock.now()),
        cursor=f"{conversation}/{entry.seq}",
    )


def _place(after: object) -> tuple[str, int] | InvalidId:
    """Read a cursor: a conversation, which has no `/` in its id, and a position in it."""
    if after == "":
        return "", 0
    if type(after) is not str:
        return InvalidId("cursor", "it is no text")
    conversation, _, seq = after.rpartition("/")
    if check_id("conversation", conversation) is not None or not (seq.isascii() and seq.isdigit() and len(seq) < 19):
        return InvalidId("cursor", "it is none that was given")
    return conversation, int(seq)


@attrs.frozen(eq=False, repr=False)
class At(Value):
    """What a decision is on; see `Conversations.decide`."""

    conversation: str
    run: str
    call: str
    turn: int | None
    arguments_digest: str


async def decide(
    shelf: Shelf, at: At, decision: Approved | Denied, principal: str | None
) -> Result[ApprovalDecided, DecideError]:
    """Record a decision from outside; see `Conversations.decide`."""
    if (wrong := check_decision(decision)) is not None:
        return Failure(wrong)
    for _ in range(TRIES):
        found = await find_suspended(shelf, at.conversation, at.run, principal)
        if isinstance(found, Failure):
            return Failure(found.failure())
        head, reading, _suspended = found.unwrap()
        projection = reading.projected()
        request = _asked(shelf, projection, at)
        if not isinstance(request, ApprovalRequested):
            shelf.readings.keep(reading)
            return Failure(request)
        batch = cast("OpenBatch", projection.open)
        own = _own_record(batch, request, decision)
        if own is None:
            shelf.readings.keep(reading)
            return Success(projection.decisions()[at.call])
        records = [own, *_for_others(shelf, projection, batch, own)]
        written = _written(records)
        if isinstance(written, RecordRefused):
            shelf.readings.keep(reading)
            return Failure(written)
        statements, tails = appended(at.conversation, written, reading.tail, shelf.now())
        answer = await shelf.store.write(_sql.take(head, attrs.evolve(head, tail=tails[-1])), *statements)
        if not isinstance(answer, Failure):
            follow(reading, records, tails[-1])
            counts = reading.projected().decisions()[at.call]
            shelf.readings.keep(reading)
            return Success(counts)
        if not isinstance(lost := answer.failure(), Unmet):
            return Failure(lost)
    return await shelf.lost_out(at.conversation)


def _asked(
    shelf: Shelf, projection: Projection, at: At
) -> ApprovalRequested | AlreadyDecided | NotAsked | ArgumentsDiffer | ApprovalLapsed:
    batch = projection.open
    asked = None if batch is None or batch.declared.run != at.run else batch.requests.get(at.call)
    if batch is None or asked is None or at.turn not in (None, asked.request.key.turn):
        return NotAsked(at.run, at.call)
    if at.call in batch.started or at.call in batch.outcomes:
        return AlreadyDecided(at.conversation, at.run)
    if asked.request.arguments_digest != at.arguments_digest:
        return ArgumentsDiffer(at.run, at.call)
    expired_at = asked.request.expires_at
    if expired_at is not None and asked.request.expired(shelf.clock.now()):
        return ApprovalLapsed(at.run, at.call, expired_at)
    return asked


def _own_record(batch: OpenBatch, asked: ApprovalRequested, decision: Approved | Denied) -> ApprovalDecided | None:
    """Give the record of a decision; None where it is the call's latest already."""
    request, before = asked.request, batch.records.get(asked.request.key.call, [])
    made = ApprovalDecided(
        request.key,
        request.id,
        "approved" if isinstance(decision, Approved) else "denied",
        decision.by,
        "" if isinstance(decision, Approved) else decision.reason[:LONGEST_TEXT],
        request.arguments_digest,
        request.tool if decision.covers == "tool" else None,
        nth=len(before) + 1,
    )
    return None if before and attrs.evolve(made, nth=before[-1].nth) == before[-1] else made


def _for_others(
    shelf: Shelf, projection: Projection, batch: OpenBatch, own: ApprovalDecided
) -> Iterator[ApprovalDecided]:
    """Record for the batch's other requests of a tool what a decision on the tool changes for them."""
    if own.tool is None or stronger(projection.blanket.get(own.tool), own) is not own:
        return
    for call, asked in batch.requests.items():
        before = batch.records.get(call, [])
        if call == own.key.call or asked.request.tool != own.tool or call in batch.own or call in batch.outcomes:
            continue
        if not before and asked.request.expired(shelf.clock.now()):  # which was a denial before this came
            continue
        if before and (before[-1].decision, before[-1].by) == (own.decision, own.by):
            continue
        yield attrs.evolve(
            own,
            key=asked.request.key,
            approval_id=asked.request.id,
            arguments_digest=asked.request.arguments_digest,
            tool=None,
            under=own.approval_id,
            nth=len(before) + 1,
        )


def _written(records: list[ApprovalDecided]) -> list[Batch] | RecordRefused:
    if (over := [record for record in records if record.nth > MOST_DECISIONS]) != []:
        return RecordRefused(over[0].id, f"a call has at most {MOST_DECISIONS} decisions")
    batches: list[Batch] = []
    for start in range(0, len(records), LONGEST_BATCH):
        batch = make_batch(records[start : start + LONGEST_BATCH], None)
        if isinstance(batch, RecordRefused):
            return batch
        batches.append(batch)
    return batches
