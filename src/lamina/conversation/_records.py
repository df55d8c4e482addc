"""What a run commits, and when: the canonical records of a conversation (design §4, §8; behaviour §6).

Record ids are deterministic: the same point of the same run always has the same id, so that an append which is done
again is known for what it is. A record that holds what a model or a person said holds it redacted and bounded.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

import attrs

from lamina.approval import ApprovalRequest
from lamina.call import CallKey, ExecutionClass, Outcome
from lamina.effect import Value
from lamina.model import AssistantMessage, Usage
from lamina.schema import JsonValue

InputKind: TypeAlias = Literal["user", "steering", "follow-up", "directive"]
"""Who speaks: the caller, somebody into a run, somebody after its answer, or the framework (an output repair)."""

Ending: TypeAlias = Literal["completed", "failed", "interrupted"]


@attrs.frozen(eq=False, repr=False)
class ConversationCreated(Value):
    """The conversation begins; the first record of every log.

    Attributes:
        conversation: Its id.
    """

    conversation: str

    @property
    def id(self) -> str:
        """`created`."""
        return "created"


@attrs.frozen(eq=False, repr=False)
class RunBegan(Value):
    """A run of an agent begins.

    Attributes:
        run: The run's id.
        agent: The agent's id.
    """

    run: str
    agent: str

    @property
    def id(self) -> str:
        """`began:{run}`."""
        return f"began:{self.run}"


@attrs.frozen(eq=False, repr=False)
class InputRecorded(Value):
    """Something was said to the agent; the next request holds it.

    Attributes:
        run: The run that takes it.
        input_id: Its own id: the same input that is recorded twice is there once.
        kind: Who speaks.
        author: Who that is, by name; None where nobody said.
        text: What was said.
    """

    run: str
    input_id: str
    kind: InputKind
    author: str | None
    text: str

    @property
    def id(self) -> str:
        """`input:{input_id}`."""
        return f"input:{self.input_id}"


@attrs.frozen(eq=False, repr=False)
class ResponseDeclared(Value):
    """A complete response was accepted; its calls are declared, and none has started.

    Attributes:
        run: The run's id.
        turn: The turn, from 1.
        message: What the model said.
        usage: What it cost; None where the provider did not say.
        readonly: The ids of those calls whose tool only reads: their start is recorded nowhere, and after a crash it
            is known all the same that they had no effect.
    """

    run: str
    turn: int
    message: AssistantMessage
    usage: Usage | None = None
    readonly: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`declared:{run}/{turn}`."""
        return f"declared:{self.run}/{self.turn}"


@attrs.frozen(eq=False, repr=False)
class ApprovalRequested(Value):
    """Somebody was asked whether a call may start (CAP-006).

    Attributes:
        request: What was asked, as it was shown.
    """

    request: ApprovalRequest

    @property
    def id(self) -> str:
        """`asked:{key}`."""
        return f"asked:{self.request.key}"


@attrs.frozen(eq=False, repr=False)
class ApprovalDecided(Value):
    """An answer came, and is recorded before it is honoured (CAP-006).

    Attributes:
        key: The call.
        approval_id: The request that is answered.
        decision: The answer; `expired` is nobody's.
        by: Who answered.
        reason: Why, where it was said.
        arguments_digest: What the answer is bound to: SHA-256 of the arguments' canonical JSON.
        tool: The tool, all of whose requests in the run the answer is for; None where it is for this call alone.
        under: The request whose answer, which covers the tool, answered this one, too; None where it had its own.
        nth: Which record of its call this is, from 1: until the call starts, a later answer may take its place.
    """

    key: CallKey
    approval_id: str
    decision: Literal["approved", "denied", "expired"]
    by: str
    reason: str
    arguments_digest: str
    tool: str | None = None
    under: str | None = None
    nth: int = 1

    @property
    def id(self) -> str:
        """`decided:{key}`, and `decided#{nth}:{key}` for what came after it."""
        return f"decided:{self.key}" if self.nth == 1 else f"decided#{self.nth}:{self.key}"


