"""The journal: where a run's records go before it acts on them (seed 004 §3)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import attrs
from returns.result import Result

from lamina.conversation._errors import AppendConflict
from lamina.conversation._records import Record
from lamina.effect import Value, tagged
from lamina.store import StoreError
from lamina.telemetry import observed

LONGEST_BATCH = 256
EMPTY_DIGEST = "0" * 64
"""The digest of a log that has no record yet."""


@tagged("The journal did not take the record {record}: {why}.")
class JournalFailed:
    """A record could not be committed, so the run does not go on.

    Attributes:
        record: The record's id.
        why: A short reason, without any content.
        cause: The conflict, or what the store said; None where there is no more to say.
    """

    record: str
    why: str
    cause: AppendConflict | StoreError | None = None


@observed("journal")
class Journal(ABC):
    """Keeps the records of runs, in order.

    When to use: a runtime that offers a `Journal` has each of its runs commit what it did: a response before its
    calls are looked at, a start before the body runs, a result before the model is told. Without one a run keeps its
    records nowhere, and costs nothing for it.
    """

    @abstractmethod
    async def append(self, *records: Record) -> Result[None, JournalFailed]:
        """Commit records as one batch: all of them in this order, or none.

        A batch whose records are there already is the same batch, and changes nothing. A different record under an id
        that is taken is refused.

        Args:
            records: At most 256.
        """


@attrs.frozen(eq=False, repr=False)
class Tail(Value):
    """Where a log ends.

    Attributes:
        seq: The last record's position; 0 where there is none.
        digest: The digest of everything up to there, 64 hexadecimal digits.
    """

    seq: int = 0
    digest: str = EMPTY_DIGEST


@observed("journal")
class RunLog(Journal):
    """The journal of one run in one conversation.

    It knows where the log ends, so that nothing is read again. What it appends is compared with the log's end and with
    who owns the run: an owner whose lease was over, and whose conversation another run has, writes nothing any more. A
    lost race is a `JournalFailed` whose `cause` is an `AppendConflict`.

    `RunEnded` frees the conversation, `RunSuspended` keeps it without a lease, each in the unit that appends it; after
    either nothing more is appended. Records of another run are refused. Calls from several tasks are committed one
    after the other; an append whose caller was cancelled is there whole or not at all, and may be done again.

    Attributes:
        conversation: The conversation's id.
        run: The run's id.
    """

    conversation: str
    run: str

    @property
    @abstractmethod
    def tail(self) -> Tail:
        """Where the log ends, as far as this run knows."""

    @property
    @abstractmethod
    def renew_within(self) -> float:
        """Seconds, from the last append or renewal on, in which a run that does neither should call `renew`.

        It is a third of the lease; `inf` where there is none.
        """

    @abstractmethod
    async def renew(self) -> Result[None, JournalFailed]:
        """Keep the conversation for another lease, without a record; every append does so too."""
