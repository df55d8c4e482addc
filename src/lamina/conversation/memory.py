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

    async def append(self, record: Record) -> Result[None, JournalFailed]:
        """Keep a record; the same one twice is kept once, a different one under its id is refused."""
        kept = self._records.get(record.id)
        if kept is not None:
            return Success(None) if kept == record else Failure(JournalFailed(record.id, "another record has its id"))
        if len(self._records) >= self._limit:
            return Failure(JournalFailed(record.id, f"the limit of {self._limit} records is reached"))
        self._records[record.id] = record
        return Success(None)
