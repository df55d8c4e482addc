"""Our client and our server, over real pipes and ports, in both eras."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Never

import anyio
import attrs
import pytest

from lamina.adapters.mcp import McpHttp, McpServer
from lamina.call import Caller, Elicited, TextContent
from lamina.effect import Try, bind, empty_layer, seed
from lamina.mcp import (
    Elicitation,
    McpCall,
    McpCallError,
    McpToolChanged,
    McpToolFailed,
    RemoteResult,
    connect,
    http_server,
    stdio_server,
)
from lamina.runtime import Changes, build
from lamina.tools import tool
from tests.protocols.over_http import listening

APP = Path(__file__).with_name("stdio_app.py")
ERAS = pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])


class Door:
    def __init__(self) -> None:
        self.open = True


@attrs.frozen
class Nothing:
    """Nothing."""


def is_open(door: Door) -> bool:
    return door.open


@tool(available=is_open)
async def enter(call: Nothing, ok: Try[Never], door: Door) -> int:
    """Go in."""
    return 1


@tool(execution="readonly")
async def look(call: Nothing, ok: Try[Never], caller: Caller) -> int:
    """Look around."""
    for step in range(1, 4):
        await caller.progress(step, 3, "looking")
    return 42


@ERAS
async def test_a_tool_that_goes_is_refused_once_the_server_has_said_so(protocol: str) -> None:
    door, changes = Door(), Changes()
    async with build(bind(Door).value(door), seeds=seed(Caller)) as opened:
        server = McpServer(opened.surface(enter | look, name="house", version="3", changes=changes))
        async with listening(server, McpHttp()) as http:
            url = f"{http.base_url}/mcp".replace("//mcp", "/mcp")
            async with connect(http_server("house", url, protocol=protocol)) as connected:
                connections = connected.unwrap()
                known = connections.server("house")
                assert known is not None
                assert known.identity is not None
                assert (known.identity.name, known.identity.version) == ("house", "3")
                bound = known.tool("enter")
                assert bound is not None
                before = await connections.call(McpCall(server="house", tool="enter", digest=bound.digest))
                door.open = False
                async with asyncio.timeout(10):
                    while connections.server("house").tool("enter") is not None:  # type: ignore[union-attr]
                        changes.announce()  # the stream of a new client may not be there yet
                        await anyio.sleep(0.01)
                after = await connections.call(McpCall(server="house", tool="enter", digest=bound.digest))

    assert before.unwrap().structured == {"result": 1} or before.unwrap().contents.content == (TextContent("1"),)
    assert after.failure() == McpToolChanged("house", "enter", "it is not there any more")


@ERAS
async def test_progress_comes_through(protocol: str) -> None:
    told: list[tuple[float, float | None, str]] = []

    async def tell(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    async with build(empty_layer(), seeds=seed(Caller)) as opened:
        server = McpServer(opened.surface(look, name="house"))
        async with listening(server, McpHttp()) as http:
            url = f"{http.base_url}/mcp".replace("//mcp", "/mcp")
            async with connect(http_server("house", url, protocol=protocol)) as connected:
                result = await connected.unwrap().call(McpCall(server="house", tool="look", progress=tell))

    assert result.unwrap().contents.content
    assert told[-1] == (3, 3, "looking")


@ERAS
async def test_a_program_is_called_questioned_and_cancelled(protocol: str) -> None:
    async def answer(question: Elicitation) -> Elicited:
        return Elicited("accept", {"first": "Ada"})

    python = stdio_server(
        "app",
        sys.executable,
        str(APP),
        protocol=protocol,
        elicit=answer,
        inherit=("PATH", "HOME", "PYTHONPATH"),
    )
    async with connect(python) as connected:
        connections = connected.unwrap()

        async def call(name: str, **arguments: str) -> RemoteResult | McpCallError:
            result = await connections.call(McpCall(server="app", tool=name, arguments=arguments))
            return result.value_or(None) or result.failure()

        echoed = await call("echo", text="hello")
        noisy = await call("noisy")
        asked = await call("ask")
        broken = await call("boom")
        with anyio.move_on_after(0.2) as scope:
            await call("forever")
        again = await call("echo", text="again")

    assert isinstance(echoed, RemoteResult)
    assert "hello" in str(echoed)
    assert "noise" not in str(noisy)
    assert "Ada" in str(asked)
    assert isinstance(broken, McpToolFailed)
    assert "canary" not in str(broken)
    assert scope.cancelled_caught
    assert "again" in str(again)
