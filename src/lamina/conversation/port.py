"""Two ports: where a run's records go before it acts on them, and the conversations that hold them (seed 004 §3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import attrs
from returns.result import Result

from lamina.approval import ApprovalRequest, Approved, Denied
from lamina.call import Outcome
from lamina.conversation._errors import AlreadyDecided, AppendConflict, ConversationError, DecideError
from lamina.conversation._history import History
from lamina.conversation._records import ApprovalDecided, ApprovalRequested, Record
from lamina.effect import Value, tagged
from lamina.model import AssistantMessage
from lamina.schema import JsonValue
from lamina.store import StoreError
from lamina.telemetry import observed

LONGEST_PAGE = 1_024
LONGEST_BATCH = 256
LONGEST_EXPORT = 65_536
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


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Entry(Value):
    """One record where it stands in its log.

    Attributes:
        seq: Its position, from 1, without gaps.
        id: The record's id.
        batch: The id of the first record of its batch: records of one batch were committed together.
        kind: The record's class.
        version: The version of its form.
        created: When it was committed, UTC. Time orders nothing.
        record: The record.
        digest: The digest of everything up to the end of its batch.
    """

    seq: int
    id: str
    batch: str
    kind: str
    version: int
    created: datetime
    record: Record
    digest: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Summary(Value):
    """What a list says of a conversation.

    Attributes:
        id: Its id.
        created: When it began, UTC.
        tail: Where its log ends.
        run: The run that has it; None where it is free.
        state: What that run does.
        forked_from: The conversation that it was forked from.
        forked_seq: The last position that was copied.
    """

    id: str
    created: datetime
    tail: Tail
    run: str | None
    state: Literal["active", "suspended"] | None
    forked_from: str | None
    forked_seq: int | None


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


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Claim(Value):
    """A conversation that a run has.

    Attributes:
        history: What was said in it, valid: what an earlier claim's was, and what came after it (an exact prefix).
        tail: Where its log ended when the claim was made.
        repairs: What had to be repaired, one line each; recorded, and told to this claim only.
        log: Where the run's records go.
    """

    history: History
    tail: Tail
    repairs: tuple[str, ...]
    log: RunLog


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Resumed(Value):
    """A suspended run that exactly one owner took up again.

    Attributes:
        claim: The conversation; its history does not hold the open batch.
        agent: The agent of the run; None where the run did not record one.
        turn: The turn whose batch is open.
        response: The response whose calls wait; None where no batch is open.
        state: What the run put into its `RunSuspended`.
        nth: Which suspension this was; the next one's number is one more.
        outcomes: By call id, what has been settled of the open batch.
        started: The ids of its calls whose start is recorded.
        requests: By call id, what was asked of its calls.
        decisions: By call id, the decision that counts of its calls, be it on the call or on its tool.
        recorded: By call id, how many records of decisions there are.
        blanket: By tool, the decision that covers the run's calls of it.
    """

    claim: Claim
    agent: str | None
    turn: int
    response: AssistantMessage | None
    state: JsonValue
    nth: int
    outcomes: Mapping[str, Outcome]
    started: frozenset[str]
    requests: Mapping[str, ApprovalRequested]
    decisions: Mapping[str, ApprovalDecided]
    recorded: Mapping[str, int]
    blanket: Mapping[str, ApprovalDecided]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Pending(Value):
    """A request of a suspended run that waits for somebody's decision.

    Attributes:
        conversation: The conversation's id.
        run: The run's id.
        agent: The agent's id.
        turn: The turn whose batch is open.
        call: The call's id.
        request: What was asked, as it is shown.
        asked: When that was, UTC.
        expired: Whether its time is over, which is a denial: the run can be resumed, and nothing else.
        cursor: What `after` takes to go on behind it.
    """

    conversation: str
    run: str
    agent: str
    turn: int
    call: str
    request: ApprovalRequest
    asked: datetime
    expired: bool
    cursor: str


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
