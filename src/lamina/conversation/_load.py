"""Reading a log: once, from where it was read to before, page by page, with every digest computed anew (STORE-015)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeAlias, cast

import attrs
from returns.result import Failure

from lamina.conversation import _sql
from lamina.conversation._chain import body_of, chain
from lamina.conversation._codec import knows, read_value
from lamina.conversation._errors import ConversationDamaged, RecordUnknown
from lamina.conversation._json import Malformed, dump, load
from lamina.conversation._projection import Projection
from lamina.conversation.port import LONGEST_PAGE, Entry, Tail
from lamina.effect import Value
from lamina.store import Row, Store, StoreError

LoadError: TypeAlias = RecordUnknown | ConversationDamaged | StoreError


@attrs.frozen(eq=False, repr=False)
class Line(Value):
    """A row of the log."""

    seq: int
    id: str
    batch: str
    kind: str
    version: int
    created: int
    value: Any  # Any: JSON, of which each kind of record makes what it is
    digest: str
    size: int

    @staticmethod
    def of(conversation: str, row: Row) -> Line | ConversationDamaged:
        """Read a row, whose columns have the types that the schema gives them; its payload may be anything."""
        seq, id_, batch, kind, version, created, payload, digest = cast("tuple[Any, ...]", row)
        try:
            value = load(payload.encode())
        except Malformed:
            return ConversationDamaged(conversation, seq, "record")
        return Line(seq, id_, batch, kind, version, created, value, digest, len(payload))

    def entry(self, conversation: str) -> Entry | RecordUnknown | ConversationDamaged:
        """Read the record, or say why that cannot be."""
        if not knows(self.kind, self.version):
            return RecordUnknown(conversation, self.seq, self.kind, self.version)
        try:
            record = read_value(self.kind, self.value)
        except Malformed:
            return ConversationDamaged(conversation, self.seq, "record")
        return Entry(
            seq=self.seq,
            id=self.id,
            batch=self.batch,
            kind=self.kind,
            version=self.version,
            created=_sql.moment(self.created),
            record=record,
            digest=self.digest,
        )


class Reading:
    """A log as far as it was read: its end there, and what it came to.

    Attributes:
        conversation: The conversation's id.
        tail: The end of what was read.
        projection: What it came to; None where nobody wants to know.
        size: How many bytes of records that were.
    """

    __slots__ = ("_batch", "conversation", "projection", "size", "tail")

    def __init__(self, conversation: str, *, projected: bool = True) -> None:
        self.conversation = conversation
        self.tail = Tail()
        self.projection = Projection() if projected else None
        self.size = 0
        self._batch: list[Line] = []

    def projected(self) -> Projection:
        """Give what was read came to."""
        assert self.projection is not None, "this reading only checks"
        return self.projection

    async def go_on(self, store: Store, through: int, digest: str | None) -> LoadError | None:
        """Read on, up to a position that ends a batch.

        Args:
            store: Where the log is.
            through: The last position to read.
            digest: What the log's digest has to be there; None where that is not known.

        Returns:
            What keeps the log from being read; then this reading is of no use any more.
        """
        read = self.tail.seq
        while read < through:
            page = await store.read(_sql.PAGE, self.conversation, read, through, LONGEST_PAGE)
            if isinstance(page, Failure):
                unread: StoreError = page.failure()
                return unread
            rows = page.unwrap()
            if not rows:
                return ConversationDamaged(self.conversation, read + 1, "gap")
            for row in rows:
                read += 1
                line = Line.of(self.conversation, row)
                if isinstance(line, ConversationDamaged):
                    return line
                if line.seq != read:
                    return ConversationDamaged(self.conversation, read, "gap")
                if self._batch and self._batch[0].batch != line.batch and (wrong := self._take()) is not None:
                    return wrong
                self._batch.append(line)
        if self._batch and (wrong := self._take()) is not None:
            return wrong
        if digest is not None and digest != self.tail.digest:
            return ConversationDamaged(self.conversation, self.tail.seq, "digest")
        return None

    def _take(self) -> RecordUnknown | ConversationDamaged | None:
        """Check a whole batch, and fold its records in."""
        batch, self._batch = self._batch, []
        digest = chain(
            body_of([(line.id, line.kind, line.version, dump(line.value)) for line in batch]), self.tail.digest
        )
        for line in batch:
            if line.digest != digest:
                return ConversationDamaged(self.conversation, line.seq, "digest")
            self.size += line.size
            if self.projection is None:
                continue
            entry = line.entry(self.conversation)
            if not isinstance(entry, Entry):
                return entry
            self.projection.feed(line.seq, entry.record)
        self.tail = Tail(batch[-1].seq, digest)
        if self.projection is not None:
            self.projection.mark(self.tail.seq)
        return None


class Readings:
    """Readings that are kept, so that the next claim in this process reads only what came after.

    A reading is taken out while it is used. What is kept is bounded in number and bytes; the oldest goes first.
    """

    __slots__ = ("_bytes", "_kept", "_most", "_size")

    def __init__(self, *, most: int, size: int) -> None:
        self._kept: OrderedDict[str, Reading] = OrderedDict()
        self._most = most
        self._size = size
        self._bytes = 0

    def take(self, conversation: str) -> Reading:
        """Take a reading out, or begin one."""
        kept = self._kept.pop(conversation, None)
        if kept is None:
            return Reading(conversation)
        self._bytes -= kept.size
        return kept

    def keep(self, reading: Reading) -> None:
        """Put a reading back."""
        if (other := self._kept.pop(reading.conversation, None)) is not None:
            self._bytes -= other.size
        self._kept[reading.conversation] = reading
        self._bytes += reading.size
        while self._kept and (len(self._kept) > self._most or self._bytes > self._size):
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.size
