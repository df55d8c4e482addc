"""Stage 5: the host's own policy, asked once a call with decoded input (RUN-031, SEC-003)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import attrs

from lamina.call._key import CallKey, ExecutionClass
from lamina.call._outcome import ToolRejected
from lamina.effect import Value, log
from lamina.telemetry import observed

LONGEST_REASON = 2_048
"""Characters of what a host says of a refusal: it goes to the model and into the history."""


@attrs.frozen(eq=False, repr=False)
class AuthorizationRequest(Value):
    """What is asked of the host: who wants to do what, with which decoded input."""

    key: CallKey
    agent: str
    tool: str
    input: object
    execution: ExecutionClass


@attrs.frozen(eq=False, repr=False)
class Allowed(Value):
    """The host lets the call pass."""


@attrs.frozen(eq=False, repr=False)
class NotAllowed(Value):
    """The host refuses the call; the reason is what the caller is told."""

    reason: str = ""


AuthorizationAnswer: TypeAlias = Allowed | NotAllowed


@observed("authorization")
class Authorization(ABC):
    """The host's authorization policy, a service that applies to every tool call of the runtime that offers it.

    When to use: for what depends on the caller or the resource. What a person must confirm is `Approval`'s.

    Example:
        >>> class OnlyReading(Authorization):
        ...     async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        ...         return Allowed() if request.execution == "readonly" else NotAllowed("This agent only reads.")
    """

    @abstractmethod
    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        """Decide one call. Decisions of a batch are asked in declaration order, before any handler starts."""


async def check_authorized(
    ask: Callable[[AuthorizationRequest], Awaitable[object]], request: AuthorizationRequest
) -> ToolRejected | None:
    """Ask the host; a policy that breaks, or answers with something else, refuses.

    Returns:
        None where the call may pass, else `ToolRejected("unauthorized", reason)`.
    """
    try:
        answer = await ask(request)
    except Exception:
        log().exception("authorize() broke; the call is refused", tool=request.tool, call=str(request.key))
        return ToolRejected("unauthorized")
    if isinstance(answer, Allowed):
        return None
    return ToolRejected("unauthorized", str(answer.reason)[:LONGEST_REASON] if isinstance(answer, NotAllowed) else "")


async def check_own_authorized(
    ask: Callable[[object], Awaitable[object]], given: object, name: str
) -> ToolRejected | None:
    """Ask a capability's own `authorize`, after the host's policy; one that breaks refuses.

    Args:
        ask: Takes the decoded input, and answers None or why not.
        given: The input.
        name: The capability, for the log.

    Returns:
        None where the call may pass, else why it may not.
    """
    try:
        answer = await ask(given)
    except Exception:
        log().exception("a capability's own authorize broke; the call is refused", capability=name)
        return ToolRejected("unauthorized")
    return answer if answer is None or isinstance(answer, ToolRejected) else ToolRejected("unauthorized")
