"""A run as telemetry sees it: the names and attributes of the conventions, and nothing of what was said."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lamina.approval import Approval, ApprovalRequest, ScriptedApproval
from lamina.call import Allowed, Authorization, AuthorizationAnswer, AuthorizationRequest, CallKey
from lamina.conversation import stored_conversations
from lamina.effect import Clock, Ids, bind
from lamina.model import ProviderDown
from lamina.runtime import build
from lamina.store import Store, memory_store
from lamina.telemetry import Began, Ended, MemoryTelemetry, Observation, Observed, Telemetry
from lamina.testing import FixedIds, ScriptedModel, VirtualClock, call_tool, check_operations, fail, say
from lamina.testing._store_ground import opened
from tests.unit.engine.asking import YES
from tests.unit.engine.world import agent_with, boom, echo, events_of, look_up, run_turns, until, write

CANARY = "canary-2b7f"


def told(telemetry: MemoryTelemetry, name: str) -> list[Observed]:
    return [one for one in telemetry.observed if one.began.name == name]


def ended(one: Observed) -> Ended:
    assert one.ended is not None
    return one.ended


async def test_a_run_its_requests_and_its_calls() -> None:
    telemetry = MemoryTelemetry()
    turn = call_tool("echo", text=CANARY, id="e") & call_tool("look_up", text=CANARY, id="l")
    turn = turn & call_tool("boom", text=CANARY, id="b") & call_tool("write", text=CANARY, id="w")
    model = ScriptedModel(turn, say(CANARY))
    offered: Any = bind(Telemetry).value(telemetry) | bind(Ids).value(FixedIds()) | bind(Approval).value(YES)
    async with build(offered) as rt:
        await rt.run(agent_with(echo | look_up | boom | write).on(model), CANARY)

    (run,) = told(telemetry, "AgentRuntime.run")
    assert (run.began.run, run.began.agent, run.began.resource, run.parent) == ("run-1", "tester", "tester", None)
    assert (ended(run).outcome, ended(run).category) == ("success", None)
    assert ended(run).attributes == {
        "lamina.run.turns": 2,
        "lamina.run.tool_calls": 4,
        "lamina.run.finish_reason": "completed",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 10,
    }
    models = told(telemetry, "AgentRuntime.model")
    assert [one.began.attributes for one in models] == [
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "scripted",
            "gen_ai.request.model": "scripted",
            "lamina.turn": turn_number,
            "lamina.model.streamed": False,
        }
        for turn_number in (1, 2)
    ]
    assert ended(models[0]).attributes == {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}
    calls = {one.began.attributes["gen_ai.tool.call.id"]: one for one in told(telemetry, "execute_tool")}
    assert {
        call: (ended(one).outcome, ended(one).category, ended(one).attributes["lamina.tool.outcome"])
        for call, one in calls.items()
    } == {
        "e": ("success", None, "ToolSuccess"),
        "l": ("failure", "NoSuchWord", "ToolFailure"),
        "b": ("defect", "ToolDefect", "ToolDefect"),
        "w": ("success", None, "ToolSuccess"),
    }
    assert calls["l"].began.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look_up",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "l",
        "lamina.tool.execution_class": "readonly",
        "lamina.tool.invocation_kind": "model",
        "lamina.tool.sequence_index": 1,
    }
    assert [one.began.run for one in told(telemetry, "approval.request")] == ["run-1"]
    assert {one.parent for one in telemetry.observed} == {None, run}
    assert CANARY not in repr(telemetry.observed)


async def test_retries_and_failures_of_the_model() -> None:
    telemetry, clock = MemoryTelemetry(), VirtualClock()
    model = ScriptedModel(*[fail(ProviderDown())] * 3)
    offered: Any = bind(Telemetry).value(telemetry) | bind(Clock).value(clock)
    async with build(offered) as rt, rt.start(agent_with().on(model), "go") as run:
        await until(lambda: bool(model.requests))
        for _ in range(3):
            await clock.advance(10)
        await run.result()
    (asked,) = told(telemetry, "AgentRuntime.model")
    assert (ended(asked).retries, ended(asked).outcome) == (2, "failure")
    assert ended(asked).category == "ModelError.ProviderDown"
    (ran,) = told(telemetry, "AgentRuntime.run")
    assert (ended(ran).outcome, ended(ran).category) == ("failure", "ModelError.ProviderDown")
    assert ended(ran).attributes["lamina.run.finish_reason"] == "failed"
    assert ended(ran).duration > 0


async def test_an_interruption_has_no_outcome() -> None:
    telemetry = MemoryTelemetry()
    model = ScriptedModel(say("x").hanging())
    async with build(bind(Telemetry).value(telemetry)) as rt, rt.start(agent_with().on(model), "go") as run:
        await until(lambda: bool(model.requests))
        run.interrupt()
        await run.result()
    for name in ("AgentRuntime.model", "AgentRuntime.run"):
        (one,) = told(telemetry, name)
        assert (ended(one).outcome, ended(one).category) == (None, "interrupted")


async def test_everything_in_a_conversation_says_in_which() -> None:
    """Also in the fork that a run goes into where its conversation is busy."""
    telemetry, ids = MemoryTelemetry(), FixedIds()
    async with opened(memory_store()) as store:
        app: Any = stored_conversations().provide(bind(Store).value(store))
        app = app | bind(Telemetry).value(telemetry) | bind(Ids).value(ids)
        hanging = ScriptedModel(say("x").hanging())
        async with build(app) as rt, rt.start(agent_with().on(hanging), "go", conversation="c") as first:
            await until(lambda: bool(hanging.requests))
            other = agent_with(echo).on(ScriptedModel(call_tool("echo", text="x"), say("done")))
            done = await rt.run(other, "go", conversation="c", busy="fork")
            assert first.id
    fork = done.unwrap().report.conversation
    assert fork == "conversation-1"
    forked = [one for one in telemetry.observed if one.began.run == "run-2"]
    by_name = {one.began.name: one for one in forked}
    assert by_name["AgentRuntime.run"].began.conversation == "c"
    assert ended(by_name["AgentRuntime.run"]).attributes["gen_ai.conversation.id"] == fork
    for name in ("AgentRuntime.model", "execute_tool", "journal.append"):
        assert by_name[name].began.conversation == fork


class Broken(Telemetry):
    def begin(self, began: Began) -> Observation:
        raise RuntimeError("canary")


class BrokenAtTheEnd(Telemetry):
    def begin(self, began: Began) -> Observation:
        return self  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - it has an `end`

    def end(self, _: Ended) -> None:
        raise RuntimeError("canary")


@pytest.mark.parametrize("kind", [Broken, BrokenAtTheEnd])
@pytest.mark.parametrize("observed", [True, False])
async def test_a_telemetry_that_breaks_changes_nothing(kind: type[Telemetry], observed: bool) -> None:
    turn = call_tool("echo", text="x") & call_tool("boom", text="y")
    plain = await run_turns(echo | boom, turn, say("done"), observed=observed)
    broken = await run_turns(echo | boom, turn, say("done"), observed=observed, layer=bind(Telemetry).to(kind))
    assert broken.result.unwrap().output == plain.result.unwrap().output == "done"
    assert broken.told == plain.told
    assert [type(event) for event in broken.events] == [type(event) for event in plain.events]


async def test_nothing_is_made_where_no_telemetry_is_offered() -> None:
    async with (
        build(bind(Ids).value(FixedIds())) as rt,
        rt.start(agent_with().on(ScriptedModel(say("x"))), "go") as run,
    ):
        await events_of(run)
        handle: Any = run
        assert not handle._active[0].watched.live


def request() -> ApprovalRequest:
    return ApprovalRequest(
        id="approval:r/1/c",
        key=CallKey("r", 1, "c"),
        agent="a",
        conversation=None,
        tool="write",
        execution="uncertain",
        summary=CANARY,
        targets=(CANARY,),
        risk="high",
        preview={"text": CANARY},
        arguments_digest="0" * 64,
        recoverable=True,
        expires_at=None,
    )


class Open(Authorization):
    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        return Allowed()


async def test_approval_and_authorization_are_operations() -> None:
    @asynccontextmanager
    async def approval() -> AsyncGenerator[Approval, None]:
        yield ScriptedApproval(lambda asked: True)

    @asynccontextmanager
    async def authorization() -> AsyncGenerator[Authorization, None]:
        yield Open()

    asked = await check_operations(Approval, approval, {"request": lambda it: it.request(request())}, canary=CANARY)
    assert asked.checked == ("approval.request",)
    wanted = AuthorizationRequest(CallKey("r", 1, "c"), "a", "write", CANARY, "uncertain")
    held = await check_operations(
        Authorization, authorization, {"authorize": lambda it: it.authorize(wanted)}, canary=CANARY
    )
    assert held.checked == ("authorization.authorize",)
