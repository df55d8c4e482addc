"""The policy's fields: defaults, ranges, and one report for all that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.agent import AgentPolicy, CompactionPolicy
from lamina.effect import ConstructionError

LEAST: dict[str, Any] = {"max_turns": 1, "max_tool_calls": 1, "max_duration": 0.1, "tool_concurrency": 1}


def test_every_default() -> None:
    policy = AgentPolicy(**LEAST)

    assert policy.repeated_failure_limit == 3
    assert (policy.token_budget, policy.cost_budget, policy.context_token_limit) == (None, None, None)
    assert policy.tool_result_bytes == 51_200
    assert policy.run_status == "appended"
    assert policy.compaction == CompactionPolicy(keep_recent_tokens=20_000, mode="prune-then-summarize")
    assert policy.on_exhaustion == "final-answer"
    assert (policy.output_repairs, policy.model_retries, policy.steering) == (1, 2, False)
    assert policy.steering_drain == "one"


@pytest.mark.parametrize("field", list(LEAST))
def test_the_four_limits_have_no_default(field: str) -> None:
    with pytest.raises(TypeError, match=field):
        AgentPolicy(**{name: value for name, value in LEAST.items() if name != field})


@pytest.mark.parametrize(
    ("field", "least"),
    [
        ("max_turns", 1),
        ("max_tool_calls", 1),
        ("tool_concurrency", 1),
        ("repeated_failure_limit", 0),
        ("token_budget", 1),
        ("cost_budget", 0),
        ("context_token_limit", 1),
        ("tool_result_bytes", 256),
        ("output_repairs", 0),
        ("model_retries", 0),
    ],
)
def test_a_count_is_whole_and_has_a_least_value(field: str, least: int) -> None:
    assert getattr(AgentPolicy(**LEAST | {field: least}), field) == least
    for wrong in (least - 1, float(least), True, str(least), float("nan")):
        with pytest.raises(ConstructionError, match=f"{field} is a whole number, {least} or more"):
            AgentPolicy(**LEAST | {field: wrong})


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan"), True, "60"])
def test_a_duration_is_positive_and_finite(wrong: Any) -> None:
    with pytest.raises(ConstructionError, match="max_duration is a positive, finite number of seconds"):
        AgentPolicy(**LEAST | {"max_duration": wrong})


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("on_exhaustion", "on_exhaustion is one of final-answer, fail"),
        ("run_status", "run_status is one of appended, off"),
        ("steering", "steering is one of True, False"),
        ("steering_drain", "steering_drain is one of one, all"),
    ],
)
def test_a_choice_is_one_of_its_words(field: str, line: str) -> None:
    with pytest.raises(ConstructionError) as refused:
        AgentPolicy(**LEAST | {field: "sometimes"})

    assert line in refused.value.problems[0].lines


def test_a_compaction_is_checked_with_the_policy() -> None:
    wrong: Any = CompactionPolicy(keep_recent_tokens=0, mode="forget")  # type: ignore[arg-type]
    with pytest.raises(ConstructionError) as refused:
        AgentPolicy(**LEAST, compaction=wrong)

    assert "compaction.keep_recent_tokens is a whole number, 1 or more" in refused.value.problems[0].lines
    assert "compaction.mode is one of prune, summarize, prune-then-summarize" in refused.value.problems[0].lines


def test_everything_that_is_wrong_is_told_at_once_with_the_place() -> None:
    with pytest.raises(ConstructionError) as refused:
        AgentPolicy(max_turns=0, max_tool_calls=0, max_duration=0, tool_concurrency=0)

    (problem,) = refused.value.problems
    assert (problem.kind, problem.subject, len(problem.lines)) == ("POLICY", "AgentPolicy", 5)
    assert "tests/unit/agent/test_policy.py:" in problem.lines[-1]
