"""One application, three drivers at once: an agent, MCP on stdio, MCP over HTTP; and none is told anything untrue."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from tests.protocols.over_http import MODERN

APP = str(Path(__file__).with_name("todo_app.py"))
ROOT = Path(__file__).parents[2]
TAGS = {
    "create_todo": "RequestedCreateTodo",
    "rename_todo": "RequestedRenameTodo",
    "complete_todo": "RequestedCompleteTodo",
    "select_todo": "RequestedSelectTodo",
    "delete_selected_todo": "RequestedDeleteTodo",
    "clear_completed": "RequestedClearCompleted",
}


@attrs.frozen
class Told:
    """One call, and what came back of it; `request` is its id on the wire, where there is a wire."""

    request: str | None
    name: str
    arguments: dict[str, Any]
    refused: bool
    said: Any


class Tap:
    """Stands on a client's wire: makes its ids unlike the other's, and keeps what each call was told."""

    def __init__(self, who: str, transport: Any) -> None:
        self.who = who
        self.transport = transport
        self.told: list[Told] = []
        self._asked: dict[str, Any] = {}
        self._ids: dict[str, Any] = {}

    async def __aenter__(self) -> Any:
        self._whole = self._open()
        return await self._whole.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._whole.__aexit__(*error)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Any]:
        async with self.transport as (read, write), anyio.create_task_group() as group:
            to_client, from_server = anyio.create_memory_object_stream[Any](0)
            to_server, from_client = anyio.create_memory_object_stream[Any](0)
            group.start_soon(self._outward, from_client, write)
            group.start_soon(self._inward, read, to_client)
            async with to_client, from_server, to_server, from_client:
                yield from_server, to_server
            group.cancel_scope.cancel()

    async def _outward(self, source: Any, sink: Any) -> None:
        async for item in source:
            message = item.message
            if isinstance(message, JSONRPCRequest):
                named = f"{self.who}-{message.id}"
                self._ids[named] = message.id
                if message.method == "tools/call":
                    self._asked[named] = message.params
                message = message.model_copy(update={"id": named})
            await sink.send(SessionMessage(message, item.metadata))

    async def _inward(self, source: Any, sink: Any) -> None:
        async for item in source:
            message = getattr(item, "message", None)
            named = getattr(message, "id", None)
            if named in self._ids:
                params = self._asked.get(named)
                if params is not None:
                    result = message.result
                    said = result.get("structuredContent") or result["content"][0]["text"]
                    refused = bool(result.get("isError"))
                    self.told.append(Told(named, params["name"], params.get("arguments") or {}, refused, said))
                item = SessionMessage(message.model_copy(update={"id": self._ids[named]}), item.metadata)
            await sink.send(item)


async def work(client: Client) -> None:
    """Do what an agent at the other end might do, with its own todos and with whatever is selected."""

    async def create(title: str) -> str:
        made = await client.call_tool("create_todo", {"title": title})
        assert made.structured_content is not None
        return str(made.structured_content["completion"]["message"]["id"])

    first, second, third = await asyncio.gather(create("Buy milk"), create("Buy milk"), create("Water the plants"))
    await asyncio.gather(
        client.call_tool("rename_todo", {"id": first, "title": "  Buy rice milk "}),
        client.call_tool("complete_todo", {"id": second}),
        client.call_tool("delete_selected_todo", {}),
    )
    await asyncio.gather(client.call_tool("clear_completed", {}), client.call_tool("select_todo", {"id": third}))
    await client.call_tool("delete_selected_todo", {})
    await client.call_tool("delete_selected_todo", {})
    await create("The end")


async def port_of(errors: int) -> int:
    with os.fdopen(errors) as lines:
        return int((await anyio.to_thread.run_sync(lines.readline)).split()[1])


@pytest.mark.parametrize(("on_stdio", "over_http"), [("legacy", MODERN), (MODERN, "legacy")])
async def test_the_todo_application_from_three_sides(tmp_path: Path, on_stdio: str, over_http: str) -> None:
    report = tmp_path / "report.json"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    parameters = StdioServerParameters(command=sys.executable, args=[APP, str(report)], env=environment)
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as errors:
        async with asyncio.timeout(30):
            stdio = Tap("stdio", stdio_client(parameters, errlog=errors))
            async with Client(stdio, mode=on_stdio) as one:
                http = Tap("http", streamable_http_client(f"http://127.0.0.1:{await port_of(reading)}/mcp"))
                async with Client(http, mode=over_http) as other:
                    await asyncio.gather(work(one), work(other))
                    seen = [json.loads((await c.read_resource("app://context")).contents[0].text) for c in (one, other)]
    ended = json.loads(report.read_text())

    # The host's own log gives the state that it is in, and that both ends were shown.
    assert ended["replayed"] == ended["model"]
    assert seen == [{"todos": ended["model"]["todos"], "selected": ended["model"]["selected"]}] * 2
    assert ended["listeners"] == 0
    agent = [Told(None, a["name"], a["arguments"], a["refused"], a["content"]) for a in ended["agent"]]
    assert (len(agent), len(stdio.told), len(http.told)) == (9, 11, 11)

    # Each was told the truth: successes are in the log, each once, and refusals are not; nothing else is in it.
    log = ended["log"]
    everybody = [*agent, *stdio.told, *http.told]
    done = [told for told in everybody if not told.refused]
    for told in done:
        assert (told.said["capability"], told.said["tag"]) == (told.name, TAGS[told.name])
    for told in everybody:
        if told.refused:
            assert re.search(r"is not available (right )?now", json.dumps(told.said)), told
    requested = [message for message in log if message["_tag"] in TAGS.values()]
    assert Counter(message["_tag"] for message in requested) == Counter(TAGS[told.name] for told in done)
    for tag in ("RequestedRenameTodo", "RequestedCompleteTodo", "RequestedSelectTodo"):
        logged = [{k: v for k, v in message.items() if k != "_tag"} for message in log if message["_tag"] == tag]
        asked = [told.arguments for told in done if TAGS[told.name] == tag]
        assert sorted(map(json.dumps, logged)) == sorted(map(json.dumps, asked))

    # Every completion names the fact that came of its own call, though titles are the same and the order is not.
    invocations = {entry["request"]: entry["invocation"] for entry in ended["audit"]}
    facts = {message["request_id"]: message for message in log if message["_tag"] == "SubmittedTodo"}
    created = [told for told in done if told.name == "create_todo"]
    assert len(facts) == len(created) == 3 + 4 + 4
    for told in created:
        fact = told.said["completion"]["message"]
        assert fact == facts.pop(fact["request_id"])
        asked_for = {"_tag": "RequestedCreateTodo", "request_id": fact["request_id"], **told.arguments}
        assert log.count(asked_for) == 1
        assert fact["title"] == told.arguments["title"]
        if told.request is not None:
            assert fact["request_id"] == invocations[told.request]
    made = [message["request_id"] for message in log if message["_tag"] == "SubmittedTodo"]
    began = [message["request_id"] for message in log if message["_tag"] == "RequestedCreateTodo"]
    assert made[:9] == began[8::-1]

    # What was decided of each call on the wire is what its caller was told.
    decided = {entry["request"]: entry["decision"] for entry in ended["audit"]}
    assert decided == {told.request: "refused" if told.refused else "dispatched" for told in (*stdio.told, *http.told)}
