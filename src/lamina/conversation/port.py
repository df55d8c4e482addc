"""The commit port: where a run's records go before it acts on them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from returns.result import Result

from lamina.conversation._records import Record
from lamina.effect import tagged


@tagged("The journal did not take the record {record}: {why}.")
class JournalFailed:
    """A record could not be committed, so the run does not go on.

    Attributes:
        record: The record's id.
        why: A short reason, without any content.
    """

    record: str
    why: str


class Journal(ABC):
    """Keeps the records of runs, in order.

    When to use: a runtime that offers a `Journal` has each of its runs commit what it did: a response before its
    calls are looked at, a start before the body runs, a result before the model is told. Without one a run keeps its
    records nowhere, and costs nothing for it.
    """

    @abstractmethod
    async def append(self, record: Record) -> Result[None, JournalFailed]:
        """Commit one record; a record whose id is there already is the same record, and changes nothing."""
