"""Approval by whoever calls, over the protocol that the call came by."""

from __future__ import annotations

from typing import Literal

import attrs
from returns.result import Failure, Result, Success

from lamina.approval.port import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable, Approved, Denied
from lamina.approval.terminal import printable
from lamina.call import Caller, CallerUnable


@attrs.frozen
class _Answer:
    """What a person is asked to say.

    Attributes:
        decision: Whether the call may run.
    """

    decision: Literal["approve", "deny"]


class CallerApproval(Approval):
    """Asks the person at the other end of a call, with an elicitation.

    When to use: a surface whose callers are people at a client of their own. Each call brings its `Caller`, so this
    lives for a request: `bind(Approval).to(CallerApproval, life="request")`, with `seeds=seed(Caller)`. A surface says
    of every capability whose approval comes from here that it asks for `elicit`.

    A person who declines, dismisses the question, or whose client cannot ask, has not said yes: the call is denied.

    Args:
        caller: Who is asked.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Ask once."""
        answered = await self._caller.elicit_as(question(request), _Answer)
        if isinstance(answered, Failure):
            if isinstance(answered.failure(), CallerUnable):
                return Failure(ApprovalUnavailable("the caller could not be asked"))
            return Success(Denied("caller", "The person who was asked gave no approval."))
        if answered.unwrap().decision == "approve":
            return Success(Approved("caller"))
        return Success(Denied("caller", "The person who was asked said no."))


def question(request: ApprovalRequest) -> str:
    """Write what a person is shown, without control characters.

    Args:
        request: The request.
    """
    targets = "".join(f"\n- {printable(target)}" for target in request.targets)
    more = "\n- and more than can be shown" if request.more_targets else ""
    asked = f"{printable(request.tool)} asks for approval (risk: {request.risk})."
    return f"{asked}\n{printable(request.summary)}{targets}{more}"
