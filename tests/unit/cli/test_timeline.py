"""The timeline, event by event: what is printed, when, and what is kept back while somebody is asked."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from returns.result import Failure, Success

from lamina.cli._screen import Screen
from lamina.cli._timeline import Timeline
from lamina.conversation import History
from lamina.engine import (
    ApprovalDecided,
    ApprovalRequested,
    BudgetWarning,
    Completed,
    EventsMissed,
    ModelStarted,
    OutputRejected,
    PolicyExceeded,
    RunCompleted,
    RunDefect,
    RunFailure,
    RunInterrupted,
    RunReport,
    RunSuspended,
    SteeringAdmitted,
    SteeringDelivered,
    TextDelta,
    ToolCallDeclared,
    ToolCallFailed,
    ToolCallStarted,
    ToolCallSucceeded,
    TurnCompleted,
    TurnStarted,
    Waiting,
)
from lamina.model import UsageTotals

E = TypeVar("E")
REPORT = RunReport(run="run-1", turns=2, tool_calls=1, usage=UsageTotals(2, 1000, 234), history=History())


class Shown:
    """A timeline into a text."""

    def __init__(self, encoding: str = "utf-8", monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        self._buffer = io.BytesIO()
        self._stream = io.TextIOWrapper(self._buffer, encoding=encoding, write_through=True)
        self.timeline = Timeline(Screen(self._stream))
        self._at = datetime(2026, 1, 1, tzinfo=UTC)
        self._sequence = 0

    def see(self, kind: type[E], /, after: float = 0.0, **fields: Any) -> None:
        self._at += timedelta(seconds=after)
        event: Any = kind(
            **{
                "run": "run-1",
                "conversation": None,
                "agent": "a",
                "sequence": self._sequence,
                "timestamp": self._at,
                "turn": 1,
                **fields,
            }
        )
        self._sequence += 1
        self.timeline.event(event)

    def call(self, key: str, tool: str = "read", **parameters: Any) -> None:
        self.see(ToolCallDeclared, call=key, tool=tool, parameters=parameters)

    @property
    def lines(self) -> list[str]:
        return self._buffer.getvalue().decode(self._stream.encoding).splitlines()


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def test_a_turn_with_calls() -> None:
    shown = Shown()
    shown.timeline.begin("triage", "scripted")
    shown.see(TurnStarted)
    shown.see(ModelStarted)
    shown.see(TextDelta, text="Let me ")
    shown.see(TextDelta, text="see.")
    shown.call("1", name="a.md")
    shown.call("2", "list")
    for key, tool in (("1", "read"), ("2", "list")):
        shown.see(ToolCallStarted, call=key, tool=tool)
    shown.see(ToolCallSucceeded, 1.5, call="2", tool="list", result={"files": ["a", "b"]})
    shown.see(ToolCallSucceeded, 0.5, call="1", tool="read", result={"name": "a.md", "text": "# Title\n" + "x" * 99})
    shown.see(TurnCompleted, finish_reason="tool-calls", input_tokens=1200, output_tokens=3)

    assert shown.lines == [
        "triage · scripted",
        "turn 1  Let me see.",
        "  ✓ list()  files: 2                                   1.5 s",
        "  ✓ read(a.md)  text: # Title xxxxxxxxxxxxxxxxxxxxxx…  2.0 s",
        "  1,200 tokens in, 3 out · 2.0 s",
    ]


@pytest.mark.parametrize(
    ("outcome", "tag", "message", "line"),
    [
        ("ToolFailure", "NoSuchFile", "There is no file.", "  ✗ read(a.md)  NoSuchFile: There is no file."),
        ("ToolRejected", "ToolRejected", "The call was denied.", "  ∅ read(a.md)  The call was denied."),
        ("ToolInvalidInput", "ToolInvalidInput", "$.x: missing", "  ∅ read(a.md)  $.x: missing"),
        ("ToolDefect", "ToolDefect", "The tool broke.", "  ✗ read(a.md)  The tool broke."),
        ("ToolUnknownOutcome", "ToolUnknownOutcome", "It may have.", "  ? read(a.md)  It may have."),
    ],
)
def test_each_outcome_has_its_mark(outcome: str, tag: str, message: str, line: str) -> None:
    shown = Shown()
    shown.see(TurnStarted)
    shown.call("1", name="a.md")
    shown.see(ToolCallFailed, call="1", tool="read", outcome=outcome, error_tag=tag, message=message)

    assert shown.lines == ["turn 1", line]


def test_a_suspended_run_says_what_waits_and_what_to_type() -> None:
    shown = Shown()
    shown.see(TurnStarted)
    shown.call("1", "pay", cents=250)
    shown.see(ApprovalRequested, call="1", tool="pay", summary="Pay \x1b[2J250.", risk="high")
    waiting = Waiting(call="1", tool="pay", approval="approval:1", summary="Pay \x1b[2J250.", arguments_digest="d")
    ended = Failure(RunFailure(RunSuspended("c", "run-1", "a", 1, (waiting,)), REPORT))
    shown.timeline.end(ended, 0.5, ["lamina approvals approve approval:1", "lamina run x:app --resume \x07"])

    assert shown.lines == [
        "turn 1",
        "",
        "  » pay waits for a decision: Pay \ufffd[2J250 (high risk)",
        "suspended: 1 decision to be made · 2 turns · 1 call · 1,234",
        "tokens · 500 ms",
        "To go on:",
        "  lamina approvals approve approval:1",
        "  lamina run x:app --resume \ufffd",
    ]


def test_while_somebody_is_asked_nothing_is_printed() -> None:
    shown = Shown()
    shown.see(TurnStarted)
    shown.call("1", "write", name="a")
    shown.call("2", "write", name="b")
    before = len(shown.lines)
    shown.see(ApprovalRequested, call="1", tool="write", summary="Write a.", risk="low")
    shown.see(ApprovalRequested, call="2", tool="write", summary="Write b", risk="high")
    shown.see(ApprovalDecided, call="1", tool="write", decision="approved", by="Ada")
    kept_back = len(shown.lines)
    shown.see(ApprovalDecided, call="2", tool="write", decision="denied", by="Ada")

    assert kept_back == before
    assert shown.lines[before:] == ["  » Write a (low risk): approved by Ada"]


def test_a_run_that_ends_while_somebody_is_asked_shows_what_was_kept_back() -> None:
    shown = Shown()
    shown.see(TurnStarted)
    shown.call("1", "write")
    shown.see(ApprovalRequested, call="1", tool="write", summary="Write", risk="low")
    shown.see(ToolCallFailed, call="1", tool="write", outcome="ToolRejected", error_tag="x", message="Not started.")
    shown.timeline.end(Failure(RunFailure(RunInterrupted(), REPORT)), 1.0)

    assert shown.lines[1:] == ["  ∅ write()  Not started.", "", "interrupted · 2 turns · 1 call · 1,234 tokens · 1.0 s"]


def test_notes() -> None:
    shown = Shown()
    shown.see(TurnStarted)
    shown.see(TurnCompleted, finish_reason="stop", input_tokens=1, output_tokens=1)
    shown.see(OutputRejected, problems=("$.x: missing", "$.y: no int"))
    shown.see(BudgetWarning, limit="tokens", consumed=800, limit_value=1000)
    shown.see(SteeringAdmitted, command="c-1", kind="steering", author="ada", text="Be\nbrief.\x1b[2J")
    shown.see(SteeringDelivered, command="c-1", kind="steering", author="ada", text="Be\nbrief.")
    shown.see(SteeringAdmitted, command="c-2", kind="follow-up", author=None, text="And now?")
    shown.timeline.event(EventsMissed(3))

    assert shown.lines == [
        "turn 1  the answer",
        "  1 tokens in, 1 out · 0 ms",
        "  ! the answer does not fit, and is asked for again: $.x:",
        "    missing; $.y: no int",
        "  ! 800 of 1,000 tokens are used",
        "  » steering from ada: Be brief.\N{REPLACEMENT CHARACTER}[2J",
        "  » follow-up: And now?",
        "  ! 3 events came too fast to be shown",
    ]


def test_json_is_never_broken_within_a_text() -> None:
    shown, long = Shown(), "word " * 40
    shown.see(RunCompleted, output={"a": long, "b": [long]}, turns=1, finish_reason="completed")
    shown.timeline.end(Success(Completed("", REPORT)), 0.5)

    assert json.loads("".join(shown.lines[:-1])) == {"a": long, "b": [long]}


def test_a_text_is_shown_as_it_is_and_json_in_few_lines() -> None:
    texts, values = Shown(), Shown()
    texts.see(RunCompleted, output="[bold]one[/bold]\ntwo\x1b", turns=1, finish_reason="completed")
    texts.timeline.end(Success(Completed("", REPORT)), 0.5)
    values.see(RunCompleted, output={"a": 1}, turns=1, finish_reason="completed")
    values.timeline.end(Success(Completed("", REPORT, "turns")), 0.5)

    assert texts.lines == ["", "[bold]one[/bold]", "two�", "", "completed · 2 turns · 1 call · 1,234 tokens · 500 ms"]
    assert values.lines[1:3] == ['{"a": 1}', ""]
    assert values.lines[3].startswith("completed early: turns used up · 2 turns")


def test_a_failure_names_its_cause_and_where_more_is_told() -> None:
    policy, defect = Shown(), Shown()
    policy.timeline.end(Failure(RunFailure(PolicyExceeded("turns"), REPORT)), 1.0)
    defect.timeline.end(Failure(RunFailure(RunDefect(), REPORT)), 1.0)

    assert " ".join(policy.lines[1:3]).startswith("PolicyExceeded: The run was stopped by its policy")
    assert policy.lines[-1].startswith("failed · ")
    assert "--log FILE" in " ".join(defect.lines)


def test_a_terminal_that_knows_no_unicode_gets_plain_marks() -> None:
    shown = Shown("ascii")
    shown.timeline.begin("a", "b")
    shown.see(TurnStarted)
    shown.call("1")
    shown.see(ToolCallSucceeded, call="1", tool="read", result="x")

    assert shown.lines == ["a - b", "turn 1", "  + read()  x"]
