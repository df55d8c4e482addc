"""Looking at conversations, which changes nothing: pages, histories, lists, exports (seed 004 §3)."""

from __future__ import annotations

from typing import cast

from returns.result import Failure, Result, Success

from lamina.conversation import _sql
from lamina.conversation._errors import ConversationDamaged, ConversationError
from lamina.conversation._export import head_line, record_line
from lamina.conversation._history import History
from lamina.conversation._ids import check_id, check_principal
from lamina.conversation._load import Line, Reading
from lamina.conversation._shelf import Shelf
from lamina.conversation.port import LONGEST_BATCH, LONGEST_EXPORT, LONGEST_PAGE, Entry, Summary, Tail


async def read(
    shelf: Shelf, conversation: str, after: int, limit: int, principal: str | None
) -> Result[tuple[Entry, ...], ConversationError]:
    """Give a page of the log; see `Conversations.read`."""
    found = await shelf.find(conversation, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    end, limit = found.unwrap().tail.seq, page_size(limit)
    page = await shelf.store.read(_sql.PAGE, conversation, max(0, min(after, end)), end, limit)
    if isinstance(page, Failure):
        return Failure(page.failure())
    entries: list[Entry] = []
    for row in page.unwrap():
        line = Line.of(conversation, row)
        entry = line if isinstance(line, ConversationDamaged) else line.entry(conversation)
        if not isinstance(entry, Entry):
            return Failure(entry)
        entries.append(entry)
    return Success(tuple(entries))


async def history(shelf: Shelf, conversation: str, principal: str | None) -> Result[History, ConversationError]:
    """Give what was said; see `Conversations.history`."""
    found = await shelf.find(conversation, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    read = await shelf.read(found.unwrap())
    if isinstance(read, Failure):
        return Failure(read.failure())
    shelf.readings.keep(read.unwrap())
    return Success(read.unwrap().projected().history())


async def get(shelf: Shelf, conversation: str, principal: str | None) -> Result[Summary, ConversationError]:
    """Say where a conversation ends; see `Conversations.get`."""
    found = await shelf.find(conversation, principal)
    return Failure(found.failure()) if isinstance(found, Failure) else Success(found.unwrap().summary())


async def list_page(
    shelf: Shelf, principal: str | None, after: str, limit: int
) -> Result[tuple[Summary, ...], ConversationError]:
    """Give a page of a principal's conversations; see `Conversations.list`."""
    if (refused := check_principal(principal) or (check_id("conversation", after) if after else None)) is not None:
        return Failure(refused)
    if principal is None:
        page = await shelf.store.read(_sql.LIST_OF_NOBODY, after, page_size(limit))
    else:
        page = await shelf.store.read(_sql.LIST, principal, after, page_size(limit))
    if isinstance(page, Failure):
        return Failure(page.failure())
    return Success(tuple([_sql.Head.of(row).summary() for row in page.unwrap()]))


async def export(
    shelf: Shelf, conversation: str, principal: str | None, after: int
) -> Result[tuple[str, ...], ConversationError]:
    """Give the log as JSON lines; see `Conversations.export`."""
    found = await shelf.find(conversation, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    tail = found.unwrap().tail
    begin = await _boundary(shelf, conversation, min(after, tail.seq))
    if isinstance(begin, Failure):
        return Failure(begin.failure())
    before = begin.unwrap()
    lines, at = [head_line(conversation, tail, before)], before.seq
    whole = 1  # how many lines there are up to where a batch ends
    batch: str | None = None
    while at < tail.seq and len(lines) <= LONGEST_EXPORT:
        page = await shelf.store.read(_sql.PAGE, conversation, at, tail.seq, LONGEST_PAGE)
        if isinstance(page, Failure):
            return Failure(page.failure())
        if not page.unwrap():
            return Failure(ConversationDamaged(conversation, at + 1, "gap"))
        for row in page.unwrap():
            line = Line.of(conversation, row)
            if isinstance(line, ConversationDamaged):
                return Failure(line)
            if line.batch != batch and len(lines) <= LONGEST_EXPORT + 1:
                whole, batch = len(lines), line.batch
            lines.append(record_line(line))
            at = line.seq
    return Success(tuple(lines if at == tail.seq and len(lines) <= LONGEST_EXPORT + 1 else lines[:whole]))


async def _boundary(shelf: Shelf, conversation: str, after: int) -> Result[Tail, ConversationError]:
    """Give where the log stood at a position; inside a batch, before that: digests are those of whole batches."""
    if after <= 0:
        return Success(Tail())
    page = await shelf.store.read(_sql.PAGE, conversation, max(0, after - LONGEST_BATCH), after + 1, LONGEST_PAGE)
    if isinstance(page, Failure):
        return Failure(page.failure())
    rows = {cast("int", row[0]): (row[2], cast("str", row[7])) for row in page.unwrap()}
    here, cut = after, rows.get(after + 1, (None, ""))[0]
    while here in rows and rows[here][0] == cut:
        here -= 1
    if here > 0 and here not in rows:
        return Failure(ConversationDamaged(conversation, here, "gap"))
    return Success(Tail(here, rows[here][1]) if here > 0 else Tail())


async def verify(shelf: Shelf, conversation: str, principal: str | None) -> Result[Tail, ConversationError]:
    """Compute every digest anew; see `Conversations.verify`."""
    found = await shelf.find(conversation, principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    head, reading = found.unwrap(), Reading(conversation, projected=False)
    wrong = await reading.go_on(shelf.store, head.tail.seq, head.tail.digest)
    return Success(reading.tail) if wrong is None else Failure(wrong)


def page_size(limit: int) -> int:
    """Give how many rows a page has: 1 to 1,024."""
    return max(1, min(limit, LONGEST_PAGE))
