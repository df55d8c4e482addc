"""Calls over HTTP of a server, and gateways before it, that do what they should not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lamina.call import TextContent
from lamina.mcp import (
    McpCall,
    McpCallError,
    McpConnectFailed,
    McpConnectionLost,
    McpMisbehaved,
    McpOutcomeUnknown,
    McpRefused,
    McpTooLarge,
    connect,
    http_server,
)
from tests.unit.mcp.world import QUICK, noted, program

GATEWAY = "it, or a gateway before it, answered with an error of HTTP"
REDIRECT = (
    "Redirect to http://example.invalid/mcp not followed; use that URL as the endpoint if it is the intended server"
)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[int, Path]]:
    notes = tmp_path / "notes"
    notes.touch()
    async with program("web.py", notes=notes) as port:
        yield port, notes


@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ("big", McpTooLarge("web", "big", "The answer", 4_194_304)),
        ("big_event", McpTooLarge("web", "big_event", "The answer", 4_194_304)),
        ("broken", McpOutcomeUnknown("web", "broken", GATEWAY)),
        ("refuse", McpRefused("web", "refuse", 403, "HTTP 403")),
        ("cut", McpOutcomeUnknown("web", "cut", "its connection was closed")),
        ("gzip", McpMisbehaved("web", "gzip")),
        ("not_json", McpMisbehaved("web", "not_json")),
        ("page", McpMisbehaved("web", "page")),
        ("accepted", McpMisbehaved("web", "accepted")),
        ("moved", McpRefused("web", "moved", -32600, REDIRECT)),
        ("reset", McpConnectionLost("web", "it does not know the session any more")),
    ],
)
async def test_what_goes_wrong(served: tuple[int, Path], tool: str, error: McpCallError) -> None:
    async with connect(http_server("web", f"http://127.0.0.1:{served[0]}/mcp", limits=QUICK)) as connected:
        connections = connected.unwrap()
        result = await connections.call(McpCall(server="web", tool=tool))
        after = await connections.call(McpCall(server="web", tool="ok"))

    assert result.failure() == error
    assert after.unwrap().contents.content == (TextContent("done"),)
    assert "call broken\ncall broken" not in served[1].read_text()


async def test_a_call_that_is_late_is_cancelled_at_the_server(served: tuple[int, Path]) -> None:
    async with connect(http_server("web", f"http://127.0.0.1:{served[0]}/mcp", limits=QUICK)) as connected:
        result = await connected.unwrap().call(McpCall(server="web", tool="hang", timeout=0.2))
        await noted(served[1], "notifications/cancelled")

    assert isinstance(result.failure(), McpOutcomeUnknown)


async def test_the_session_is_ended(served: tuple[int, Path]) -> None:
    async with connect(http_server("web", f"http://127.0.0.1:{served[0]}/mcp", limits=QUICK)):
        pass

    assert served[1].read_text().splitlines() == ["initialize session-1", "notifications/initialized", "delete"]


async def test_headers_are_sent_and_not_shown(served: tuple[int, Path]) -> None:
    url = f"http://127.0.0.1:{served[0]}/mcp"
    server = http_server("web", url, headers={"X-Team": "blue"}, bearer="t0ken-t0ken", limits=QUICK)
    async with connect(server) as connected:
        result = await connected.unwrap().call(McpCall(server="web", tool="headers"))

    (text,) = result.unwrap().contents.content
    assert isinstance(text, TextContent)
    sent = json.loads(text.text)
    assert (sent["x-team"], sent["authorization"], sent["accept-encoding"]) == (
        "blue",
        "Bearer t0ken-t0ken",
        "identity",
    )
    assert "t0ken" not in repr(server)
    assert server.secrets == ("Bearer t0ken-t0ken", "t0ken-t0ken")


async def test_a_server_that_wants_to_know_who_calls() -> None:
    async with program("web.py", "locked") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        async with connect(http_server("web", url, limits=QUICK)) as refused:
            assert refused.failure() == McpConnectFailed("web", "it answered with HTTP 401")
        async with connect(http_server("web", url, bearer="t0ken-t0ken", limits=QUICK)) as connected:
            assert connected.unwrap().names == ("web",)


async def test_a_server_that_goes_away_is_lost() -> None:
    async with program("web.py") as port:
        connecting = connect(http_server("web", f"http://127.0.0.1:{port}/mcp", limits=QUICK))
        connections = (await connecting.__aenter__()).unwrap()
    try:
        result = await connections.call(McpCall(server="web", tool="ok", timeout=0.5))
    finally:
        await connecting.__aexit__(None, None, None)

    assert isinstance(result.failure(), McpConnectionLost | McpOutcomeUnknown)
