"""Approval from a script, for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from returns.result import Failure, Result, Success

from lamina.approval.port import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable, Approved, Denied

Answer: TypeAlias = ApprovalDecision | ApprovalUnavailable | bool


class ScriptedApproval(Approval):
    """Answers in the order of a script, or by a function of the request; it keeps what it was asked.

    `True` and `False` are short for `Approved("script")` and `Denied("script")`. A script that is used up answers
    `ApprovalUnavailable`, so that a forgotten answer shows.

    Example:
        >>> approval = ScriptedApproval([True, Denied("Ada", "not today")])
        >>> approval.requests
        []
    """

    def __init__(self, answers: Iterable[Answer] | Callable[[ApprovalRequest], Answer]) -> None:
        self._answer = answers if callable(answers) else None
        self._script = iter(()) if callable(answers) else iter(answers)
        self.requests: list[ApprovalRequest] = []

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Give the next answer."""
        self.requests.append(request)
        answer = self._answer(request) if self._answer else next(self._script, None)
        match answer:
            case None:
                return Failure(ApprovalUnavailable("the script is used up"))
            case ApprovalUnavailable():
                return Failure(answer)
            case bool():
                return Success(Approved("script") if answer else Denied("script"))
            case _:
                return Success(answer)
