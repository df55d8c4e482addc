"""Approval that waits in this process until somebody decides from outside."""

from __future__ import annotations

import math

import anyio
from returns.result import Failure, Result, Success

from lamina.approval.port import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable, Approved, Denied
from lamina.effect import ConstructionError, Problem, caller_where, tagged

MOST_WAITING = 1_024


@tagged("No request {approval} with these arguments waits for a decision.")
class NotWaiting:
    """It was decided, has expired, its run is over, it never was, or its arguments are others: they are not told apart.

    Attributes:
        approval: The request's id.
    """

    approval: str


class _Wait:
    __slots__ = ("decided", "decision", "request")

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.decided = anyio.Event()
        self.decision: Approved | Denied | None = None

    def end(self, decision: Approved | Denied) -> None:
        self.decision = decision
        self.decided.set()


class WaitingApproval(Approval):
    """Keeps each request until `decide` is called for it, from another task of the same event loop.

    When to use: the run is to wait, with all that it holds, for a person who answers elsewhere, over HTTP say
    (`lamina.adapters.approval_webhook`). Where that may take longer than the process lives, use `DeferredApproval`.

    What is cancelled, or expires, waits no more. A request beyond the limit is not kept: its call does not run.

    Args:
        limit: How many requests may wait at once.

    Raises:
        ConstructionError: The limit is no positive number.

    Example:
        >>> approval = WaitingApproval(limit=100)
        >>> approval.waiting
        ()
    """

    def __init__(self, *, limit: int = MOST_WAITING) -> None:
        if not 1 <= limit < math.inf:
            line = f"limit is a positive number  {caller_where()}"
            raise ConstructionError([Problem("APPROVAL", "WaitingApproval", (line,))])
        self._limit = limit
        self._waits: dict[str, _Wait] = {}

    @property
    def waiting(self) -> tuple[ApprovalRequest, ...]:
        """The requests that wait, in the order in which they came."""
        return tuple([wait.request for wait in self._waits.values()])

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Wait until somebody decides."""
        if request.id in self._waits:
            return Failure(ApprovalUnavailable("the same request waits already"))
        if len(self._waits) >= self._limit:
            return Failure(ApprovalUnavailable(f"{self._limit} requests wait already"))
        wait = self._waits[request.id] = _Wait(request)
        try:
            await wait.decided.wait()
        finally:
            if self._waits.get(request.id) is wait:
                del self._waits[request.id]
        assert wait.decision is not None, "what has ended has its decision"
        return Success(wait.decision)

    def decide(
        self, approval: str, decision: Approved | Denied, arguments_digest: str
    ) -> Result[ApprovalRequest, NotWaiting]:
        """Answer a request; one that covers the tool answers the other requests of its run for the tool, too.

        Args:
            approval: The request's id.
            decision: What is decided.
            arguments_digest: The digest of the arguments that were decided on, from the request.

        Returns:
            The request; of any number that decide on one, exactly one does.
        """
        wait = self._waits.get(approval)
        if wait is None or wait.request.arguments_digest != arguments_digest:
            return Failure(NotWaiting(approval))
        answered = [wait]
        if decision.covers == "tool":
            run, tool = wait.request.key.run, wait.request.tool
            others = [each for each in self._waits.values() if each is not wait]
            answered += [each for each in others if (each.request.key.run, each.request.tool) == (run, tool)]
        for each in answered:
            del self._waits[each.request.id]
            each.end(decision)
        return Success(wait.request)
