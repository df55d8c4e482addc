"""What a run tells its observers (behaviour §4). Events are the application's own and carry parameters and results.

Results are redacted and bounded before an event holds them, and no exception's text is in any.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias, cast

import attrs

from lamina.effect import Value
from lamina.engine._failures import Exhausted
from lamina.model import FinishReason
from lamina.schema import JsonValue
from lamina.steering import CommandKind


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Event(Value):
    """What every event says.

    Attributes:
        run: The run's id.
        conversation: The conversation's id; None for a run without one.
        agent: The agent's id.
        sequence: From 0, without gaps.
        timestamp: When it happened, UTC.
        turn: The turn, from 1; None for what belongs to the whole run.
        call: The call's id; None for what belongs to no call.
        event_version: The version of this vocabulary.
    """

    run: str
    conversation: str | None
    agent: str
    sequence: int
    timestamp: datetime
    turn: int | None = None
    call: str | None = None
    event_version: int = 1

    def to_json(self) -> dict[str, JsonValue]:
        """Give the event as plain JSON, its kind under `event`."""
        values = cast("dict[str, JsonValue]", attrs.asdict(self))
        values["timestamp"] = self.timestamp.isoformat()
        return {"event": type(self).__name__, **values}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunStarted(_Event):
    """The input was accepted."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TurnStarted(_Event):
    """A turn begins."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ModelStarted(_Event):
    """The model is asked.

    Attributes:
        attempt: From 1; more where a passing failure is retried.
    """

    attempt: int = 1


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TextDelta(_Event):
    """The model writes."""

    text: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ReasoningDelta(_Event):
    """The model thinks aloud."""

    text: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolCallDeclared(_Event):
    """A complete response holds this call.

    Attributes:
        tool: The tool's name, as the model spelled it.
        parameters: The arguments as JSON; the raw text where they are none.
        provider_executed: Whether the provider ran it, and not this application.
    """

    tool: str
    parameters: JsonValue
    provider_executed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ApprovalRequested(_Event):
    """Someone is asked whether the call may start."""

    tool: str
    summary: str
    risk: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ApprovalDecided(_Event):
    """The answer: `approved`, `denied` or `expired`, and by whom."""

    tool: str
    decision: str
    by: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolCallStarted(_Event):
    """The call's body runs next."""

    tool: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolCallSucceeded(_Event):
    """The call gave its value."""

    tool: str
    result: JsonValue
    provider_executed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolCallFailed(_Event):
    """The call has another outcome than a value.

    Attributes:
        tool: The tool's name.
        outcome: The outcome's tag: `ToolRejected`, `ToolFailure`, `ToolUnknownOutcome`, …
        error_tag: For a declared failure its own tag, else the outcome's.
        message: One sentence.
    """

    tool: str
    outcome: str
    error_tag: str
    message: str
    provider_executed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TurnCompleted(_Event):
    """A complete response came, and its calls, if any, are settled.

    Attributes:
        finish_reason: Why the model stopped.
        input_tokens: What the request cost.
        output_tokens: What the response cost.
    """

    finish_reason: FinishReason
    input_tokens: int
    output_tokens: int


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SteeringAdmitted(_Event):
    """Something was said to the run, and waits for its place; from another process it is seen when its turn comes.

    Attributes:
        command: The command's id.
        kind: `steering` or `follow-up`.
        author: Who said it; None where nobody is named.
        text: What was said.
    """

    command: str
    kind: CommandKind
    author: str | None
    text: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SteeringDelivered(_Event):
    """What was said to the run is in its history; the request of `turn` is the first that holds it.

    Attributes:
        command: The command's id.
        kind: `steering` or `follow-up`.
        author: Who said it; None where nobody is named.
        text: What was said.
    """

    command: str
    kind: CommandKind
    author: str | None
    text: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class OutputRejected(_Event):
    """The final answer does not fit the output, and is asked for again."""

    problems: tuple[str, ...]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class BudgetWarning(_Event):
    """Four fifths of a limit are used; once a limit and run.

    Attributes:
        limit: `turns`, `tool-calls`, `tokens`, `duration` or `context`.
        consumed: What is used.
        limit_value: What may be used.
    """

    limit: str
    consumed: float
    limit_value: float


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunCompleted(_Event):
    """Terminal: the run gave its answer.

    Attributes:
        output: The answer as JSON.
        turns: Model responses.
        finish_reason: `completed` or `budget-exhausted`.
        exhausted: The limit, for `budget-exhausted`.
    """

    output: JsonValue
    turns: int
    finish_reason: str
    exhausted: Exhausted | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunFailed(_Event):
    """Terminal: the run ended without an answer."""

    error_tag: str
    message: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunStopped(_Event):
    """Terminal: the run was interrupted or cancelled; the outcomes of its calls came before."""

    message: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunAwaitsDecision(_Event):
    """Terminal for this process: the run is suspended, and goes on when somebody has decided.

    Attributes:
        message: One sentence.
        calls: The ids of the calls that wait.
    """

    message: str
    calls: tuple[str, ...]


RunEvent: TypeAlias = (
    RunStarted
    | TurnStarted
    | ModelStarted
    | TextDelta
    | ReasoningDelta
    | ToolCallDeclared
    | ApprovalRequested
    | ApprovalDecided
    | ToolCallStarted
    | ToolCallSucceeded
    | ToolCallFailed
    | TurnCompleted
    | SteeringAdmitted
    | SteeringDelivered
    | OutputRejected
    | BudgetWarning
    | RunCompleted
    | RunFailed
    | RunStopped
    | RunAwaitsDecision
)
TERMINAL = (RunCompleted, RunFailed, RunStopped, RunAwaitsDecision)
