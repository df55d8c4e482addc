"""Each limit of the policy, in runs: what happens at it, with `final-answer` and with `fail`."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from lamina.effect import Clock, bind
from lamina.engine import AgentOutputError, OutputRejected, PolicyExceeded
from lamina.model import ModelProtocolError, Usage
from lamina.testing import call_tool, hang, say
from lamina.testing._clock import VirtualClock
from tests.unit.engine.world import Word, agent_with, boom, echo, run_turns, told_in

TURN = call_tool("echo", text="a")


async def test_the_last_turns_batch_runs_and_one_turn_without_tools_follows() -> None:
    ran = await run_turns(echo, TURN, TURN, say("done"), max_turns=2)

    completed = ran.result.unwrap()
    assert (completed.exhausted, completed.finish_reason, completed.report.turns) == ("turns", "budget-exhausted", 3)
    assert ran.told == ["a"]
    assert [request.tool_choice for request in ran.requests] == ["auto", "auto", "none"]


async def test_an_answer_on_the_last_turn_is_an_ordinary_one() -> None:
    ran = await run_turns(echo, TURN, say("done"), max_turns=2)

    assert (ran.result.unwrap().exhausted, ran.result.unwrap().finish_reason) == (None, "completed")


async def test_turns_fail_before_the_exceeding_request_where_the_policy_says_so() -> None:
    ran = await run_turns(echo, TURN, TURN, max_turns=2, on_exhaustion="fail")

    assert ran.result.failure().cause == PolicyExceeded("turns")
    assert len(ran.requests) == 2
    assert ran.result.failure().report.history.messages[-1].results[0].content == "a"


async def test_a_call_in_the_grace_turn_is_a_protocol_error() -> None:
    ran = await run_turns(echo, TURN, TURN, max_turns=1)

    cause = ran.result.failure().cause
    assert isinstance(cause, ModelProtocolError)
    assert cause.rule == "tool-choice"


async def test_a_batch_beyond_the_calls_runs_none_and_each_is_told() -> None:
    ran = await run_turns(echo, TURN & TURN, TURN & TURN, say("done"), max_tool_calls=3)

    completed = ran.result.unwrap()
    assert (completed.exhausted, completed.report.tool_calls) == ("tool-calls", 2)
    refused = told_in(ran.requests[-1])
    assert [(each.content["reason"], each.is_error) for each in refused] == [("budget", True)] * 2
    assert "answer with what you have" in refused[0].content["message"]


async def test_calls_fail_where_the_policy_says_so_and_the_history_has_no_open_batch() -> None:
    ran = await run_turns(echo, TURN & TURN, TURN & TURN, max_tool_calls=3, on_exhaustion="fail")

    assert ran.result.failure().cause == PolicyExceeded("tool-calls")
    assert len(ran.result.failure().report.history.messages) == 3


@pytest.mark.parametrize(("used", "exhausted"), [(50, None), (51, "tokens")])
async def test_tokens_are_breached_by_one_more_than_the_budget(used: int, exhausted: str | None) -> None:
    ran = await run_turns(echo, TURN.using(Usage(used - 10, 10)), say("done").using(Usage(0, 0)), token_budget=50)

    assert ran.result.unwrap().exhausted == exhausted
    assert ran.told == (["a"] if exhausted is None else [told_in(ran.requests[-1])[0].content])
    assert (ran.requests[-1].tool_choice == "none") is (exhausted is not None)


async def test_an_answer_that_breaches_the_tokens_completes_at_once_and_says_so() -> None:
    ran = await run_turns(echo, say("done").using(Usage(100, 100)), token_budget=50)
    assert (ran.result.unwrap().exhausted, len(ran.requests)) == ("tokens", 1)

    ran = await run_turns(echo, say("done").using(Usage(100, 100)), token_budget=50, on_exhaustion="fail")
    assert ran.result.failure().cause == PolicyExceeded("tokens")
    assert ran.result.failure().report.usage.total_tokens == 200


async def test_the_grace_turn_cannot_breach_the_tokens_again() -> None:
    ran = await run_turns(echo, TURN.using(Usage(100, 0)), say("done").using(Usage(1_000, 0)), token_budget=50)

    assert ran.result.unwrap().exhausted == "tokens"
    assert ran.result.unwrap().report.usage.total_tokens == 1_100


async def test_the_first_limit_is_the_one_that_is_named() -> None:
    ran = await run_turns(echo, TURN & TURN, say("done").using(Usage(900, 0)), max_tool_calls=1, token_budget=50)

    assert ran.result.unwrap().exhausted == "tool-calls"


@pytest.mark.parametrize("observed", [False, True])
async def test_a_response_without_usage_fails_and_counts_as_a_turn(observed: bool) -> None:
    ran = await run_turns(echo, TURN.using(None), observed=observed)

    assert ran.result.failure().cause == PolicyExceeded("usage")
    assert ran.result.failure().report.turns == 1
    assert all(event.turn in (None, 1) for event in ran.events)


async def test_turns_in_which_every_call_failed_end_the_run_and_any_success_resets() -> None:
    bad, mixed = call_tool("boom", text="x") & call_tool("boom", text="y"), call_tool("boom", text="x") & TURN
    ran = await run_turns(echo | boom, bad, bad, mixed, bad, bad, bad)

    assert ran.result.failure().cause == PolicyExceeded("repeated-failures")
    assert len(ran.requests) == 6
    ran = await run_turns(echo | boom, *[bad] * 5, say("done"), repeated_failure_limit=0)
    assert ran.result.unwrap().output == "done"


async def test_the_duration_is_a_hard_limit_also_with_a_final_answer_policy() -> None:
    clock = VirtualClock()
    task = asyncio.ensure_future(run_turns(echo, TURN, hang(), layer=bind(Clock).value(clock), max_duration=60))
    await clock.advance(59.9)
    assert not task.done()
    await clock.advance(0.2)

    failure = (await task).result.failure()
    assert failure.cause == PolicyExceeded("duration")
    assert failure.report.history.messages[-1].results[0].content == "a"
    assert clock.pending == 0


@attrs.frozen
class Verdict:
    score: int


async def test_an_unfit_answer_is_asked_for_once_more_with_every_problem() -> None:
    ran = await run_turns(
        None, say('{"scor": 1}'), say('{"score": 2}'), agent=agent_with(output=Verdict), observed=True
    )

    assert ran.result.unwrap().output == Verdict(2)
    assert ran.result.unwrap().report.turns == 2
    told = ran.requests[1].messages[-1].text
    assert told.startswith("Your answer does not fit the required JSON Schema:\n- $")
    assert told.count("\n- ") == 2
    assert [event.turn for event in ran.events if isinstance(event, OutputRejected)] == [1]
    assert [type(message).__name__ for message in ran.history.messages] == [
        "UserMessage", "AssistantMessage", "UserMessage", "AssistantMessage",
    ]  # fmt: skip


@pytest.mark.parametrize("repairs", [0, 1, 3])
async def test_the_policy_counts_repairs(repairs: int) -> None:
    ran = await run_turns(None, *[say("no")] * (repairs + 1), agent=agent_with(output=Verdict, output_repairs=repairs))

    cause = ran.result.failure().cause
    assert isinstance(cause, AgentOutputError)
    assert len(ran.requests) == repairs + 1


@pytest.mark.parametrize("text", ['```json\n{"score": 1}\n```', ' {"score": 1} x', "", '{"score": "1"}', "[" * 9_000])
async def test_an_answer_is_pure_json_of_the_schema(text: str) -> None:
    ran = await run_turns(None, say(text), agent=agent_with(output=Verdict, output_repairs=0))

    assert isinstance(ran.result.failure().cause, AgentOutputError)


async def test_white_space_around_the_json_is_no_problem_and_any_type_is_an_output() -> None:
    ran = await run_turns(None, say(' {"score": 1}\n'), agent=agent_with(output=Verdict))
    assert ran.result.unwrap().output == Verdict(1)
    ran = await run_turns(None, say('[{"text": "a"}]'), agent=agent_with(output=list[Word]))
    assert ran.result.unwrap().output == [Word("a")]


async def test_a_repair_is_a_turn_and_may_call_tools() -> None:
    script: list[Any] = [say("no"), TURN, say('{"score": 3}')]
    ran = await run_turns(None, *script, agent=agent_with(echo, output=Verdict, max_turns=3))
    assert ran.result.unwrap().output == Verdict(3)

    ran = await run_turns(None, say("no"), agent=agent_with(echo, output=Verdict, max_turns=1, on_exhaustion="fail"))
    assert ran.result.failure().cause == PolicyExceeded("turns")


@pytest.mark.parametrize("repairs", [0, 1])
async def test_an_unfit_answer_that_breaches_the_tokens_gets_one_turn_whatever_repairs_there_are(repairs: int) -> None:
    agent = agent_with(output=Verdict, output_repairs=repairs, token_budget=1)
    ran = await run_turns(None, say("no"), say('{"score": 4}'), agent=agent)
    assert (ran.result.unwrap().output, ran.result.unwrap().exhausted) == (Verdict(4), "tokens")

    ran = await run_turns(None, say("no"), say("no"), agent=agent)
    assert isinstance(ran.result.failure().cause, AgentOutputError)
    assert len(ran.requests) == 2
