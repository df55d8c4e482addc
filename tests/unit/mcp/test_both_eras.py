"""The same calls over stdio and HTTP, before and since 2026-07-28, against a server of the SDK's."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from lamina.call import Elicited, TextContent
from lamina.mcp import (
    Elicitation,
    McpCall,
    McpConnections,
    McpOutcomeUnknown,
    ServerSpec,
    connect,
    http_server,
    stdio_server,
)
from tests.unit.mcp.world import QUICK, SERVERS, noted, program

ERAS = [
    pytest.param("legacy", "2025-11-25", id="2025"),
    pytest.param("auto", "2026-07-28", id="2026"),
    pytest.param("2026-07-28", "2026-07-28", id="2026-said"),
]


async def who(question: Elicitation) -> Elicited:
    return Elicited("accept", {"name": "Ada"})


@asynccontextmanager
async def serving(transport: str, protocol: str, notes: Path) -> AsyncIterator[ServerSpec]:
    if transport == "stdio":
        script = str(SERVERS / "both.py")
        yield stdio_server(
            "both",
            sys.executable,
            script,
            "stdio",
            env={"NOTES": str(notes)},
            protocol=protocol,
            elicit=who,
            limits=QUICK,
        )
        return
    async with program("both.py", "http", notes=notes) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        yield http_server("both", url, protocol=protocol, elicit=who, limits=QUICK)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("protocol", "version"), ERAS)
async def test_values_progress_questions_and_cancels(
    transport: str, protocol: str, version: str, tmp_path: Path
) -> None:
    told: list[float] = []
    notes = tmp_path / "notes"
    notes.touch()

    async def tell(done: float, total: float | None, message: str) -> None:
        told.append(done)

    async with serving(transport, protocol, notes) as server, connect(server) as connected:
        connections: McpConnections = connected.unwrap()
        known = connections.server("both")
        added = await connections.call(McpCall(server="both", tool="add", arguments={"n": 1}))
        asked = await connections.call(McpCall(server="both", tool="who"))
        await connections.call(McpCall(server="both", tool="steps", progress=tell))
        late = await connections.call(McpCall(server="both", tool="hang", timeout=0.2))
        await noted(notes, "hang cancelled")
        async with anyio.create_task_group() as group:
            group.start_soon(connections.call, McpCall(server="both", tool="hang"))
            await noted(notes, "call hang", 2)
            group.cancel_scope.cancel()
        await noted(notes, "hang cancelled", 2)

    assert known is not None
    assert known.identity is not None
    assert (known.identity.name, known.identity.protocol) == ("both", version)
    assert added.unwrap().structured == {"n": 2}
    (text,) = asked.unwrap().contents.content
    assert isinstance(text, TextContent)
    assert json.loads(text.text) == {"action": "accept", "content": {"name": "Ada"}}
    assert told[-1] == 3
    assert isinstance(late.failure(), McpOutcomeUnknown)
