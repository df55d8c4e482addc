"""A journal in memory: for tests, and for a process that wants to look back."""

from __future__ import annotations

from collections import OrderedDict

from returns.result import Failure, Result, Success

from lamina.conversation._records import Record
from lamina.conversation.port import Journal, JournalFailed


class MemoryJournal(Journal):
    """Keeps the records in this process, and loses them with it.

    Args:
        limit: How many records it takes; one more is refused, and nothing is dropped.

    Example:
        >>> MemoryJournal(limit=10).records
        ()
    """

    def __init__(self, limit: int = 65_536) -> None:
        self._limit = limit
        self._records: OrderedDict[str, Record] = OrderedDict()

    @property
    def records(self) -> tuple[Record, ...]:
        """All records, in the order in which they were committed."""
        return tuple(self._records.values())

    async def append(self, *records: Record) -> Result[None, JournalFailed]:
        """Keep records, all or none; the same ones twice are kept once, a different one under an id is refused."""
        added: dict[str, Record] = {}
        for record in records:
            kept = self._records.get(record.id) or added.get(record.id)
            if kept is None:
                added[record.id] = record
            elif kept != record:
                return Failure(JournalFailed(record.id, "another record has its id"))
        if added and len(self._records) + len(added) > self._limit:
            return Failure(JournalFailed(records[0].id, f"the limit of {self._limit} records is reached"))
        self._records.update(added)
        return Success(None)
