"""The audit port: who decided what, why, and what came of it; never what it was about (AUTH-007, CAP-006, SEC-011)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

import attrs

from lamina.effect import Clock
from lamina.schema import JsonValue

Kind: TypeAlias = Literal[
    "availability",
    "authorization",
    "approval",
    "budget",
    "policy",
    "session",
    "steering",
    "delegation",
    "operator",
    "dispatch",
]
"""What kind of decision it was."""
Decision: TypeAlias = Literal["allowed", "refused", "asked", "expired", "failed", "dispatched", "unknown"]
"""What was decided: `asked` of someone who has not answered, `failed` where whoever decides broke.

Of a dispatch: `refused` where no message was sent, `dispatched` where the host took it, `unknown` where it may have.
"""
Projection: TypeAlias = Callable[[object], str | None]
"""Gives of a principal what may be kept: an id, say."""


@attrs.frozen(kw_only=True)
class AuditEntry:
    """One decision.

    Attributes:
        id: The entry's own.
        at: When, UTC.
        kind: What kind of decision.
        subject: What it is about: a tool, a session, an agent; a name or an id.
        decision: What was decided.
        reason: Why, as a code: `unauthorized`, `denied`, `max-turns`, the tag of an error.
        outcome: What follows: `not-run`, `run-ends`, `goes-on`, `suspended`, …
        agent: The agent's id.
        conversation: The conversation's id.
        run: The run's id.
        turn: The turn, from 1.
        call: The call's id; with run and turn it is the call's key.
        by: Who decided: `policy`, `runtime`, a person's id; as the decision names them.
        principal: For whom, as the sink's projection gives it; None without a projection.
        shape: The shape of what was to be decided on; never a value.
        detail: What was said of it in words; kept by a sink only that is asked to.
        invocation: For a dispatch, the invocation's id.
        transport: The way it came.
        request: The id that the protocol gave the request.
        tag: The message's tag, where the capability is known.
        input: What the caller gave; kept by a sink in memory only, that is asked to.
        version: The version of this form.
    """

    id: str
    at: datetime
    kind: Kind
    subject: str
    decision: Decision
    reason: str = ""
    outcome: str = ""
    agent: str | None = None
    conversation: str | None = None
    run: str | None = None
    turn: int | None = None
    call: str | None = None
    by: str | None = None
    principal: str | None = None
    shape: JsonValue = None
    detail: str = ""
    invocation: str | None = None
    transport: str | None = None
    request: str | int | None = None
    tag: str | None = None
    input: object = None
    version: int = 1


class Audit(ABC):
    """Keeps decisions; a service.

    When to use: `bind(Audit).to(MemoryAudit)`, or `stored_audit()` over the runtime's store. A runtime that offers one
    has every decision recorded, whatever it is; without one nothing is made.

    `record` neither waits nor raises; one that raises all the same is logged, and changes nothing.

    Attributes:
        details: Whether what was said in words is kept, too. It may quote what it is about.
        inputs: Whether what callers gave to a contract is kept, too. It may be anything.
        clock: Dates the entries of dispatches; None leaves it to whoever records.
    """

    details: bool = False
    inputs: bool = False
    clock: Clock | None = None

    @abstractmethod
    def record(self, entry: AuditEntry) -> None:
        """Take a decision. It is called in the event loop, and must not wait."""

    def project(self, principal: object) -> str | None:
        """Give of a principal what may be kept; nothing, unless an implementation says what."""
        return None

    def keep_input(self, given: object) -> object:
        """Give of an input what may be kept, as a copy; nothing, unless an implementation says what."""
        return None
