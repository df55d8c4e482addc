"""An agent as a surface: one capability, whose calls are runs."""

from __future__ import annotations

import asyncio
from typing import Any, Never

import attrs
import pytest

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, CallerApproval, DeferredApproval
from lamina.call import (
    Caller,
    Invocation,
    NoCaller,
    Signal,
    TextContent,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.effect import ConstructionError, Try, bind, empty_layer, seed
from lamina.model import Authentication, ModelError
from lamina.redaction import Secrets
from lamina.runtime import build, prompt
from lamina.testing import ScriptedModel, call_tool, fail, say
from lamina.tools import tool
from tests.unit.callers import RecordingCaller
from tests.unit.engine.world import Word, echo, write

POLICY = AgentPolicy(max_turns=4, max_tool_calls=4, max_duration=60, tool_concurrency=2)


@attrs.frozen
class Question:
    about: str


@attrs.frozen
class Answer:
    text: str


def invocation(signal: Signal | None = None) -> Invocation:
    return Invocation(id="i-1", signal=signal)


NOBODY = NoCaller()


def plain(*turns: Any, toolkit: Any = echo, agent_id: str = "helper") -> Any:
    agent = Agent(agent_id, instructions="Help people.", policy=POLICY, toolkit=toolkit)
    return agent.on(ScriptedModel(*turns))


async def test_what_a_plain_agent_says_of_itself_and_answers() -> None:
    binding = plain(say("hello back"), agent_id="my helper")
    async with build(empty_layer(), programs=[binding]) as rt:
        surface = rt.surface(binding, description="Ask me.", version="3")
        (capability,) = surface.capabilities
        assert (surface.name, surface.version) == ("my helper", "3")
        assert (capability.name, capability.description, capability.execution) == ("my_helper", "Ask me.", "readonly")
        assert capability.input_schema["properties"] == {"input": {"type": "string"}}
        assert await surface.available() == {"my_helper"}
        outcome = await surface.invoke("my_helper", {"input": "hello"}, invocation(), NOBODY)
        assert outcome == ToolSuccess("hello back")
        assert surface.summary("my_helper", ToolSuccess("hello back")) == "hello back"
        assert (await surface.prompt("my_helper", {})).unwrap()[0].content == TextContent("Help people.")
        assert str((await surface.prompt("other", {})).failure()) == "No such prompt: other"
        stop = surface.subscribe(lambda: None)
        stop()


async def test_typed_input_and_output() -> None:
    agent = Agent("typed", instructions=lambda given: "Help.", policy=POLICY, input=Question, output=Answer)
    binding = agent.on(ScriptedModel(say('{"text": "tea"}')))
    async with build(empty_layer()) as rt:
        surface = rt.surface(binding)
        (capability,) = surface.capabilities
        assert capability.output_schema is not None
        assert capability.output_schema["type"] == "object"
        assert surface.prompts == ()
        assert (await surface.prompt("typed", {})).failure()
        assert await surface.invoke("typed", {"about": "x"}, invocation(), NOBODY) == ToolSuccess({"text": "tea"})
        assert surface.summary("typed", ToolSuccess({"text": "tea"})) is None
        refused = await surface.invoke("typed", {}, invocation(), NOBODY)
        assert refused == ToolInvalidInput(("$.about: missing",))


async def test_bad_input_never_reaches_the_model() -> None:
    binding = plain()
    async with build(empty_layer()) as rt:
        surface = rt.surface(binding)
        for payload, problems in (
            (None, ("$.input: missing",)),
            ([], ("$: expected object",)),
            ({"input": "x", "more": 1}, ("$.more: an undeclared key",)),
            ({"input": 5}, ("$.input: expected string",)),
        ):
            outcome = await surface.invoke("helper", payload, invocation(), NOBODY)  # type: ignore[arg-type]
            assert outcome == ToolInvalidInput(problems)
        assert await surface.invoke("other", {}, invocation(), NOBODY) == ToolRejected(
            "no-such-tool", nearest=("helper",)
        )


async def test_events_are_progress() -> None:
    binding = plain(call_tool("echo", text="a"), say("done"))
    async with build(empty_layer()) as rt:
        caller = RecordingCaller()
        assert await rt.surface(binding).invoke("helper", {"input": "x"}, invocation(), caller) == ToolSuccess("done")
    assert [(told[1], told[3]) for told in caller.told] == [
        (1, "turn 1"),
        (2, "calls echo"),
        (3, "echo is done"),
        (4, "turn 2"),
    ]


async def test_a_failed_run_is_told_with_its_causes_own_sentence() -> None:
    binding = plain(fail(ModelError(Authentication(), "401")))
    async with build(empty_layer()) as rt:
        outcome = await rt.surface(binding).invoke("helper", {"input": "x"}, invocation(), NOBODY)
    assert isinstance(outcome, ToolFailure)
    assert outcome.value == {"_tag": "ModelError", "message": outcome.message}


@pytest.mark.parametrize(("toolkit", "outcome"), [(echo, ToolDefect("interrupted")), (None, ToolUnknownOutcome())])
async def test_an_abort_interrupts_the_run(toolkit: Any, outcome: Any) -> None:
    begun = asyncio.Event()

    @tool()
    async def wait(call: Word, ok: Try[Never]) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    @tool(execution="readonly")
    async def look(call: Word, ok: Try[Never]) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    used, name = (wait, "wait") if toolkit is None else (look, "look")
    binding = plain(call_tool(name, text="a"), toolkit=used)
    signal = Signal()
    async with build(empty_layer()) as rt:
        surface = rt.surface(binding)
        task = asyncio.create_task(surface.invoke("helper", {"input": "x"}, invocation(signal), RecordingCaller()))
        await begun.wait()
        signal.abort()
        assert await task == outcome
        assert await surface.invoke("helper", {"input": "x"}, invocation(signal), NOBODY) == ToolRejected("not-started")
    assert signal.listeners == 0


async def test_an_agents_tools_have_the_caller_of_the_call() -> None:
    @tool()
    async def tell(call: Word, ok: Try[Never], caller: Caller) -> str:
        await caller.log("info", call.text)
        return "told"

    agent = Agent("helper", instructions="Help.", policy=POLICY, toolkit=tell | write)
    binding = agent.on(ScriptedModel(call_tool("tell", text="a"), call_tool("write", text="b"), say("done")))
    app: Any = bind(Approval).to(CallerApproval, life="request")
    async with build(app, seeds=seed(Caller)) as opened:
        surface = opened.surface(binding)
        (capability,) = surface.capabilities
        assert capability.asks == {"progress", "log", "elicit"}
        assert capability.needs_approval
        caller = RecordingCaller(answers=[("accept", {"decision": "approve"})])
        assert await surface.invoke("helper", {"input": "x"}, invocation(), caller) == ToolSuccess("done")
    assert ("log", "info", "a") in caller.told
    assert caller.asked == ["write asks for approval (risk: medium).\nWrite b"]


async def test_what_an_agent_cannot_be_served_with() -> None:
    @prompt()
    async def hello() -> str:
        return "hi"

    async with build(bind(Approval).value(DeferredApproval(same_process=True))) as rt:
        with pytest.raises(ConstructionError, match="nothing else beside it"):
            rt.surface(plain(), prompts=[hello])
        with pytest.raises(ConstructionError, match="decisions come later"):
            rt.surface(plain(toolkit=write))


async def test_an_agent_whose_needs_are_missing_is_refused_at_once() -> None:
    async with build(empty_layer()) as rt:
        with pytest.raises(ConstructionError, match="MISSING Approval"):
            rt.surface(plain(toolkit=write))


async def test_no_secret_is_in_its_instructions_or_its_answer() -> None:
    agent = Agent("helper", instructions="Say hunter2-hunter2.", policy=POLICY, toolkit=echo)
    binding: Any = agent.on(ScriptedModel(say("it is hunter2-hunter2")))
    async with build(bind(Secrets).value(Secrets("hunter2-hunter2")), programs=[binding]) as rt:
        surface = rt.surface(binding)
        outcome = await surface.invoke("helper", {"input": "hello"}, invocation(), NOBODY)
        (told,) = (await surface.prompt("helper", {})).unwrap()
    assert outcome == ToolSuccess("it is [REDACTED:secret]")
    assert told.content == TextContent("Say [REDACTED:secret].")
