"""How a run ends: completed, or failed with a cause; both carry what it did until then (design §5)."""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, TypeVar

import attrs

from lamina.call import CallKey, sentence_of
from lamina.conversation import AlreadyDecided, ConversationBusy, ConversationError, History, JournalFailed
from lamina.effect import Value, message_of, tagged
from lamina.model import ModelError, ModelProtocolError, UsageTotals
from lamina.steering import Command, Receipt, SteeringError

O = TypeVar("O", covariant=True)  # noqa: E741 - the output

Limit: TypeAlias = Literal["turns", "tool-calls", "duration", "usage", "tokens", "cost", "repeated-failures"]
Exhausted: TypeAlias = Literal["tokens", "tool-calls", "turns"]

_LIMITS: dict[Limit, str] = {
    "turns": "it used all of its turns",
    "tool-calls": "it asked for more tool calls than it may make",
    "duration": "it took longer than it may",
    "usage": "its model did not say what a response cost, so no budget could be kept",
    "tokens": "it used more tokens than it may",
    "cost": "it cost more than it may",
    "repeated-failures": "every call failed in too many turns in a row",
}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunReport(Value):
    """What a run did until it ended.

    Attributes:
        run: The run's id.
        turns: Model responses it got.
        tool_calls: Calls it admitted, and those that the provider ran; those of a batch that was refused do not count.
        usage: The tokens it used.
        history: What was said, ready to be continued: every call in it has its one result.
        conversation: The conversation that it was said in; None for a run without one.
        undelivered: What was said to the run while it was active, admitted, and is not in the history: it ended before.
            A suspended run keeps it, and gets it when it goes on.
    """

    run: str
    turns: int
    tool_calls: int
    usage: UsageTotals
    history: History = attrs.field(repr=False)
    conversation: str | None = None
    undelivered: tuple[Command, ...] = ()


@attrs.frozen(eq=False, repr=False)
class Completed(Value, Generic[O]):
    """The run gave its answer.

    Attributes:
        output: The answer, decoded.
        report: What the run did.
        exhausted: The limit that ended it early, where one did: the answer is the best it had by then (RUN-011).
    """

    output: O
    report: RunReport
    exhausted: Exhausted | None = None

    @property
    def finish_reason(self) -> Literal["completed", "budget-exhausted"]:
        """`budget-exhausted` where a limit ended the run early."""
        return "completed" if self.exhausted is None else "budget-exhausted"


@tagged("The input does not fit the agent's: {text}")
class AgentInputError:
    """The input breaks its own type; nothing was sent.

    Attributes:
        problems: Each as `$.path: why`.
    """

    problems: tuple[str, ...]

    @property
    def text(self) -> str:
        """All problems in one line."""
        return "; ".join(self.problems)


@tagged("The answer does not fit the agent's output: {text}")
class AgentOutputError:
    """The model's final answer, after all repairs, is not what the agent promises (AUTH-008).

    Attributes:
        problems: Each as `$.path: why`.
    """

    problems: tuple[str, ...]

    @property
    def text(self) -> str:
        """All problems in one line."""
        return "; ".join(self.problems)


@tagged("The run was stopped by its policy: {why}.")
class PolicyExceeded:
    """A limit of the agent's policy was reached, and the policy says to fail.

    Attributes:
        limit: Which one.
    """

    limit: Limit

    @property
    def why(self) -> str:
        """The limit in words."""
        return _LIMITS[self.limit]


@tagged("The call of {tool} was not approved.")
class ApprovalDenied:
    """A call was denied, or nobody answered in time, and the tool's `Ask` is not recoverable.

    Attributes:
        key: The call.
        tool: The tool's name.
        reason: What the approver said, or why there was no answer.
    """

    key: CallKey
    tool: str
    reason: str


@tagged("The tool {tool} failed, and it is declared to end the run: {text}")
class ToolFailed:
    """A tool with `failure_mode="error"` returned a declared failure.

    Attributes:
        key: The call.
        tool: The tool's name.
        error: The failure, as the handler returned it.
    """

    key: CallKey
    tool: str
    error: object

    @property
    def text(self) -> str:
        """The failure's own sentence."""
        return sentence_of(self.error)


@tagged("The run was interrupted.")
class RunInterrupted:
    """Someone who holds the run's handle interrupted it."""


@tagged("The conversation could not be used: {text}")
class ConversationFailed:
    """The conversation, or the store behind it, refused; nothing was sent to the model.

    Attributes:
        error: What it said, a tagged error.
    """

    error: ConversationError

    @property
    def text(self) -> str:
        """The error's own sentence."""
        return message_of(self.error)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Waiting(Value):
    """One call that waits for a decision.

    Attributes:
        call: The call's id.
        tool: The tool's name.
        approval: The request's id.
        summary: What it will do, as a person is shown it.
        arguments_digest: What a decision is bound to.
    """

    call: str
    tool: str
    approval: str
    summary: str
    arguments_digest: str


@tagged("The run waits for {count} decisions.")
class RunSuspended:
    """The run waits for somebody to decide, and keeps its conversation; `rt.resume(...)` goes on with it.

    It is a reference: it can be kept as JSON (`lamina.schema.codec(RunSuspended)`), and be resumed by another process
    over the same store. It holds no secret and gives no right.

    Attributes:
        conversation: The conversation's id.
        run: The run's id.
        agent: The agent's id.
        turn: The turn whose batch is open.
        waiting: The calls that wait, in declaration order.
    """

    conversation: str
    run: str
    agent: str
    turn: int
    waiting: tuple[Waiting, ...]

    @property
    def count(self) -> int:
        """How many calls wait."""
        return len(self.waiting)

    def shown(self) -> dict[str, str]:
        """Give, by call id, the digest of the arguments that whoever has the reference saw."""
        return {each.call: each.arguments_digest for each in self.waiting}


@tagged("The input was given to the run {run}, which is active in the conversation {conversation}.")
class Steered:
    """There is no run of its own: the conversation was in use, and `busy="steer"` was asked for (seed 004 §4).

    What becomes of the input is the other run's matter: its history has it, or its report names it as undelivered.

    Attributes:
        conversation: The conversation's id.
        run: The active run.
        receipt: The admission.
    """

    conversation: str
    run: str
    receipt: Receipt


@tagged("What is said to the run could not be handled: {text}")
class SteeringFailed:
    """Steering, or the store behind it, refused; so the run ends, for what was admitted must not be passed over.

    Attributes:
        error: What it said, a tagged error.
    """

    error: SteeringError

    @property
    def text(self) -> str:
        """The error's own sentence."""
        return message_of(self.error)


@tagged("The run broke for a reason that is in the application's log.")
class RunDefect:
    """Code that belongs to nobody's declared failures raised: a model adapter, instructions, or lamina itself."""


RunCause: TypeAlias = (
    AgentInputError
    | AgentOutputError
    | PolicyExceeded
    | ApprovalDenied
    | ToolFailed
    | ModelError
    | ModelProtocolError
    | RunInterrupted
    | RunSuspended
    | ConversationBusy
    | ConversationFailed
    | AlreadyDecided
    | JournalFailed
    | Steered
    | SteeringFailed
    | RunDefect
)


@attrs.frozen(eq=False, repr=False)
class RunFailure(Value):
    """The run ended without an answer.

    Attributes:
        cause: Why; a tagged error, to be matched on.
        report: What the run did until then; its history can be continued.
    """

    cause: RunCause
    report: RunReport

    def __str__(self) -> str:
        """The cause's own sentence."""
        return message_of(self.cause)
