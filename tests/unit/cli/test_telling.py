"""Records as lines: each kind says what it is, and nothing but characters gets through."""

from __future__ import annotations

from typing import get_args

import pytest

from lamina.call import CallKey, ToolRejected, ToolSuccess
from lamina.cli._telling import line_of
from lamina.conversation import (
    ApprovalDecided,
    CallStarted,
    ConversationCreated,
    ConversationForked,
    InputRecorded,
    Record,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunResumed,
    RunSuspended,
    TurnAdvanced,
)
from lamina.model import AssistantMessage, Text, ToolCall

BAD = "a\x1b[2J\nb\u202e"
GOOD = "a\ufffd[2J b\ufffd"
KEY = CallKey("run-1", 1, BAD)
CASES: list[tuple[Record, str]] = [
    (ConversationCreated("c"), "the conversation begins"),
    (ConversationForked("c", 4), "forked from c at 4"),
    (RunBegan("run-1", BAD), f"the run run-1 of {GOOD} begins"),
    (InputRecorded("run-1", "i", "user", None, BAD), f"user: {GOOD}"),
    (InputRecorded("run-1", "i", "steering", "ada", "x" * 3_000), f"ada: {'x' * 1_999}…"),
    (
        ResponseDeclared(
            "run-1", 1, AssistantMessage((Text(BAD), ToolCall("1", BAD, '{"a": 1}'), ToolCall("2", "t", "{\x1b")))
        ),
        f"the agent: {GOOD} {GOOD}(1) t({{\ufffd)",
    ),
    (ApprovalDecided(KEY, "approval:x", "approved", BAD, "", "d"), f"approved by {GOOD}"),
    (ApprovalDecided(KEY, "approval:x", "denied", "ada", BAD, "d"), f"denied by ada: {GOOD}"),
    (CallStarted(KEY, "d", None), f"the call {GOOD} starts"),
    (ResultSettled(KEY, ToolSuccess({BAD: BAD})), f"{GOOD} gave {GOOD}: {GOOD}"),
    (ResultSettled(KEY, ToolRejected("denied", BAD)), f"{GOOD} ended with ToolRejected: {GOOD}"),
    (TurnAdvanced("run-1", 3), "turn 3 is done"),
    (RunSuspended("run-1", 1, None), "the run is suspended, and waits for somebody to decide"),
    (RunResumed("run-1"), "the run goes on"),
    (RunEnded("run-1", "completed"), "the run completed"),
    (RunEnded("run-1", "failed", BAD), f"the run failed: {GOOD}"),
    (RepairAnnotated("owner-lost", (BAD, "x"), 9), f"repaired (owner-lost): {GOOD}; x"),
]


@pytest.mark.parametrize(("record", "line"), [pytest.param(*one, id=type(one[0]).__name__) for one in CASES])
def test_a_record_is_one_line_of_characters(record: Record, line: str) -> None:
    assert line_of(record).plain == line


def test_no_kind_of_record_is_forgotten() -> None:
    told = {type(record) for record, _ in CASES}

    assert {kind.__name__ for kind in get_args(Record)} - {kind.__name__ for kind in told} == {"ApprovalRequested"}
