"""Approval by whoever calls, planned for."""

from __future__ import annotations

from lamina.approval import Approval, CallerApproval
from lamina.call import Caller
from lamina.effect import bind, name_of, plan


def test_a_caller_that_no_call_brings_is_told_how_it_does() -> None:
    (problem,) = plan(bind(Approval).to(CallerApproval, life="request")).problems
    assert (problem.subject, problem.write) == (name_of(Caller), "build(…, seeds=seed(Caller))")
