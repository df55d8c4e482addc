"""What a complete response allows: an answer, a batch of calls, or nothing (RUN-004, RUN-020)."""

from __future__ import annotations

from typing import get_args

import pytest

from lamina.model import Finish, FinishReason, Text, ToolCall, ToolChoice, ToolResult, check_finish, reduce

ADD = ToolCall("c1", "add", "{}")
RULES = {"length": "truncated", "content-filter": "content-filter"}


@pytest.mark.parametrize("reason", get_args(FinishReason))
def test_only_stop_makes_an_answer(reason: FinishReason) -> None:
    verdict = check_finish(reduce([Text("x"), Finish(reason)]).unwrap())

    if reason == "stop":
        assert verdict.unwrap() == "answer"
    else:
        assert verdict.failure().rule == RULES.get(reason, "finish-reason")


@pytest.mark.parametrize("reason", get_args(FinishReason))
def test_only_tool_calls_lets_calls_run(reason: FinishReason) -> None:
    verdict = check_finish(reduce([Text("x"), ADD, Finish(reason)]).unwrap())

    if reason == "tool-calls":
        assert verdict.unwrap() == "calls"
    else:
        assert verdict.failure().rule == RULES.get(reason, "finish-reason")


@pytest.mark.parametrize("reason", get_args(FinishReason))
def test_a_call_that_was_forbidden_never_runs(reason: FinishReason) -> None:
    assert check_finish(reduce([ADD, Finish(reason)]).unwrap(), "none").failure().rule == "tool-choice"


@pytest.mark.parametrize("choice", get_args(ToolChoice))
def test_an_answer_is_one_under_every_choice(choice: ToolChoice) -> None:
    assert check_finish(reduce([Text("x"), Finish("stop")]).unwrap(), choice).unwrap() == "answer"


def test_what_the_provider_ran_leaves_an_answer() -> None:
    parts = [ToolCall("s", "search", "{}", "provider"), ToolResult("s", "search", 1, executor="provider")]

    assert check_finish(reduce([*parts, Finish("stop")]).unwrap(), "none").unwrap() == "answer"
    assert check_finish(reduce([*parts, Finish("tool-calls")]).unwrap()).failure().rule == "finish-reason"
