"""The port of conversations, and all that it takes and answers (seed 004 §3)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from returns.result import Result

from lamina.approval import Approved, Denied
from lamina.conversation._answers import Claim, Entry, Pending, Resumed, Summary
from lamina.conversation._errors import AlreadyDecided, ConversationError, DecideError
from lamina.conversation._history import History
from lamina.conversation._journal import LONGEST_BATCH, Journal, JournalFailed, RunLog, Tail
from lamina.conversation._records import ApprovalDecided, Record
from lamina.telemetry import observed

__all__ = [
    "LONGEST_BATCH",
    "LONGEST_EXPORT",
    "LONGEST_PAGE",
    "Claim",
    "Conversations",
    "Entry",
    "Journal",
    "JournalFailed",
    "Pending",
    "Resumed",
    "RunLog",
    "Summary",
    "Tail",
]

LONGEST_PAGE = 1_024
LONGEST_EXPORT = 65_536

_ON_ONE = ("claim", "resume", "suspended", "decide", "abort", "fork", "read", "history", "get", "export", "verify")


@observed("conversations", resources=dict.fromkeys(_ON_ONE, "conversation"))
class Conversations(ABC):
    """Conversations that outlive a run: append-only logs, of which a history is a projection (seed 004 §3).

    When to use: `rt.run(..., conversation="…")` needs it. Offer it with `stored_conversations()` over any store.

    A conversation belongs to the principal that it was made with, also where that is None; to anybody else it is as if
    it were not there. One run has it at a time. An active run has it for a lease, which each of its appends renews; a
    run whose lease is over may be taken over by the next claim, which ends it, settles its calls as design §4 says, and
    fences it off. A suspended run has it until it is resumed or aborted.

    Ids are 1 to 128 printable characters without `/` and `\\`; a principal 1 to 256 printable characters.

    Attributes:
        durable: Whether what was appended is there after the process has ended.
    """

    durable: bool

    @abstractmethod
    async def claim(
        self, conversation: str, run: str, *, principal: str | None = None, opening: tuple[Record, ...] = ()
    ) -> Result[Claim, ConversationError]:
        """Make a run the conversation's active run, in one unit: created where it is missing, and repaired.

        Args:
            conversation: The conversation's id.
            run: The run's id; one that has not been in this conversation.
            principal: On whose behalf.
            opening: Records of the run to append in the same unit, `RunBegan` and its input most often. They are not
                in the claim's history.

        Returns:
            The claim; `ConversationBusy` while another run has it.
        """

    @abstractmethod
    async def resume(
        self, conversation: str, run: str, *, principal: str | None = None
    ) -> Result[Resumed, ConversationError | AlreadyDecided]:
        """Take a suspended run up again; of any number that try exactly one does.

        Returns:
            What was suspended; `AlreadyDecided` where the run is not suspended any more.
        """

    @abstractmethod
    async def suspended(
        self, conversation: str, run: str, *, principal: str | None = None
    ) -> Result[Resumed, ConversationError | AlreadyDecided]:
        """Look at a suspended run without taking it up: what `resume` would give, with a log that takes nothing."""

    @abstractmethod
    async def pending(
        self, *, principal: str | None = None, after: str = "", limit: int = 100
    ) -> Result[tuple[Pending, ...], ConversationError]:
        """Give a page of the requests of a principal's suspended runs that nobody has decided, by conversation.

        Args:
            principal: Whose conversations; None is those of nobody, not those of all.
            after: The `cursor` of the last one that was seen.
            limit: At most 1,024.
        """

    @abstractmethod
    async def decide(
        self,
        conversation: str,
        run: str,
        call: str,
        decision: Approved | Denied,
        arguments_digest: str,
        *,
        turn: int | None = None,
        principal: str | None = None,
    ) -> Result[ApprovalDecided, DecideError]:
        """Record a decision while the run is suspended; it stays so, and `rt.resume(...)` acts on it.

        Until the run is resumed a later decision on the same call takes its place; all of them are in the log. The
        same one twice is one. A decision that covers the tool is recorded for the batch's other requests of the tool,
        too, as far as no decision on their calls answers them.

        Args:
            conversation: The conversation's id.
            run: The run's id.
            call: The call's id.
            decision: What is decided, and by whom: 1 to 256 printable characters.
            arguments_digest: The digest of the arguments that were decided on, from the request.
            turn: The turn in which that was asked: a later one may have a call of the same id with the same
                arguments. None is whichever turn is open.
            principal: On whose behalf.

        Returns:
            The decision that counts of the call now. `AlreadyDecided` where the run is not suspended any more,
            `NotAsked` where nothing of the call was asked, `ArgumentsDiffer` where the digest is another one,
            `ApprovalLapsed` where its time is over.
        """

    @abstractmethod
    async def abort(
        self, conversation: str, run: str, *, principal: str | None = None
    ) -> Result[Tail, ConversationError | AlreadyDecided]:
        """End a run from outside, suspended or lost; its calls get their honest outcomes, and an owner is fenced off.

        Returns:
            Where the log ends now; `AlreadyDecided` where the run does not have the conversation.
        """

    @abstractmethod
    async def fork(
        self, conversation: str, new: str, *, at: int | None = None, principal: str | None = None
    ) -> Result[Tail, ConversationError]:
        """Begin a conversation with another one's beginning; the same fork twice is one.

        Args:
            conversation: The conversation to copy from; it is not changed, and may be in use.
            new: The new conversation's id.
            at: The last position to copy; None is the last one at which no run was in progress.
            principal: Whose both are.

        Returns:
            Where the new log ends. Up to `at` its digests are those of the other.
        """

    @abstractmethod
    async def read(
        self, conversation: str, *, after: int = 0, limit: int = LONGEST_PAGE, principal: str | None = None
    ) -> Result[tuple[Entry, ...], ConversationError]:
        """Give a page of the log: the records after a position, at most 1,024."""

    @abstractmethod
    async def history(self, conversation: str, *, principal: str | None = None) -> Result[History, ConversationError]:
        """Give what was said, as a claim would see it, and change nothing."""

    @abstractmethod
    async def get(self, conversation: str, *, principal: str | None = None) -> Result[Summary, ConversationError]:
        """Say where a conversation ends, and who has it."""

    @abstractmethod
    async def list(
        self, *, principal: str | None = None, after: str = "", limit: int = 100
    ) -> Result[tuple[Summary, ...], ConversationError]:
        """Give a page of a principal's conversations, by id: those after one, at most 1,024."""

    @abstractmethod
    async def export(
        self, conversation: str, *, principal: str | None = None, after: int = 0
    ) -> Result[tuple[str, ...], ConversationError]:
        """Give the log as JSON lines with digests (`lamina/conversation@1`): a head, and at most 65,536 records.

        Whole batches only, so that `verify_export` can check what is given: go on after the last line's `seq`.

        Args:
            conversation: The conversation's id.
            principal: Whose it is.
            after: The position to begin behind; inside a batch the lines begin with that batch.
        """

    @abstractmethod
    async def verify(self, conversation: str, *, principal: str | None = None) -> Result[Tail, ConversationError]:
        """Compute every digest anew; `ConversationDamaged` tells the first position that is wrong."""
