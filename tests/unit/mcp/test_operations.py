"""Calls go through the wrapper of every capability, and tell nothing of what is in them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lamina.mcp import McpCall, McpConnections, connect
from lamina.schema import JsonValue
from lamina.testing import FakeMcp, check_operations
from tests.unit.mcp.world import raw

CANARY = "canary-5c1d"
CALL = McpCall(server="raw", tool="fail", arguments={"text": CANARY})


@asynccontextmanager
async def real() -> AsyncIterator[McpConnections]:
    async with connect(raw()) as connected:
        yield connected.unwrap()


@asynccontextmanager
async def fake() -> AsyncIterator[McpConnections]:
    made = FakeMcp("raw")

    @made.tool("raw", "fail")
    async def fail(call: McpCall) -> JsonValue:
        return CANARY

    yield made


async def test_of_real_servers() -> None:
    report = await check_operations(McpConnections, real, {"call": lambda it: it.call(CALL)}, canary=CANARY)

    assert report.checked == ("mcp.call",)


async def test_of_a_fake() -> None:
    report = await check_operations(McpConnections, fake, {"call": lambda it: it.call(CALL)}, canary=CANARY)

    assert report.checked == ("mcp.call",)
