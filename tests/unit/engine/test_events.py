"""What observers are told: in order, without gaps, to one ending; and what a slow or late one misses."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest

from lamina.approval import Approval, ScriptedApproval
from lamina.effect import Clock, Ids, bind
from lamina.engine import (
    TERMINAL,
    BudgetWarning,
    EventLog,
    EventsMissed,
    RunCompleted,
    RunEvents,
    RunFailed,
    RunStarted,
    TextDelta,
    ToolCallDeclared,
)
from lamina.model import Usage
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, hang, say, think
from lamina.testing._clock import VirtualClock
from lamina.testing._ids import FixedIds
from tests.unit.engine.world import agent_with, boom, echo, events_of, run_turns, write

TURN = call_tool("echo", text="a")


def names(events: Any) -> list[str]:
    return [type(event).__name__ for event in events]


async def test_a_run_of_every_kind_of_step_tells_them_in_order() -> None:
    layer = bind(Approval).value(ScriptedApproval([True, False]))
    turn = think("hm") & say("ok") & call_tool("write", text="x") & call_tool("write", text="y") & call_tool("boom")
    ran = await run_turns(write | boom, turn, say("done"), layer=layer, observed=True)

    assert names(ran.events) == [
        "RunStarted", "TurnStarted", "ModelStarted", "ReasoningDelta", "TextDelta",
        "ToolCallDeclared", "ToolCallDeclared", "ToolCallDeclared",
        "ApprovalRequested", "ApprovalDecided", "ApprovalRequested", "ApprovalDecided",
        "ToolCallFailed", "ToolCallFailed", "ToolCallStarted", "ToolCallSucceeded", "TurnCompleted",
        "TurnStarted", "ModelStarted", "TextDelta", "TurnCompleted", "RunCompleted",
    ]  # fmt: skip
    assert [event.sequence for event in ran.events] == list(range(len(ran.events)))
    decided = [(event.call, event.decision, event.by) for event in ran.events if "Decided" in type(event).__name__]
    assert decided == [("call-1", "approved", "script"), ("call-2", "denied", "script")]
    failed = [
        (event.call, event.outcome, event.error_tag) for event in ran.events if "CallFailed" in type(event).__name__
    ]
    assert failed == [("call-2", "ToolRejected", "ToolRejected"), ("call-3", "ToolInvalidInput", "ToolInvalidInput")]


async def test_every_event_says_whose_it_is_and_when() -> None:
    clock = VirtualClock()
    layer = bind(Clock).value(clock) | bind(Ids).to(FixedIds)
    ran = await run_turns(echo, TURN, say("done"), layer=layer, observed=True)

    assert {(event.run, event.agent, event.conversation) for event in ran.events} == {("run-1", "tester", None)}
    assert {event.timestamp for event in ran.events} == {clock.now()}
    assert {event.event_version for event in ran.events} == {1}
    assert [event.turn for event in ran.events] == [None, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, None]
    assert [event.call for event in ran.events if event.call] == ["call-1"] * 3


async def test_every_event_is_plain_json_whatever_the_model_wrote() -> None:
    deep = '{"text": ' + "[" * 900 + "]" * 900 + "}"
    huge = '{"text": ' + "9" * 60 + "}"
    turn = call_tool("echo", raw=deep) & call_tool("echo", raw=huge) & call_tool("echo", raw="{") & TURN
    ran = await run_turns(echo, turn, say("done"), observed=True)

    written = [json.dumps(event.to_json()) for event in ran.events]
    assert all(len(text) < 10_000 for text in written)
    assert [json.loads(text)["event"] for text in written] == names(ran.events)
    declared = [event.parameters for event in ran.events if isinstance(event, ToolCallDeclared)]
    assert declared == [deep, {"text": int("9" * 60)}, "{", {"text": "a"}]


async def test_the_answer_is_told_as_json() -> None:
    ran = await run_turns(None, say('{"a": [1]}'), agent=agent_with(output=dict[str, list[int]]), observed=True)
    assert ran.events[-1].output == {"a": [1]}
    ran = await run_turns(None, say('{"a": [1]}'), observed=True)
    assert ran.events[-1].output == '{"a": [1]}'


@pytest.mark.parametrize(
    ("limits", "turns", "expected"),
    [
        ({"max_turns": 5}, 4, ("turns", 4, 5)),
        ({"max_tool_calls": 5}, 5, ("tool-calls", 4, 5)),
        ({"token_budget": 75}, 4, ("tokens", 60, 75)),
        ({"max_turns": 1}, 1, ("turns", 1, 1)),
    ],
)
async def test_four_fifths_of_a_limit_are_warned_of_once(limits: Any, turns: int, expected: Any) -> None:
    script = [TURN] * (turns - 1)
    ran = await run_turns(echo, *script, say("done"), observed=True, **limits)

    warned = [event for event in ran.events if isinstance(event, BudgetWarning)]
    assert [(each.limit, each.consumed, each.limit_value) for each in warned] == [expected]
    assert isinstance(ran.events[-1], TERMINAL)


async def test_the_duration_is_warned_of_at_the_next_step() -> None:
    clock = VirtualClock()
    script = (TURN.expecting(lambda request: setattr(clock, "_elapsed", 80.0)), say("done"))
    ran = await run_turns(echo, *script, layer=bind(Clock).value(clock), max_duration=100, observed=True)

    warned = [(event.limit, event.consumed) for event in ran.events if isinstance(event, BudgetWarning)]
    assert warned == [("duration", 80.0)]


async def test_no_events_are_made_for_a_run_that_nobody_observes() -> None:
    ran = await run_turns(echo, TURN, say("done"))
    gc.collect()

    assert ran.result.unwrap().output == "done"
    assert not [
        each for each in gc.get_objects() if isinstance(each, RunStarted) and each.run == ran.result.unwrap().report.run
    ]


async def test_observers_have_places_of_their_own_and_may_leave() -> None:
    binding = agent_with(echo).on(ScriptedModel(TURN, say("done")))
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        first, second = run.events(), run.events()
        leaver = asyncio.create_task(anext(aiter(run.events())))  # type: ignore[arg-type]
        async for event in run.events():
            if isinstance(event, ToolCallDeclared):
                break
        whole = await asyncio.gather(events_of(run), _all(first), _all(second))
        late = [event async for event in run.events(replay=False)]
        await leaver

    assert whole[0] == whole[1] == whole[2]
    assert isinstance(whole[0][-1], RunCompleted)
    assert late == [], "there is nothing after the end"


async def test_an_observer_without_replay_begins_with_the_next_event() -> None:
    binding = agent_with(echo).on(ScriptedModel(TURN, say("done")))
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        async for event in run.events():
            if isinstance(event, ToolCallDeclared):
                later = run.events(replay=False)
                break
        await run.result()
        seen = await _all(later)

    assert seen[0].sequence > event.sequence
    assert seen[-1].sequence == len(seen) + seen[0].sequence - 1


async def test_a_waiting_observer_that_is_cancelled_leaves_nothing_behind() -> None:
    binding = agent_with().on(ScriptedModel(hang()))
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        log = run.events()._log
        for _ in range(5):
            waiting = asyncio.create_task(_all(run.events()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
        assert len(log._waiting) == 0


async def _all(events: RunEvents) -> list[Any]:
    return [event async for event in events]


def stored(count: int, limit: int) -> EventLog:
    log = EventLog(limit)
    where: dict[str, Any] = {"run": "r", "conversation": None, "agent": "a", "timestamp": VirtualClock().now()}
    for number in range(count):
        log.append(TextDelta(**where, sequence=number, text=str(number)))
    log.append(RunFailed(**where, sequence=count, error_tag="X", message="x"))
    return log


async def test_a_slow_observer_is_told_how_many_it_missed_and_gets_the_end() -> None:
    log = stored(10, limit=4)
    seen = await _all(RunEvents(log, 0))

    assert seen[0] == EventsMissed(7)
    assert [event.sequence for event in seen[1:]] == [7, 8, 9, 10]
    assert isinstance(seen[-1], RunFailed)
    assert await _all(RunEvents(log, log.next)) == []


async def test_a_run_with_more_events_than_are_kept_keeps_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventLog.__init__, "__defaults__", (8,))
    ran = await run_turns(None, say("x" * 800).using(Usage(1, 1)), observed=True)

    assert isinstance(ran.events[0], EventsMissed)
    assert ran.events[0].count + len(ran.events) - 1 == ran.events[-1].sequence + 1
    assert len(ran.events) == 9
    assert isinstance(ran.events[-1], RunCompleted)
