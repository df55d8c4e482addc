"""The history: valid whenever it exists, growing by whole batches only."""

from __future__ import annotations

import pytest

from lamina.conversation import History, Transcript, history_problems
from lamina.effect import ConstructionError
from lamina.model import AssistantMessage, Message, SystemMessage, Text, ToolCall, ToolMessage, ToolResult, UserMessage

USER = UserMessage.of("go")
SAID = AssistantMessage((Text("hello"),))


def calls(*ids: str, executor: str = "application") -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(each, "read", "{}", executor) for each in ids))  # type: ignore[arg-type]


def results(*ids: str, name: str = "read") -> ToolMessage:
    return ToolMessage(tuple(ToolResult(each, name, "x") for each in ids))


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (USER,),
        (USER, SAID, USER, USER, SAID),
        (SystemMessage("be brief"), USER, SAID),
        (USER, calls("a", "b"), results("a", "b"), SAID),
        (USER, calls("a"), results("a"), calls("a"), results("a")),
        (USER, calls("p", executor="provider"), SAID),
    ],
)
def test_a_valid_sequence_is_a_history(messages: tuple[Message, ...]) -> None:
    assert history_problems(messages) == []
    assert History.of(*messages).messages == messages


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ((USER, calls("a")), "the last message: 1 calls have no results"),
        ((USER, calls("a"), USER), "message 2: 1 calls before it have no results"),
        ((USER, calls("a", "b"), results("a")), "message 2: its results are not those of the calls before it"),
        ((USER, calls("a", "b"), results("b", "a")), "message 2: its results are not those of the calls before it"),
        ((USER, calls("a"), results("a", name="x")), "message 2: its results are not those of the calls before it"),
        ((USER, results("a")), "message 1: its results are not those of the calls before it"),
        ((USER, results()), "message 1: its results are not those of the calls before it"),
        ((USER, SAID, results()), "message 2: its results are not those of the calls before it"),
        ((USER, calls("a"), results("a"), results("a")), "message 3: its results are not those of the calls before it"),
        ((USER, calls("a", "a"), results("a", "a")), "message 1: two calls have one id"),
    ],
)
def test_an_invalid_sequence_is_refused_with_its_place(messages: tuple[Message, ...], problem: str) -> None:
    assert history_problems(messages) == [problem]
    with pytest.raises(ConstructionError) as refused:
        History(messages)
    assert refused.value.problems[0].lines == (problem,)


def test_every_problem_is_told() -> None:
    assert len(history_problems((calls("a"), calls("b"), results("c"), results("d")))) == 3


def test_an_open_batch_is_in_no_history_until_it_is_closed() -> None:
    transcript = Transcript(History.of(USER, SAID))
    transcript.say(USER)
    transcript.open(calls("a"))
    assert transcript.open_batch == calls("a")
    assert transcript.history().messages == (USER, SAID, USER)

    transcript.close([ToolResult("a", "read", "x")])
    assert transcript.open_batch is None
    assert transcript.history() == History.of(USER, SAID, USER, calls("a"), results("a"))


def test_a_history_that_was_given_out_does_not_grow() -> None:
    transcript = Transcript(History())
    before = transcript.history()
    transcript.say(USER)

    assert before.messages == ()
    assert list(transcript.messages) == [USER]


@pytest.mark.parametrize(
    ("before", "place"),
    [
        ((), 0),
        ((USER,), 0),
        ((SystemMessage("a"),), 1),
        ((USER, SystemMessage("a"), SAID, SystemMessage("b"), USER), 4),
    ],
)
def test_it_knows_the_place_after_the_last_system_message(before: tuple[Message, ...], place: int) -> None:
    assert Transcript(History(before)).after_system == place
