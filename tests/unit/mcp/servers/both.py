"""A well-behaved server of the SDK's, in both eras: `both.py stdio`, or `both.py http`, which prints its port.

`NOTES` names a file for what happened in it.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ANY: dict[str, Any] = {"type": "object", "properties": {}}


def note(text: str) -> None:
    if path := os.environ.get("NOTES"):
        with open(path, "a", encoding="utf-8") as notes:
            notes.write(text + "\n")


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    names = ["hang", "steps", "who", "model"]
    made = [types.Tool(name=name, description=f"The tool {name}.", input_schema=ANY) for name in names]
    made.append(types.Tool(name="add", input_schema=NUMBER, output_schema=NUMBER))
    return types.ListToolsResult(tools=made)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    note(f"call {params.name}")
    match params.name:
        case "add":
            made = {"n": arguments["n"] + 1}
            return types.CallToolResult(content=[types.TextContent(text=str(made))], structured_content=made)
        case "hang":
            try:
                await anyio.sleep_forever()
            finally:
                note("hang cancelled")
        case "steps":
            for done in (1, 2, 3):
                await ctx.session.report_progress(done, 3, "step")
            return types.CallToolResult(content=[types.TextContent(text="finished")])
        case "who":
            form = {"type": "object", "properties": {"name": {"type": "string"}}}
            question = types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who?", requested_schema=form))
            if ctx.protocol_version == "2026-07-28":
                if params.input_responses is None:
                    return types.InputRequiredResult(input_requests={"who": question}, request_state="s")
                answer = params.input_responses["who"]
            elif "related" in arguments:  # over HTTP it comes on the stream of the call
                answer = await ctx.session.elicit_form("Who?", form, ctx.request_id)
            else:
                answer = await ctx.session.send_request(question, types.ElicitResult)
            return types.CallToolResult(content=[types.TextContent(text=answer.model_dump_json(exclude_none=True))])
        case "model":
            said = [types.SamplingMessage(role="user", content=types.TextContent(text="Hello"))]
            wanted = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=said, max_tokens=5))
            if ctx.protocol_version == "2026-07-28":
                if params.input_responses is None:
                    return types.InputRequiredResult(input_requests={"model": wanted}, request_state="s")
                given = params.input_responses["model"]
            else:
                given = await ctx.session.send_request(wanted, types.CreateMessageResult)
            return types.CallToolResult(content=[given.content])
    raise AssertionError(params.name)


server: Server[Any] = Server("both", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def over_http() -> None:
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)).run(sockets=[listener])


note(f"start {os.getpid()}")
if sys.argv[1] == "stdio":
    anyio.run(over_stdio)
else:
    over_http()
