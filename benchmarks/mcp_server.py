"""One tool behind each server that `mcp.py` measures: `python mcp_server.py sdk|lamina|fastmcp stdio|http`."""

from __future__ import annotations

import sys
from typing import Any, Never

import anyio
import attrs
from pydantic import BaseModel

from lamina.effect import Try

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
SUM = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


@attrs.frozen
class Add:
    a: int
    b: int


@attrs.frozen
class Sum:
    total: int


class Total(BaseModel):
    total: int


def listening(port: int) -> None:
    """Tell the benchmark where."""
    sys.stderr.write(f"port {port}\n")
    sys.stderr.flush()


async def serve_app(app: Any) -> None:
    """Listen as `lamina`'s own server does."""
    import uvicorn

    config = uvicorn.Config(app, port=0, lifespan="on", ws="none", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    started = server.startup

    async def startup(sockets: Any = None) -> None:
        await started(sockets)
        listening(server.servers[0].sockets[0].getsockname()[1])

    server.startup = startup  # type: ignore[method-assign]
    await server.serve()


async def sdk(transport: str) -> None:
    """The SDK's low-level server, which the adapter stands on: it looks at no argument."""
    import mcp_types as wire
    import orjson
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(ctx: Any, params: Any) -> wire.ListToolsResult:
        return wire.ListToolsResult(
            tools=[wire.Tool(name="add", description="Add.", input_schema=SCHEMA, output_schema=SUM)]
        )

    async def call_tool(ctx: Any, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        arguments = params.arguments or {}
        value = {"total": arguments["a"] + arguments["b"]}
        text = wire.TextContent(text=orjson.dumps(value).decode())
        return wire.CallToolResult(content=[text], structured_content=value)

    server: Server[Any] = Server("sdk", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if transport == "stdio":
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    else:
        await serve_app(server.streamable_http_app())


async def lamina(transport: str) -> None:
    """A toolkit in a runtime, behind the adapter: arguments are checked, and so is the result."""
    from lamina.adapters.mcp import McpHttp, serve_mcp
    from lamina.effect import empty_layer
    from lamina.runtime import build
    from lamina.tools import tool

    @tool(name="add", execution="readonly")
    async def add(call: Add, ok: Try[Never]) -> Sum:
        """Add."""
        return Sum(call.a + call.b)

    async with build(empty_layer()) as rt:
        surface = rt.surface(add, name="lamina")
        if transport == "stdio":
            await serve_mcp(surface)
        else:
            await serve_mcp(surface, stdio=False, http=McpHttp(port=0, started=listening))


async def fastmcp(transport: str) -> None:
    """The framework that most servers are written with."""
    from fastmcp import FastMCP

    server: Any = FastMCP("fastmcp")

    @server.tool
    async def add(a: int, b: int) -> Total:
        """Add."""
        return Total(total=a + b)

    if transport == "stdio":
        await server.run_async(transport="stdio", show_banner=False)
    else:
        await serve_app(server.http_app())


if __name__ == "__main__":
    anyio.run({"sdk": sdk, "lamina": lamina, "fastmcp": fastmcp}[sys.argv[1]], sys.argv[2])