@attrs.frozen(eq=False, repr=False)
class CallStarted(Value):
    """The body of a call runs next; not recorded for readonly calls that nobody had to approve.

    Attributes:
        key: The call.
        arguments_digest: SHA-256 of the arguments' canonical JSON, hexadecimal.
        approved_by: Who approved it; None where nobody had to.
        approval_id: The request whose answer this start uses up; None where nobody had to be asked.
        execution: What running it twice would do; after a crash it decides what is said of the call.
    """

    key: CallKey
    arguments_digest: str
    approved_by: str | None
    approval_id: str | None = None
    execution: ExecutionClass = "uncertain"

    @property
    def id(self) -> str:
        """`started:{key}`: appending it is what uses an approval up."""
        return f"started:{self.key}"


@attrs.frozen(eq=False, repr=False)
class ResultSettled(Value):
    """A call has its one outcome, redacted and bounded."""

    key: CallKey
    outcome: Outcome

    @property
    def id(self) -> str:
        """`settled:{key}`."""
        return f"settled:{self.key}"


@attrs.frozen(eq=False, repr=False)
class TurnAdvanced(Value):
    """Everything of a turn is settled; the next request sees all of it."""

    run: str
    turn: int

    @property
    def id(self) -> str:
        """`advanced:{run}/{turn}`."""
        return f"advanced:{self.run}/{self.turn}"


@attrs.frozen(eq=False, repr=False)
class RunSuspended(Value):
    """The run waits for somebody, and keeps its conversation; its owner lets go of it.

    Attributes:
        run: The run's id.
        turn: The turn whose batch is open.
        state: What the engine needs to go on: counters, digests.
        nth: Which suspension of the run this is, from 1.
    """

    run: str
    turn: int
    state: JsonValue = attrs.field(hash=False)
    nth: int = 1

    @property
    def id(self) -> str:
        """`suspended:{run}/{nth}`."""
        return f"suspended:{self.run}/{self.nth}"


@attrs.frozen(eq=False, repr=False)
class RunResumed(Value):
    """Exactly one owner took a suspended run up again.

    Attributes:
        run: The run's id.
        nth: The suspension that it ends.
    """

    run: str
    nth: int = 1

    @property
    def id(self) -> str:
        """`resumed:{run}/{nth}`."""
        return f"resumed:{self.run}/{self.nth}"


@attrs.frozen(eq=False, repr=False)
class RunEnded(Value):
    """The run has its one ending, and its conversation is free.

    Attributes:
        run: The run's id.
        ending: How it ended.
        error: The failure's tag; None for a completed run.
    """

    run: str
    ending: Ending
    error: str | None = None

    @property
    def id(self) -> str:
        """`ended:{run}`."""
        return f"ended:{self.run}"


@attrs.frozen(eq=False, repr=False)
class ConversationForked(Value):
    """What is before this was copied from another conversation.

    Attributes:
        source: The other conversation's id.
        seq: The last position that was copied.
    """

    source: str
    seq: int

    @property
    def id(self) -> str:
        """`forked:{source}@{seq}`."""
        return f"forked:{self.source}@{self.seq}"


@attrs.frozen(eq=False, repr=False)
class RepairAnnotated(Value):
    """Something in the log could not be as it was written; what was done about it is said once.

    Attributes:
        reason: What led to it: `owner-lost`, `aborted`, or `invalid-log`.
        details: What was done, one line each; none quotes content.
        through: The position up to which everything that had to be repaired has been told.
    """

    reason: Literal["owner-lost", "aborted", "invalid-log"]
    details: tuple[str, ...]
    through: int

    @property
    def id(self) -> str:
        """`repair:{through}`."""
        return f"repair:{self.through}"


Record: TypeAlias = (
    ConversationCreated
    | RunBegan
    | InputRecorded
    | ResponseDeclared
    | ApprovalRequested
    | ApprovalDecided
    | CallStarted
    | ResultSettled
    | TurnAdvanced
    | RunSuspended
    | RunResumed
    | RunEnded
    | ConversationForked
    | RepairAnnotated
)


_OF_A_CALL = frozenset({ResultSettled, CallStarted, ApprovalDecided})
_OF_THE_CONVERSATION = frozenset({ConversationCreated, ConversationForked, RepairAnnotated})


def run_of(record: Record) -> str | None:
    """Give the run that a record belongs to; None for what belongs to the conversation."""
    kind = type(record)
    if kind in _OF_A_CALL:
        return cast("CallStarted", record).key.run
    if kind is ApprovalRequested:
        return cast("ApprovalRequested", record).request.key.run
    if kind in _OF_THE_CONVERSATION:
        return None
    return cast("RunBegan", record).run
