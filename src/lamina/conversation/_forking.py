"""Forks: a conversation that begins as another one does, digest for digest (seed 004 §3)."""

from __future__ import annotations

from returns.result import Failure, Result, Success

from lamina.conversation import _sql
from lamina.conversation._errors import ConversationError, ConversationExists, ForkRefused
from lamina.conversation._ids import check_id
from lamina.conversation._load import Reading
from lamina.conversation._records import ConversationForked
from lamina.conversation._shelf import Shelf, appended, batches_of, refused_ids
from lamina.conversation.port import LONGEST_BATCH, LONGEST_PAGE, Tail
from lamina.store import Unmet


async def fork(
    shelf: Shelf, conversation: str, new: str, at: int | None, principal: str | None
) -> Result[Tail, ConversationError]:
    """Begin a conversation with another one's beginning; see `Conversations.fork`."""
    if (refused := refused_ids(conversation, principal) or check_id("conversation", new)) is not None:
        return Failure(refused)
    found = await shelf.find(conversation, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    cut = await _cut(shelf, found.unwrap(), at)
    if isinstance(cut, Failure):
        return Failure(cut.failure())
    through = cut.unwrap()
    (batch,) = batches_of((ConversationForked(conversation, through.seq),))
    now = shelf.now()
    statements, (tail,) = appended(new, [batch], through, now)
    made = _sql.Head(
        id=new,
        principal=principal,
        created=now,
        tail=tail,
        forked_from=conversation,
        forked_seq=through.seq,
    )
    answer = await shelf.store.write(_sql.create(made), _sql.copy(conversation, new, through.seq), *statements)
    if not isinstance(answer, Failure):
        return Success(tail)
    if not isinstance(lost := answer.failure(), Unmet):
        return Failure(lost)
    other = await shelf.find(new, principal)
    if isinstance(other, Failure):
        return Failure(other.failure())
    there = other.unwrap()
    same = (there.forked_from, there.forked_seq) == (conversation, through.seq)
    return Success(there.tail) if same else Failure(ConversationExists(new))


async def _cut(shelf: Shelf, head: _sql.Head, at: int | None) -> Result[Tail, ConversationError]:
    """Find the end of what a fork copies."""
    if at is None:
        read = await shelf.read(head)
        if isinstance(read, Failure):
            return Failure(read.failure())
        at = read.unwrap().projected().stable
        shelf.readings.keep(read.unwrap())
    if type(at) is not int or not 0 <= at <= head.tail.seq:
        read = await shelf.read(head)
        if isinstance(read, Failure):
            return Failure(read.failure())
        whole = read.unwrap().projected().whole
        shelf.readings.keep(read.unwrap())
        return Failure(ForkRefused(head.id, at, whole, "past the end"))
    # A cut has a batch of its own on either side; a fork is read from the beginning, as it would be.
    page = await shelf.store.read(_sql.PAGE, head.id, at - LONGEST_BATCH, at + 1, LONGEST_PAGE)
    if isinstance(page, Failure):
        return Failure(page.failure())
    batches = {row[0]: row[2] for row in page.unwrap()}
    inside = at if 0 < at < head.tail.seq and batches.get(at) == batches.get(at + 1) else None
    end = at
    while inside is not None and end > 0 and batches.get(end) == batches[at]:
        end -= 1
    reading = Reading(head.id)
    if (wrong := await reading.go_on(shelf.store, end, None)) is not None:
        return Failure(wrong)
    whole = reading.projected().whole
    if inside is not None:
        return Failure(ForkRefused(head.id, at, whole, "inside a batch"))
    if whole != at:
        return Failure(ForkRefused(head.id, at, whole, "calls wait for their results"))
    return Success(reading.tail)
