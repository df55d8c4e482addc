"""Approval by rules: no person is asked."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

import attrs
from returns.result import Result, Success

from lamina.approval.port import (
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalUnavailable,
    Approved,
    Denied,
    Risk,
)
from lamina.call import ExecutionClass
from lamina.effect import Value


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Rule(Value):
    """Matches requests, and says what becomes of them. All of its conditions must hold.

    Attributes:
        decide: What the rule says.
        tool: The tool's name, `*` and `?` allowed.
        target: A pattern for the targets: an approval needs all of them to match, a denial any; None does not look.
            Where the request does not show all of them, those that are not shown count against the call.
        risks: The risks it is for; empty means all.
        executions: The execution classes it is for; empty means all.
        reason: What a denied caller is told.
    """

    decide: Literal["approve", "deny"]
    tool: str = "*"
    target: str | None = None
    risks: tuple[Risk, ...] = ()
    executions: tuple[ExecutionClass, ...] = ()
    reason: str = ""

    def matches(self, request: ApprovalRequest) -> bool:
        """Tell whether the rule speaks of this request."""
        return (
            fnmatchcase(request.tool, self.tool)
            and (not self.risks or request.risk in self.risks)
            and (not self.executions or request.execution in self.executions)
            and self._matches_targets(request.targets, more=request.more_targets)
        )

    def _matches_targets(self, targets: Sequence[str], *, more: bool) -> bool:
        if self.target is None:
            return True
        if self.decide == "deny":
            return more or any(fnmatchcase(target, self.target) for target in targets)
        return bool(targets) and not more and all(fnmatchcase(target, self.target) for target in targets)


class PolicyApproval(Approval):
    """Answers from rules: a denial that matches beats every approval; what no rule speaks of is denied.

    Example:
        >>> policy = PolicyApproval(Rule(decide="approve", tool="write_*", risks=("low",)))
    """

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Decide by the rules, at once."""
        matching = [rule for rule in self._rules if rule.matches(request)]
        for rule in matching:
            if rule.decide == "deny":
                return Success(Denied("policy", rule.reason))
        if matching:
            return Success(Approved("policy"))
        return Success(Denied("policy", "No rule allows this call."))
