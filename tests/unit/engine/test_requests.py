"""What a request says: instructions, the output contract and its place, the status line, and what no history keeps."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from lamina.agent import Agent
from lamina.conversation import History
from lamina.engine import AgentInputError, RunDefect
from lamina.model import AssistantMessage, SystemMessage, Text, UserMessage
from lamina.testing import ScriptedModel, call_tool, say
from tests.unit.engine.world import Word, agent_with, echo, policy, run_turns


@attrs.frozen
class Verdict:
    score: int


def agent(**changes: Any) -> Agent[Any, Any, Any]:
    return Agent("tester", **{"instructions": "Test.", "policy": policy(), **changes})


def kinds(messages: Any) -> list[str]:
    return [type(message).__name__.removesuffix("Message") for message in messages]


async def test_a_plain_agent_says_its_instructions_and_the_input() -> None:
    ran = await run_turns(None, say("hello"), given="hi")

    assert ran.requests[0].messages == (SystemMessage("Test."), UserMessage.of("hi"))
    assert (ran.requests[0].tools, ran.requests[0].tool_choice, ran.requests[0].output) == ((), "auto", None)


async def test_the_output_contract_follows_the_instructions_and_is_in_no_history() -> None:
    ran = await run_turns(None, say('{"score": 5}'), agent=agent(output=Verdict))

    request = ran.requests[0]
    assert kinds(request.messages) == ["System", "System", "User"]
    assert '"score"' in request.messages[1].text
    assert request.output is not None
    assert request.output.json_schema["required"] == ["score"]
    assert ran.result.unwrap().output == Verdict(5)
    assert kinds(ran.result.unwrap().report.history.messages) == ["User", "Assistant"]


async def test_the_contract_follows_the_last_system_message_also_of_the_history() -> None:
    before = History.of(
        UserMessage.of("a"), AssistantMessage((Text("b"),)), SystemMessage("Be kind."), UserMessage.of("c")
    )
    ran = await run_turns(None, say('{"score": 5}'), agent=agent(output=Verdict), history=before)

    assert kinds(ran.requests[0].messages) == ["System", "User", "Assistant", "System", "System", "User", "User"]
    assert ran.requests[0].messages[3] == SystemMessage("Be kind.")
    assert "JSON Schema" in ran.requests[0].messages[4].text
    assert ran.result.unwrap().report.history.messages[: len(before.messages)] == before.messages


async def test_the_contract_stays_at_its_place_in_every_turn() -> None:
    turns = (call_tool("echo", text="a"), call_tool("echo", text="b"), say('{"score": 5}'))
    ran = await run_turns(None, *turns, agent=agent(output=Verdict, toolkit=echo))

    for request in ran.requests:
        assert kinds(request.messages)[:3] == ["System", "System", "User"]
        assert kinds(request.messages).count("System") == 2


async def test_the_status_line_is_last_and_the_users_and_never_kept() -> None:
    ran = await run_turns(
        None,
        call_tool("echo", text="a"),
        say("done"),
        agent=agent(
            toolkit=echo,
            policy=policy(run_status="appended", token_budget=1_000, max_turns=8, max_tool_calls=16, max_duration=120),
        ),
    )

    lines = [request.messages[-1] for request in ran.requests]
    assert lines[0] == UserMessage.of(
        "<run-status>turn 1/8 · tool-calls 0/16 · tokens 0/1000 · last-context 0 · elapsed 0s/120s</run-status>"
    )
    assert lines[1] == UserMessage.of(
        "<run-status>turn 2/8 · tool-calls 1/16 · tokens 15/1000 · last-context 15 · elapsed 0s/120s</run-status>"
    )
    assert kinds(ran.requests[1].messages) == ["System", "User", "Assistant", "Tool", "User"]
    assert "run-status" not in str(ran.result.unwrap().report.history.messages)


@pytest.mark.parametrize(
    ("limits", "turns", "nearly"),
    [
        ({}, 1, False),
        ({"max_turns": 5}, 4, False),
        ({"max_turns": 5}, 5, True),
        ({"max_tool_calls": 5}, 4, False),
        ({"max_tool_calls": 5}, 5, True),
        ({"token_budget": 75}, 4, False),
        ({"token_budget": 75}, 5, True),
    ],
)
async def test_the_status_line_warns_from_four_fifths_on(limits: dict[str, Any], turns: int, nearly: bool) -> None:
    script = [call_tool("echo", text="a") for _ in range(turns - 1)]
    ran = await run_turns(echo, *script, say("done"), run_status="appended", **limits)

    assert ("nearly used up" in ran.requests[-1].messages[-1].text) is nearly
    assert "unbounded" in ran.requests[-1].messages[-1].text or "token_budget" in limits


async def test_the_status_line_of_the_grace_turn_asks_for_the_answer() -> None:
    ran = await run_turns(echo, call_tool("echo", text="a"), say("done"), run_status="appended", max_turns=1)

    assert "The budget is used up: give your final answer now, without tools." in ran.requests[1].messages[-1].text
    assert ran.requests[1].tool_choice == "none"
    assert ran.requests[1].tools == (echo.spec,), "the tools are still shown: the history holds calls of theirs"


async def test_a_json_input_is_sent_as_json_and_instructions_see_it_once_a_run() -> None:
    seen: list[object] = []

    def instruct(given: Word) -> str:
        seen.append(given)
        return f"About {given.text}."

    ran = await run_turns(
        None,
        call_tool("echo", text="a"),
        say("done"),
        agent=agent(input=Word, toolkit=echo, instructions=instruct),
        given=Word("tea"),
    )

    assert seen == [Word("tea")]
    assert [request.messages[0] for request in ran.requests] == [SystemMessage("About tea.")] * 2
    assert ran.requests[0].messages[1] == UserMessage.of('{"text":"tea"}')


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize(("kind", "given"), [(str, 5), (str, "a\ud800"), (Word, "tea"), (Word, Word(5)), (int, True)])
async def test_an_input_that_does_not_fit_asks_no_model(kind: Any, given: Any, observed: bool) -> None:
    ran = await run_turns(None, ScriptedModel(), agent=agent(input=kind), given=given, observed=observed)

    cause = ran.result.failure().cause
    assert isinstance(cause, AgentInputError)
    assert cause.problems
    assert ran.requests == ()
    assert ran.result.failure().report.history.messages == ()
    assert [type(event).__name__ for event in ran.events] == (["RunFailed"] if observed else [])


@pytest.mark.parametrize("broken", [lambda given: 1 / 0, lambda given: 5, lambda given: None])
async def test_instructions_that_break_are_a_defect_of_the_run(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    ran = await run_turns(None, ScriptedModel(), agent=agent(instructions=broken))

    assert ran.result.failure().cause == RunDefect()
    assert ran.requests == ()
    assert "a run broke" in caplog.text


async def test_a_history_is_an_exact_prefix_and_is_left_as_it_was() -> None:
    first = await run_turns(echo, call_tool("echo", text="a"), say("done"))
    before = first.result.unwrap().report.history
    second = await run_turns(echo, say("again"), history=before, agent=agent_with(echo))

    assert second.requests[0].messages[1:-1] == before.messages
    assert len(before.messages) == 4
    assert second.result.unwrap().report.history.messages[:4] == before.messages
