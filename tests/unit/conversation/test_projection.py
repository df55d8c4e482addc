"""From records to a history: whatever the records are, it is valid, and what was repaired is said once."""

from __future__ import annotations

import pytest

from lamina.call import CallKey, ToolRejected, ToolSuccess
from lamina.conversation import (
    ApprovalDecided,
    CallStarted,
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
    history_problems,
    project,
)
from lamina.model import AssistantMessage, Text, ToolCall, ToolMessage

BEGAN, ENDED = RunBegan("r", "agent"), RunEnded("r", "completed")


def said(text: str = "go") -> InputRecorded:
    return InputRecorded("r", f"in-{text}", "user", None, text)


def declared(*calls: str, turn: int = 1, run: str = "r", readonly: tuple[str, ...] = ()) -> ResponseDeclared:
    parts = tuple(ToolCall(call, "read", "{}") for call in calls) or (Text("done"),)
    return ResponseDeclared(run, turn, AssistantMessage(parts), None, readonly)


def key(call: str, turn: int = 1, run: str = "r") -> CallKey:
    return CallKey(run, turn, call)


def settled(call: str, value: object = 1, turn: int = 1, run: str = "r") -> ResultSettled:
    return ResultSettled(key(call, turn, run), ToolSuccess(value))  # type: ignore[arg-type]


def started(call: str, execution: str = "uncertain") -> CallStarted:
    return CallStarted(key(call), "d", None, None, execution)  # type: ignore[arg-type]


def told(*records: Record) -> dict[str, object]:
    """Give what the model is told of each call: its value, or the tag and reason."""
    history = project(records).history()
    assert history_problems(history.messages) == []
    made: dict[str, object] = {}
    for message in history.messages:
        for result in message.results if isinstance(message, ToolMessage) else ():
            content = result.content
            made[result.id] = content.get("reason") or content["_tag"] if isinstance(content, dict) else content
    return made


def test_a_whole_run() -> None:
    records = (BEGAN, said(), declared("a", "b"), started("b"), settled("b", 2), settled("a", 1), TurnAdvanced("r", 1))
    projection = project((*records, declared(turn=2), ENDED))

    messages = projection.history().messages
    assert [type(message).__name__ for message in messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]
    assert told(*records) == {"a": 1, "b": 2}
    assert projection.notes == []
    assert (projection.run, projection.open, projection.stable, projection.whole) == (None, None, 9, 9)


@pytest.mark.parametrize(
    "after",
    [(), (TurnAdvanced("r", 1),), (said("next"),), (RunBegan("r2", "agent"),), (declared(turn=2),), (ENDED,)],
    ids=["the end", "an advance", "an input", "another run", "a response", "the run's end"],
)
def test_a_batch_that_is_cut_short_gets_honest_outcomes(after: tuple[Record, ...]) -> None:
    batch = declared("done", "begun", "safe", "reads", "never", readonly=("reads",))
    records = (said(), batch, settled("done", 5), started("begun"), started("safe", "readonly"), *after)

    assert told(*records) == {
        "done": 5,
        "begun": "ToolUnknownOutcome",
        "safe": "ToolDefect",
        "reads": "ToolDefect",
        "never": "not-started",
    }
    assert len(project(records).notes) == (4 if after else 0)


def test_what_a_suspended_run_holds_has_not_started_until_it_is_resumed() -> None:
    batch = (said(), declared("a", "b", readonly=("b",)), RunSuspended("r", 1, None))
    assert told(*batch) == {"a": "not-started", "b": "not-started"}
    assert project(batch).suspended == RunSuspended("r", 1, None)

    resumed = (*batch, RunResumed("r"))
    assert told(*resumed) == {"a": "not-started", "b": "ToolDefect"}
    assert project(resumed).suspended is None


def test_what_belongs_to_no_open_batch_is_left_out_and_told() -> None:
    records = (
        settled("early"),
        said(),
        declared("a"),
        settled("other"),
        settled("a", run="r2"),
        settled("a", turn=2),
        settled("a", 1),
        settled("a", 2),
        started("gone"),
    )
    assert told(*records) == {"a": 1}
    projection = project(records)
    assert [seq for seq, _ in projection.notes] == [1, 4, 5, 6, 8, 9]
    assert projection.strays == {"r/1/early", "r/1/other", "r2/1/a", "r/2/a", "r/1/a"}


def test_a_second_result_before_the_batch_is_whole_is_left_out() -> None:
    records = (said(), declared("a", "b"), settled("a", 1), settled("a", 2), settled("b", 3))
    assert told(*records) == {"a": 1, "b": 3}
    assert len(project(records).notes) == 1


def test_a_record_that_is_there_twice_counts_once() -> None:
    records = (said(), said(), declared("a"), settled("a"), declared("a"), settled("a"), declared(turn=2))
    history = project(records).history()
    assert [type(message).__name__ for message in history.messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]
    assert len(project(records).notes) == 3


def test_of_two_calls_with_one_id_the_first_counts() -> None:
    message = AssistantMessage(
        (Text("x"), ToolCall("a", "read", "1"), ToolCall("a", "write", "2"), ToolCall("a", "search", "{}", "provider"))
    )
    projection = project([ResponseDeclared("r", 1, message), settled("a", 7)])

    kept = projection.history().messages[0]
    assert isinstance(kept, AssistantMessage)
    assert [call.name for call in kept.calls] == ["read"]
    assert len(kept.parts) == 3
    assert history_problems(projection.history().messages) == []
    assert len(projection.notes) == 1


def test_repairs_that_were_told_are_not_told_again() -> None:
    records: list[Record] = [said(), declared("a", "b"), settled("x")]
    assert project(records).untold() == ("r/1/x: a result without its call, or a second one, is left out",)
    before = project(records).history()

    records.append(RepairAnnotated("invalid-log", ("…",), 3))
    assert project(records).untold() == ()
    assert project(records).history() == before
    assert project(records).open is None

    records.append(settled("b"))
    assert len(project(records).untold()) == 1
    assert project(records).history() == before


def test_it_knows_where_a_log_can_be_cut() -> None:
    projection = project([said(), BEGAN, declared("a"), settled("a"), ENDED, declared("b", turn=9)])
    assert (projection.stable, projection.whole) == (5, 5)
    projection = project([said(), BEGAN, declared("a"), settled("a")])
    assert (projection.stable, projection.whole) == (1, 4)


def test_what_was_decided_belongs_to_the_open_batch() -> None:
    decided = ApprovalDecided(key("a"), "approval", "approved", "ada", "", "d")
    other = ApprovalDecided(key("z"), "approval", "approved", "ada", "", "d")
    projection = project([declared("a"), decided, other])
    assert projection.open is not None
    assert projection.decisions() == {"a": decided}
    assert project([decided]).decisions() == {}


def test_an_empty_log_is_an_empty_history() -> None:
    assert project([]).history().messages == ()


def test_a_rejection_is_told_as_the_engine_tells_it() -> None:
    records = (declared("a"), ResultSettled(key("a"), ToolRejected("denied", "The call was denied: no")))
    message = project(records).history().messages[1]
    assert isinstance(message, ToolMessage)
    assert message.results[0].content == {
        "_tag": "ToolRejected",
        "reason": "denied",
        "message": "The call was denied: no",
    }
    assert message.results[0].is_error
