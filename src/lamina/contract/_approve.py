"""Asking for a capability that somebody has to say yes to, after authorization (design §5)."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from itertools import islice
from typing import Any, cast

from returns.result import Failure

from lamina.approval import (
    LARGEST_PREVIEW,
    LONGEST_TEXT,
    MOST_TARGETS,
    ApprovalRequest,
    Approved,
    Ask,
    Denied,
)
from lamina.call import CallKey, Invocation, ToolSuccess, bound
from lamina.contract._errors import AgentApprovalError, AgentCancelledError
from lamina.contract._ground import Ground
from lamina.contract._variant import Variant
from lamina.contract._waiting import CutOff, Wait
from lamina.effect import log
from lamina.schema import canonical_json


async def approve(
    ground: Ground, name: str, variant: Variant, given: object, invocation: Invocation, wait: Wait
) -> AgentApprovalError | AgentCancelledError | None:
    """Ask; whatever is no yes is a no, and nobody answering in time is one, too."""
    ask = variant.ask
    assert ask is not None, "asked for by the caller"
    assert ground.approve is not None, "checked when the contract was bound"
    if ask.when is not None and not ask.when(given):
        return None
    request = _request(ground, ask, variant, given, invocation)
    patience = Wait(None)
    if ask.expires is not None:
        patience.set_deadline(ground, ask.expires)
    try:
        answered = await wait.until(patience.until(ground.approve(request)))
    except CutOff:
        if wait.why is None:
            return AgentApprovalError(name, variant.tag, "expired")
        return AgentCancelledError(name)
    except Exception:
        log().exception("the approval service broke; the call is denied", capability=name, invocation=invocation.id)
        return AgentApprovalError(name, variant.tag)
    finally:
        patience.close()
    decision: object = None if isinstance(answered, Failure) else answered.unwrap()
    if isinstance(decision, Approved):
        return None
    reason = str(decision.reason)[:LONGEST_TEXT] if isinstance(decision, Denied) else ""
    return AgentApprovalError(name, variant.tag, "denied", reason)


def _request(ground: Ground, ask: Ask[Any], variant: Variant, given: object, invocation: Invocation) -> ApprovalRequest:
    encoded = variant.input.encode(given)
    arguments = None if isinstance(encoded, Failure) else encoded.unwrap()
    summary = f"Call {variant.name}." if ask.summary is None else ask.summary
    named: list[str] = []
    if ask.targets is not None:
        named = [str(target) for target in islice(ask.targets(given), MOST_TARGETS + 1)]
    shown = tuple(target[:LONGEST_TEXT] for target in named[:MOST_TARGETS])
    return ApprovalRequest(
        id=f"approval:{invocation.id}",
        key=CallKey(invocation.id, 1, variant.name),
        agent=invocation.transport,
        conversation=None,
        tool=variant.name,
        execution=variant.capability.execution,
        summary=(summary if isinstance(summary, str) else str(summary(given)))[:LONGEST_TEXT],
        targets=shown,
        more_targets=len(named) > MOST_TARGETS or any(len(target) > LONGEST_TEXT for target in named),
        risk=ask.risk,
        preview=cast("ToolSuccess", bound(ToolSuccess(arguments), LARGEST_PREVIEW)).value,
        arguments_digest=hashlib.sha256(canonical_json(arguments)).hexdigest(),
        recoverable=True,
        expires_at=None if ask.expires is None else ground.clock.now() + timedelta(seconds=ask.expires),
    )
