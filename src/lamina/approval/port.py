"""The approval port: what a person or a policy is asked before a call may start (seed 004 §5, AUTH-007)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

import attrs
from returns.result import Result

from lamina.call import CallKey, ExecutionClass
from lamina.effect import ConstructionError, Problem, Value, caller_where, tagged
from lamina.schema import JsonValue
from lamina.telemetry import observed

I = TypeVar("I")  # noqa: E741 - the tool's input
Risk: TypeAlias = Literal["low", "medium", "high", "critical"]
Covers: TypeAlias = Literal["call", "tool"]
"""What a decision answers: the very call, or each request for its tool in its run that has no decision of its own."""

OnExpiry: TypeAlias = Literal["deny", "suspend"]
"""What nobody answering in time comes to: a denial, or a run that waits in its conversation for as long as it takes."""

MOST_TARGETS = 32
LARGEST_TARGETS = 65_536
LONGEST_TEXT = 2_048
LARGEST_PREVIEW = 8_192


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Ask(Value, Generic[I]):
    """What a person is shown of a call that needs approval, and what a denial means.

    Attributes:
        summary: One sentence on what the call will do; a function of the decoded input, or a fixed text.
        targets: The resources that it touches.
        risk: How bad a wrong yes would be.
        recoverable: Whether a denial is told to the model and the run goes on; otherwise a denial ends the run.
        expires: Seconds to wait for an answer; None waits as long as the run may last.
        on_expiry: What nobody answering in that time is: a denial, unless `suspend` says that the run is then to be
            suspended until somebody has decided. That needs runs in durable conversations, as `DeferredApproval` does.
        when: Ask only for the inputs of which this is true; None asks for all.

    Example:
        >>> Ask[str](summary=lambda path: f"Delete {path}", risk="high").risk
        'high'
    """

    summary: str | Callable[[I], str] | None = None
    targets: Callable[[I], Sequence[str]] | None = None
    risk: Risk = "medium"
    recoverable: bool = False
    expires: float | None = None
    on_expiry: OnExpiry = "deny"
    when: Callable[[I], bool] | None = None

    def __attrs_post_init__(self) -> None:
        lines: list[str] = []
        if self.expires is not None and not 0 < self.expires < float("inf"):
            lines.append("expires is a positive, finite number of seconds")
        if self.risk not in get_args(Risk):
            lines.append(f"risk is one of {', '.join(get_args(Risk))}")
        if self.on_expiry not in get_args(OnExpiry):
            lines.append(f"on_expiry is one of {', '.join(get_args(OnExpiry))}")
        elif self.on_expiry == "suspend" and self.expires is None:
            lines.append('on_expiry="suspend" needs expires')
        if lines:
            raise ConstructionError([Problem("ASK", "Ask", (*lines, str(caller_where())))])


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ApprovalRequest(Value):
    """One request, as it is shown and recorded.

    Attributes:
        id: The request's own id, the same for the same call.
        key: The call: run, turn and call id.
        agent: The agent's id.
        conversation: The conversation's id, None for a run without one.
        tool: The tool's name.
        execution: What running it twice would do.
        summary: One sentence, at most 2,048 characters.
        targets: At most 32 resources of at most 2,048 characters, and 65,536 bytes in all.
        more_targets: Whether that is not all of them, or one is cut: then nobody has seen all that the call touches.
        risk: How bad a wrong yes would be.
        preview: The arguments, at most 8,192 bytes of JSON; a larger one is cut, and says so.
        arguments_digest: SHA-256 of the arguments' canonical JSON: what runs is what was approved.
        recoverable: Whether a denial lets the run go on.
        expires_at: When the request lapses; None where nobody set a limit.
        on_expiry: What it is then: a denial, or a request that has no limit any more.
    """

    id: str
    key: CallKey
    agent: str
    conversation: str | None
    tool: str
    execution: ExecutionClass
    summary: str
    targets: tuple[str, ...]
    risk: Risk
    preview: JsonValue
    arguments_digest: str
    recoverable: bool
    expires_at: datetime | None
    more_targets: bool = False
    on_expiry: OnExpiry = "deny"

    def expired(self, now: datetime) -> bool:
        """Tell whether nobody may decide any more, which is a denial."""
        return self.expires_at is not None and self.expires_at <= now and self.on_expiry == "deny"


@attrs.frozen(eq=False, repr=False)
class Approved(Value):
    """The call may run.

    A decision on the very call beats one on its tool, whichever came first; among equals the latest counts. A denial
    of the tool beats every approval of the tool.

    Attributes:
        by: Who said so.
        covers: `tool` also answers the other requests for the tool in the same run, later ones too.
    """

    by: str
    covers: Covers = "call"


@attrs.frozen(eq=False, repr=False)
class Denied(Value):
    """The call may not run.

    Attributes:
        by: Who said so.
        reason: Told to the model where the denial is recoverable.
        covers: `tool` also answers the other requests for the tool in the same run, later ones too; see `Approved`.
    """

    by: str
    reason: str = ""
    covers: Covers = "call"


@attrs.frozen(eq=False, repr=False)
class Deferred(Value):
    """Nobody decides now: the run is to be suspended, and goes on when somebody has decided."""


ApprovalDecision: TypeAlias = Approved | Denied | Deferred


@tagged("The approval service gave no decision: {why}.")
class ApprovalUnavailable:
    """The approver could not be reached or broke; the call does not run.

    Attributes:
        why: A short reason for the log and the caller.
    """

    why: str


@observed("approval")
class Approval(ABC):
    """Decides whether one call may start.

    When to use: every tool declared with `needs_approval=True` needs it; `bind(Approval).to(...)` one of
    `PolicyApproval`, `TerminalApproval`, `ScriptedApproval` or your own.

    The engine asks before any handler of the batch starts, once for each call, at once for all calls of a batch. An
    implementation only answers: waiting times, expiry and recording are the engine's.

    Attributes:
        defers: Whether it may answer `Deferred`. Such a service needs runs in conversations, which keep what waits.
        same_process: Whether it is content with conversations that this process alone remembers.
    """

    defers: bool = False
    same_process: bool = False

    @abstractmethod
    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Decide; a cancelled request must leave nothing behind."""
