"""Approval that comes later: the run is suspended, and resumed when somebody has decided."""

from __future__ import annotations

from returns.result import Result, Success

from lamina.approval.port import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable, Deferred


class DeferredApproval(Approval):
    """Decides nothing: every request suspends its run, which keeps its conversation until `rt.resume(...)`.

    The run's request is a record of its conversation, so the decision may be made in another process, and the run may
    be resumed in a third. Over conversations that are kept in memory alone that promise cannot be kept: a runtime with
    both is refused, unless `same_process=True` says that this process is meant.

    Args:
        same_process: Whether a conversation that ends with this process will do.

    Example:
        >>> from lamina.effect import bind
        >>> bind(Approval).value(DeferredApproval())
        Layer(offers Approval; needs nothing more)
    """

    defers = True

    def __init__(self, *, same_process: bool = False) -> None:
        self.same_process = same_process

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Leave the decision to later."""
        return Success(Deferred())
