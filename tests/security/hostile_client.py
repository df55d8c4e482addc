"""Lists and calls the tools of the server whose schemas mean harm, as a script and as an agent; it prints what came."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

from returns.result import Failure

from lamina.call import Invocation, NoCaller
from lamina.mcp import McpCall, McpConnections, connect, mcp_connections, remote_toolkit, stdio_server
from lamina.runtime import try_build

SERVER = stdio_server("far", sys.executable, str(Path(__file__).parent / "hostile_server.py"), protocol="legacy")
SECONDS = 25
"""Of CPU; then the system ends the program."""
TEXT = "a" * 40 + "!"


async def by_script(connections: McpConnections) -> dict[str, Any]:
    known = connections.server("far")
    assert known is not None
    results: dict[str, Any] = {}
    for name in ("value", "promised", "unsaid"):
        given = await connections.call(McpCall(server="far", tool=name, arguments={}))
        failed = isinstance(given, Failure)
        results[name] = type(given.failure()).__name__ if failed else given.unwrap().structured
    return {
        "tools": [tool.name for tool in known.tools],
        "refused": known.refused,
        "unapplied": {tool.name: list(tool.unapplied) for tool in known.tools if tool.unapplied},
        "called by a script": results,
    }


async def by_agent() -> dict[str, Any]:
    results: dict[str, Any] = {}
    async with try_build(mcp_connections(SERVER)) as built:
        surface = built.unwrap().surface(remote_toolkit("far", {"arguments", "value", "unsaid"}))
        for name in ("far__arguments", "far__value", "far__unsaid"):
            arguments = {} if name == "far__value" else {"a": TEXT}
            outcome = await surface.invoke(name, arguments, Invocation.new(), NoCaller())
            kind = type(outcome).__name__
            if kind == "ToolSuccess":
                results[name] = outcome.value
            elif kind == "ToolInvalidInput":
                results[name] = f"{kind} {'; '.join(outcome.problems)}"
            else:
                results[name] = type(outcome.error).__name__
    return {"called by an agent": results}


async def main() -> None:
    async with connect(SERVER) as connected:
        script = await by_script(connected.unwrap())
    print(json.dumps({**script, **await by_agent()}))


resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))  # the server's process has the same
asyncio.run(main())
