"""A bound contract, and an agent, over the wire: behaviour §3's rows, whatever the surface is made of."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from lamina.adapters.mcp import McpLimits, McpServer
from lamina.agent import Agent, AgentPolicy
from lamina.contract import Contract, completes, pick
from lamina.effect import empty_layer
from lamina.runtime import build
from lamina.testing import ScriptedModel, call_tool, say
from tests.unit.adapters.mcp.world import LEGACY, MODERN, SECRET, talking, until
from tests.unit.contract.scene import Clear, Delete, Deleted, FailedDelete, Host, Message, Model, Rename
from tests.unit.engine.world import echo

ERAS = pytest.mark.parametrize("era", [LEGACY, MODERN])
base = Contract.of(Model, messages=Message, context=pick("name"), name="todo", version="1.2.3")


def answering(host: Host) -> Any:
    def on_dispatch(message: Any) -> None:
        if isinstance(message, Delete):
            host.happen(FailedDelete(message.id, "locked") if message.id == "lost" else Deleted(message.id))
        elif isinstance(message, Rename):
            if message.name == "boom":
                raise ValueError(SECRET)
            host.become(Model(selected="x", name=message.name))

    return on_dispatch


def bound() -> tuple[Host, Any]:
    host = Host()
    host.on_dispatch = answering(host)
    contract = (
        base.variant(Delete, "Delete", completion=completes(Deleted, failure=FailedDelete))
        .variant(Rename, "Rename", available=lambda m: m.name != "closed")
        .variant(Clear, "Clear", authorize=lambda attempt: False)
        .resource("name", "The name", str, lambda m: m.name)
        .resource("context", "My own", str, lambda m: f"mine: {m.name}")
    )
    return host, contract.bind(host)


@ERAS
async def test_78_85_each_row_of_a_call(era: str) -> None:
    host, surface = bound()
    async with talking(McpServer(surface), era) as client:

        async def call(name: str, /, **arguments: Any) -> Any:
            return await client.call_tool(name, arguments)

        done = await call("delete", id="1")
        assert (done.content[0].text, done.is_error) == ("Completed: Deleted", False)
        assert done.structured_content["capability"] == "delete"
        assert done.structured_content["tag"] == "Delete"
        assert done.structured_content["completion"]["status"] == "completed"
        lost = await call("delete", id="lost")
        assert (lost.content[0].text, lost.is_error) == ("Failed: FailedDelete", True)
        ended = {"status": "failed", "message": {"_tag": "FailedDelete", "id": "lost", "why": "locked"}}
        assert lost.structured_content == {"capability": "delete", "tag": "Delete", "completion": ended}
        sent = await call("rename", name="new")
        assert sent.content[0].text == "Dispatched Rename"
        assert "completion" not in sent.structured_content
        broken = await call("rename", name="boom")
        assert (broken.content[0].text, broken.is_error) == ('Capability "rename" failed unexpectedly', True)
        refused = await call("clear")
        assert (refused.content[0].text, refused.is_error) == ('Not authorized to invoke "clear"', True)
        host.become(Model(name="closed"))
        closed = await call("rename", name="x")
        assert closed.content[0].text == 'Capability "rename" is not available right now'
        for name, arguments, message in (
            ("nothing", {}, "No such capability: nothing"),
            ("delete", {"id": 5}, 'Invalid input for "delete"'),
        ):
            with pytest.raises(MCPError) as wrong:
                await call(name, **arguments)
            assert (wrong.value.code, wrong.value.message) == (-32602, message)


@ERAS
async def test_80_a_resource_that_is_called_context_stands_for_the_projection_once(era: str) -> None:
    _, surface = bound()
    async with talking(McpServer(surface), era) as client:
        listed = [each.uri for each in (await client.list_resources()).resources]
        assert listed.count("app://context") == 1
        assert (await client.read_resource("app://context")).contents[0].text == '"mine: "'


async def test_82_a_session_hears_of_a_model_that_changes_what_is_offered() -> None:
    host, surface = bound()
    heard: list[str] = []

    async def message(event: Any) -> None:
        heard.append(event.method)

    limits = McpLimits(debounce=0.001)
    async with talking(McpServer(surface, limits=limits), LEGACY, message_handler=message) as client:
        await client.list_tools()
        await until(lambda: host.listeners == 1)
        host.become(Model(name="still open"))
        host.become(Model(name="closed"))
        await until(lambda: heard == ["notifications/tools/list_changed"])
        assert "rename" not in [each.name for each in (await client.list_tools()).tools]
    assert host.listeners == 0


@ERAS
async def test_an_agent_is_one_tool_whose_run_is_told(era: str) -> None:
    policy = AgentPolicy(max_turns=4, max_tool_calls=4, max_duration=60, tool_concurrency=2)
    agent = Agent("helper", instructions="Help people.", policy=policy, toolkit=echo)
    binding = agent.on(ScriptedModel(call_tool("echo", text="a"), say("done")))
    heard: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with build(empty_layer()) as rt, talking(McpServer(rt.surface(binding)), era) as client:
        (listed,) = (await client.list_tools()).tools
        assert (listed.name, listed.annotations.read_only_hint) == ("helper", True)
        answer = await client.call_tool("helper", {"input": "hello"}, progress_callback=progress)
        assert (answer.content[0].text, answer.structured_content) == ("done", {"result": "done"})
        await until(lambda: len(heard) == 4)
        assert (await client.get_prompt("helper")).messages[0].content.text == "Help people."
    assert heard == ["turn 1", "calls echo", "echo is done", "turn 2"]
