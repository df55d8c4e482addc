"""What a tool says of its approval, and the scripted approver."""

from __future__ import annotations

from typing import Any

import pytest
from returns.result import Failure, Success

from lamina.approval import ApprovalUnavailable, Approved, Ask, Denied, ScriptedApproval
from lamina.effect import ConstructionError
from tests.unit.approval.requests import request


def test_the_defaults_ask_for_everything_and_end_the_run_on_a_denial() -> None:
    ask = Ask[str]()

    assert (ask.summary, ask.targets, ask.when, ask.expires) == (None, None, None, None)
    assert (ask.risk, ask.recoverable) == ("medium", False)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_an_expiry_is_positive_and_finite(seconds: float) -> None:
    with pytest.raises(ConstructionError, match="expires is a positive, finite number of seconds") as refused:
        Ask[str](expires=seconds)

    assert "test_ask.py:" in str(refused.value)


def test_waiting_on_after_the_expiry_needs_one() -> None:
    wrong: Any = "hope"
    assert Ask[str]().on_expiry == "deny"
    assert Ask[str](expires=1, on_expiry="suspend").on_expiry == "suspend"
    with pytest.raises(ConstructionError, match='on_expiry="suspend" needs expires'):
        Ask[str](on_expiry="suspend")
    with pytest.raises(ConstructionError, match="on_expiry is one of deny, suspend"):
        Ask[str](on_expiry=wrong)


def test_all_problems_of_an_ask_come_at_once() -> None:
    wrong: Any = "enormous"
    with pytest.raises(ConstructionError) as refused:
        Ask[str](expires=-1, risk=wrong)

    assert len(refused.value.problems[0].lines) == 3
    assert "risk is one of low, medium, high, critical" in str(refused.value)


async def test_a_script_answers_in_order_and_keeps_what_it_was_asked() -> None:
    unavailable = ApprovalUnavailable("asleep")
    approval = ScriptedApproval([True, False, Denied("Ada", "no"), Approved("Bo"), unavailable])
    asked = [request(id=str(number)) for number in range(6)]
    answers = [await approval.request(each) for each in asked]

    assert answers == [
        Success(Approved("script")),
        Success(Denied("script")),
        Success(Denied("Ada", "no")),
        Success(Approved("Bo")),
        Failure(unavailable),
        Failure(ApprovalUnavailable("the script is used up")),
    ]
    assert approval.requests == asked


async def test_a_function_answers_by_the_request() -> None:
    approval = ScriptedApproval(lambda asked: asked.risk == "low")

    assert await approval.request(request(risk="low")) == Success(Approved("script"))
    assert await approval.request(request(risk="high")) == Success(Denied("script"))


def test_an_unavailable_approver_says_why_in_one_sentence() -> None:
    assert str(ApprovalUnavailable("the line is busy")) == "The approval service gave no decision: the line is busy."
