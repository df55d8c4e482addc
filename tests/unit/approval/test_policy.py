"""Approval by rules: a denial beats every approval, and what no rule speaks of is denied."""

from __future__ import annotations

from typing import Any

import pytest
from returns.result import Success

from lamina.approval import Approved, Denied, PolicyApproval, Rule
from tests.unit.approval.requests import request

YES = Rule(decide="approve")
NO = Rule(decide="deny", reason="Not on Fridays.")


async def decide(*rules: Rule, **changes: Any) -> Any:
    answered = await PolicyApproval(*rules).request(request(**changes))
    assert isinstance(answered, Success)
    return answered.unwrap()


async def test_without_a_rule_everything_is_denied() -> None:
    assert await decide() == Denied("policy", "No rule allows this call.")
    assert await decide(Rule(decide="approve", tool="read_*")) == Denied("policy", "No rule allows this call.")


@pytest.mark.parametrize("rules", [(YES, NO), (NO, YES)])
async def test_a_denial_beats_every_approval_wherever_it_stands(rules: tuple[Rule, ...]) -> None:
    assert await decide(*rules) == Denied("policy", "Not on Fridays.")


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (YES, True),
        (Rule(decide="approve", tool="write_label"), True),
        (Rule(decide="approve", tool="write_?abel"), True),
        (Rule(decide="approve", tool="WRITE_LABEL"), False),
        (Rule(decide="approve", risks=("low", "medium")), True),
        (Rule(decide="approve", risks=("low",)), False),
        (Rule(decide="approve", executions=("uncertain",)), True),
        (Rule(decide="approve", executions=("idempotent", "readonly")), False),
        (Rule(decide="approve", target="labels/*"), True),
        (Rule(decide="approve", target="notes/*"), False),
        (Rule(decide="approve", tool="write_*", risks=("medium",), executions=("uncertain",), target="*"), True),
        (Rule(decide="approve", tool="write_*", risks=("low",), executions=("uncertain",), target="*"), False),
    ],
)
async def test_all_conditions_of_a_rule_have_to_hold(rule: Rule, matches: bool) -> None:
    assert isinstance(await decide(rule), Approved) is matches


async def test_an_approval_needs_all_targets_and_at_least_one() -> None:
    rule = Rule(decide="approve", target="labels/*")

    assert isinstance(await decide(rule, targets=("labels/a", "labels/b")), Approved)
    assert isinstance(await decide(rule, targets=("labels/a", "notes/b")), Denied)
    assert isinstance(await decide(rule, targets=()), Denied)


async def test_a_denial_needs_any_target() -> None:
    rule = Rule(decide="deny", target="secret/*")

    assert isinstance(await decide(YES, rule, targets=("labels/a", "secret/b")), Denied)
    assert isinstance(await decide(YES, rule, targets=("labels/a",)), Approved)


async def test_targets_that_are_not_shown_count_against_the_call() -> None:
    allowed, denied = Rule(decide="approve", target="labels/*"), Rule(decide="deny", target="secret/*")

    assert isinstance(await decide(allowed, more_targets=True), Denied)
    assert isinstance(await decide(YES, denied, more_targets=True), Denied)
    assert isinstance(await decide(YES, more_targets=True), Approved)
