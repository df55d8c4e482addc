"""Asking for a capability that somebody has to say yes to, after authorization (design §5)."""

from __future__ import annotations

from returns.result import Failure

from lamina.approval import LONGEST_TEXT, Approved, Denied
from lamina.call import Caller, CallKey, Invocation
from lamina.contract._errors import AgentApprovalError
from lamina.contract._ground import Ground
from lamina.contract._variant import Variant
from lamina.contract._waiting import CutOff, Wait
from lamina.effect import log
from lamina.tools import approval_request


async def approve(
    ground: Ground, variant: Variant, given: object, invocation: Invocation, caller: Caller, wait: Wait
) -> AgentApprovalError | None:
    """Ask; whatever is no yes is a no, and nobody answering in time is one, too.

    Raises:
        CutOff: The invocation was aborted meanwhile.
        Exception: A callable of the variant's `Ask` broke.
    """
    assert variant.ask is not None, "asked for by the caller"
    assert ground.approve is not None, "checked when the contract was bound"
    encoded = variant.input.encode(given)
    request = approval_request(
        variant,
        CallKey(invocation.id, 1, "call"),
        given,
        None if isinstance(encoded, Failure) else encoded.unwrap(),
        asker=ground.name,
        now=ground.clock.now(),
        secrets=ground.secrets,
    )
    if request is None:
        return None
    patience = Wait(None)
    if variant.ask.expires is not None:
        patience.set_deadline(ground, variant.ask.expires)
    try:
        answered = await wait.until(patience.until(ground.approve(request, caller)))
    except CutOff:
        if wait.why is not None:
            raise
        return AgentApprovalError(variant.name, variant.tag, "expired")
    except Exception:
        log().exception("the approval service broke; the call is denied", capability=variant.name)
        return AgentApprovalError(variant.name, variant.tag)
    finally:
        patience.close()
    decision: object = answered.failure() if isinstance(answered, Failure) else answered.unwrap()
    if isinstance(decision, Approved):
        return None
    reason = ground.secrets.redact_text(str(decision.reason))[:LONGEST_TEXT] if isinstance(decision, Denied) else ""
    return AgentApprovalError(variant.name, variant.tag, "denied", reason)
