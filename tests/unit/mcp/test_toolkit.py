"""Remote tools in an agent: what is planned, what is bound when the runtime opens, and what a model is told."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, Ask, PolicyApproval
from lamina.call import (
    Caller,
    Invocation,
    NoCaller,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.effect import ConstructionError, bind, plan, seed
from lamina.mcp import (
    ConnectionLimits,
    McpCall,
    McpConnections,
    McpToolChanged,
    connect,
    mcp_connections,
    qualified,
    remote_toolkit,
)
from lamina.model import ToolMessage, ToolResult
from lamina.redaction import Secrets
from lamina.runtime import Runtime, build, try_build
from lamina.schema import JsonValue
from lamina.testing import FakeMcp, ScriptedModel, call_tool, say
from tests.unit.mcp.world import pids, raw


def results(model: ScriptedModel) -> list[ToolResult]:
    return [result for each in model.requests[-1].messages if isinstance(each, ToolMessage) for result in each.results]


def agent(toolkit: Any) -> Agent[Any, str, str]:
    policy = AgentPolicy(max_turns=4, max_tool_calls=8, max_duration=60, tool_concurrency=4)
    return Agent("worker", instructions="Work.", toolkit=toolkit, policy=policy)


# --- planning ---------------------------------------------------------------------------------------------------------


def test_a_runtime_without_connections_is_refused_before_anything_starts() -> None:
    binding = agent(remote_toolkit("raw", {"add"})).on(ScriptedModel())
    with pytest.raises(ConstructionError) as raised:
        build(bind(Secrets).value(Secrets()), programs=[binding])

    report = str(raised.value)
    assert "MISSING McpConnections" in report
    assert "tool raw__add(connections)" in report


async def test_every_required_tool_that_is_missing_is_listed_and_no_model_is_asked() -> None:
    model = ScriptedModel(say("never"))
    binding = agent(remote_toolkit("raw", {"add", "ad", "nothing"}) | remote_toolkit("other", {"x"})).on(model)
    with pytest.raises(ConstructionError) as raised:
        async with try_build(mcp_connections(raw()), programs=[binding]):
            raise AssertionError("it opened")

    report = str(raised.value)
    assert 'remote tool ad of "raw"' in report
    assert "nearest: add" in report
    assert 'remote tool nothing of "raw"' in report
    assert 'MCP server "other"' in report
    assert "connected: raw" in report
    assert model.requests == ()


async def test_no_process_is_left_of_a_runtime_that_is_refused(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    binding = agent(remote_toolkit("raw", {"nothing"})).on(ScriptedModel())
    with pytest.raises(ConstructionError):
        async with try_build(mcp_connections(raw(notes=notes)), programs=[binding]):
            raise AssertionError("it opened")
    (pid,) = pids(notes)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_server_that_is_optional_and_down_is_missed_by_the_agent_that_needs_it() -> None:
    bad = raw("exit", name="bad", optional=True, limits=ConnectionLimits(reconnects=0))
    needs_it = agent(remote_toolkit("bad", {"add"})).on(ScriptedModel())
    with pytest.raises(ConstructionError, match="not connected: it exited with code 3"):
        async with try_build(mcp_connections(bad), programs=[needs_it]):
            raise AssertionError("it opened")
    async with try_build(mcp_connections(bad)) as built:
        assert isinstance(built.unwrap(), Runtime)


async def test_a_server_that_cannot_be_connected_to_is_the_layers_failure() -> None:
    async with try_build(mcp_connections(raw("exit"))) as built:
        assert str(built.failure()) == 'The MCP server "raw" could not be connected to: it exited with code 3.'


# --- running ----------------------------------------------------------------------------------------------------------


async def test_a_model_is_shown_what_the_server_advertises_and_told_what_it_gives() -> None:
    with ScriptedModel(call_tool("raw__add", n=1), say("done")) as model:
        binding = agent(remote_toolkit("raw", {"add"})).on(model)
        async with try_build(mcp_connections(raw()), programs=[binding]) as built:
            await built.unwrap().run(binding, "go")

    (spec,) = model.requests[0].tools
    assert (spec.name, spec.description) == ("raw__add", "The tool add.")
    assert spec.input_schema["required"] == ["n"]
    assert [result.content for result in results(model)] == [{"n": 2}]


async def test_arguments_and_values_are_held_to_the_schemas() -> None:
    calls = call_tool("raw__add", n="one") & call_tool("raw__lie") & call_tool("raw__fail")
    with ScriptedModel(calls, say("done")) as model:
        binding = agent(remote_toolkit("raw", {"add", "lie", "fail"})).on(model)
        async with try_build(mcp_connections(raw()), programs=[binding]) as built:
            await built.unwrap().run(binding, "go")

    invalid, lied, failed = results(model)
    assert invalid.content == {"_tag": "ToolInvalidInput", "problems": ["$.n: does not fit the schema's type"]}
    assert lied.content == {"_tag": "McpMisbehaved", "server": "raw", "tool": "lie"}
    assert failed.content == {
        "_tag": "McpToolFailed",
        "server": "raw",
        "tool": "fail",
        "content": [{"_tag": "TextContent", "text": "the disk is full", "type": "text"}],
        "structured": None,
    }
    assert [invalid.is_error, lied.is_error, failed.is_error] == [True, True, True]


async def test_a_call_that_is_cut_off_has_an_unknown_outcome_and_the_run_goes_on(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with ScriptedModel(call_tool("raw__die"), call_tool("raw__add", n=1), say("done")) as model:
        binding = agent(remote_toolkit("raw", {"die", "add"})).on(model)
        async with try_build(mcp_connections(raw(notes=notes)), programs=[binding]) as built:
            ended = await built.unwrap().run(binding, "go")

    unknown, added = results(model)
    assert ended.unwrap().output == "done"
    assert isinstance(unknown.content, dict)
    assert unknown.content["_tag"] == "ToolUnknownOutcome"
    assert "It may have taken effect, or not" in str(unknown.content["message"])
    assert added.content == {"n": 2}
    assert notes.read_text().count("call die") == 1


async def test_all_that_a_server_offers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "lamina")
    with ScriptedModel(say("done")) as model:
        binding = agent(remote_toolkit("raw")).on(model)
        async with try_build(mcp_connections(raw("badtools")), programs=[binding]) as built:
            await built.unwrap().run(binding, "go")

    names = {spec.name for spec in model.requests[0].tools}
    assert {"raw__add", "raw__hang"} <= names
    assert not {"raw__badschema", "raw__twice", "raw__*"} & names
    assert any("badschema" in str(record.__dict__) for record in caplog.records)  # nobody else says that it is left out


async def test_two_servers_with_tools_of_one_name_in_any_order() -> None:
    for order in (("one", "two"), ("two", "one")):
        kits = [remote_toolkit(name, {"add"}) for name in order]
        with ScriptedModel(call_tool("one__add", n=1) & call_tool("two__add", n=2), say("done")) as model:
            binding = agent(kits[0] | kits[1]).on(model)
            servers = mcp_connections(raw(name="one"), raw(name="two"))
            async with try_build(servers, programs=[binding]) as built:
                await built.unwrap().run(binding, "go")
        assert [result.content for result in results(model)] == [{"n": 2}, {"n": 3}]


async def test_approval_is_planned_and_asked_for() -> None:
    toolkit = remote_toolkit("raw", {"add"}, needs_approval=True, approval=Ask(summary="Add."))
    with ScriptedModel(call_tool("raw__add", n=1)) as model:
        binding = agent(toolkit).on(model)
        connections = mcp_connections(raw())
        assert any("Approval" in str(problem) for problem in plan(connections, [binding]).problems)
        layers = connections | bind(Approval).value(PolicyApproval())
        async with try_build(layers, programs=[binding]) as built:
            ended = await built.unwrap().run(binding, "go")

    assert str(ended.failure()) == "The call of raw__add was not approved."


async def test_what_servers_are_sent_is_hidden_from_everybody_else() -> None:
    secrets = Secrets()
    server = raw(secret_env={"TOKEN": "t0ken-t0ken"})
    with ScriptedModel(call_tool("raw__env"), say("done")) as model:
        binding = agent(remote_toolkit("raw", {"env"})).on(model)
        layers = mcp_connections(server) | bind(Secrets).value(secrets)
        async with try_build(layers, programs=[binding]) as built:
            await built.unwrap().run(binding, "go")

    assert "t0ken" not in str(results(model))
    assert "[REDACTED:secret]" in str(results(model))


async def test_tools_of_a_script_hold_their_connection() -> None:
    async with connect(raw()) as connected:
        toolkit = connected.unwrap().toolkit("raw", ["add"], prefix="")
        with ScriptedModel(call_tool("add", n=1), say("done")) as model:
            binding = agent(toolkit).on(model)
            async with build(bind(Secrets).value(Secrets()), programs=[binding]) as rt:
                await rt.run(binding, "go")

    assert [result.content for result in results(model)] == [{"n": 2}]


async def test_the_execution_class_is_the_servers_word_only_where_it_is_trusted() -> None:
    async with connect(raw("idempotent", trust_annotations=True), raw("idempotent", name="other")) as connected:
        connections = connected.unwrap()
        (trusted,) = connections.toolkit("raw", ["hang"])
        (other,) = connections.toolkit("other", ["hang"])

    assert (trusted.execution, other.execution) == ("idempotent", "uncertain")


async def test_a_toolkit_of_remote_tools_is_a_surface() -> None:
    toolkit = remote_toolkit("raw", {"add", "kinds", "die"})
    async with try_build(mcp_connections(raw())) as built:
        surface = built.unwrap().surface(toolkit)
        names = [capability.name for capability in surface.capabilities]
        gives = {capability.name: capability.gives for capability in surface.capabilities}
        added = await surface.invoke("raw__add", {"n": 1}, Invocation.new(), NoCaller())
        wrong = await surface.invoke("raw__add", {}, Invocation.new(), NoCaller())
        died = await surface.invoke("raw__die", {}, Invocation.new(), NoCaller())

    assert names == ["raw__add", "raw__die", "raw__kinds"]
    assert gives == {"raw__add": "value", "raw__die": "contents", "raw__kinds": "contents"}
    assert added == ToolSuccess({"n": 2})
    assert isinstance(wrong, ToolInvalidInput)
    assert died == ToolUnknownOutcome()


# --- with a fake ------------------------------------------------------------------------------------------------------


class Progress(NoCaller):
    def __init__(self) -> None:
        self.told: list[tuple[float, float | None, str]] = []

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.told.append((done, total, message))


async def test_progress_goes_to_the_calls_own_caller() -> None:
    fake, caller = FakeMcp("far"), Progress()

    @fake.tool("far", "walk")
    async def walk(call: McpCall) -> JsonValue:
        assert call.progress is not None
        await call.progress(1, 2, "half")
        return "there"

    toolkit = remote_toolkit("far", {"walk"}, caller=True)
    async with build(bind(McpConnections).value(fake), seeds=seed(Caller)) as opened:
        outcome = await opened.surface(toolkit).invoke("far__walk", {}, Invocation.new(), caller)

    assert outcome == ToolSuccess({"content": [{"_tag": "TextContent", "text": "there", "type": "text"}]})
    assert caller.told == [(1, 2, "half")]


async def test_a_value_that_breaks_the_schema_is_withheld() -> None:
    fake = FakeMcp("far")

    @fake.tool("far", "lie", output={"type": "object", "required": ["n"]})
    async def lie(call: McpCall) -> JsonValue:
        return {"secret": 1}

    async with build(bind(McpConnections).value(fake)) as rt:
        surface = rt.surface(remote_toolkit("far"))
        outcome = await surface.invoke("far__lie", {}, Invocation.new(), NoCaller())

    assert outcome == ToolDefect("output")


async def test_a_tool_that_is_taken_away_fails_its_call() -> None:
    fake = FakeMcp("far")

    @fake.tool("far", "walk")
    async def walk(call: McpCall) -> JsonValue:
        return "there"

    async with build(bind(McpConnections).value(fake)) as rt:
        surface = rt.surface(remote_toolkit("far", {"walk"}))
        fake.remove("far", "walk")
        outcome = await surface.invoke("far__walk", {}, Invocation.new(), NoCaller())

    assert isinstance(outcome, ToolFailure)
    assert outcome.error == McpToolChanged("far", "walk", "it is not there any more")


# --- names and mistakes -----------------------------------------------------------------------------------------------


def test_names_are_good_for_every_model_and_stay_apart() -> None:
    names = ["read", "read/file", "read.file", "x" * 100, "x" * 101, "ü", "a b"]
    made = [qualified("server", name) for name in names]

    assert len(set(made)) == len(names)
    assert all(len(name) <= 64 and name.isascii() and name.startswith("server__") for name in made)
    assert made == [qualified("server", name) for name in names]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: remote_toolkit("a__b"), "is no name of a server"),
        (lambda: remote_toolkit("a", "add"), "tools is a collection of names"),
        (lambda: remote_toolkit("a", {"x"}, approval=Ask()), "approval= is given without needs_approval"),
        (lambda: remote_toolkit("a", {"x"}, prefix="a b"), "prefix is made like the name of a server"),
        (lambda: remote_toolkit("a", {"x"}) | remote_toolkit("b", {"x"}, prefix="a"), "a__x"),
    ],
)
def test_mistakes_are_refused_where_they_are_made(make: Callable[[], object], why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        make()
