"""MCP servers without a process, a port or the protocol: their tools are functions of the test's."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from returns.result import Failure, Result, Success

from lamina.call import Contents, ExecutionClass, TextContent
from lamina.mcp import (
    McpCall,
    McpCallError,
    McpConnectionLost,
    McpConnections,
    McpToolChanged,
    RemoteResult,
    RemoteServer,
    RemoteTool,
    ServerIdentity,
)
from lamina.schema import JsonValue, canonical_json

RemoteFunction: TypeAlias = Callable[[McpCall], Awaitable[JsonValue | Contents | McpCallError]]
_ANYTHING: Mapping[str, JsonValue] = {"type": "object"}


class FakeMcp(McpConnections):
    """Connections whose servers are made up: `bind(McpConnections).value(FakeMcp(...))`.

    When to use: for an agent with remote tools, where the server is not what the test is about.

    Args:
        servers: The servers' names.

    Attributes:
        calls: Every call, in order.

    Example:
        >>> import anyio
        >>> fake = FakeMcp("github")
        >>> @fake.tool("github", "count_issues", output={"type": "object"})
        ... async def count_issues(call):
        ...     return {"open": 3}
        >>> anyio.run(fake.call, McpCall(server="github", tool="count_issues")).unwrap().structured
        {'open': 3}
    """

    def __init__(self, *servers: str) -> None:
        self.calls: list[McpCall] = []
        self._tools: dict[str, dict[str, tuple[RemoteTool, RemoteFunction]]] = {name: {} for name in servers}

    def tool(
        self,
        server: str,
        name: str,
        *,
        schema: Mapping[str, JsonValue] = _ANYTHING,
        output: Mapping[str, JsonValue] | None = None,
        description: str = "",
        execution: ExecutionClass = "uncertain",
    ) -> Callable[[RemoteFunction], RemoteFunction]:
        """Add a tool, or put another one in its place.

        Its function answers a value, which is told as structured where there is `output`, and as text otherwise;
        `Contents`; or one of the failures of `lamina.mcp`.

        Args:
            server: Whose it is.
            name: Its name there.
            schema: JSON Schema of its arguments.
            output: JSON Schema of its value.
            description: What the model reads.
            execution: What calling it twice does.
        """

        def add(function: RemoteFunction) -> RemoteFunction:
            schemas: JsonValue = [name, dict(schema), None if output is None else dict(output)]
            digest = hashlib.sha256(canonical_json(schemas)).hexdigest()
            made = RemoteTool(
                server=server,
                name=name,
                description=description,
                title="",
                input_schema=schema,
                output_schema=output,
                execution=execution,
                digest=digest,
            )
            self._tools[server][name] = made, function
            return function

        return add

    def remove(self, server: str, name: str) -> None:
        """Take a tool away, as a server may at any time."""
        del self._tools[server][name]

    @property
    def names(self) -> tuple[str, ...]:
        """The servers' names."""
        return tuple(self._tools)

    def server(self, name: str) -> RemoteServer | None:
        """Give what is known of a server."""
        tools = self._tools.get(name)
        if tools is None:
            return None
        identity = ServerIdentity(name=name, version="fake", protocol="none")
        return RemoteServer(name=name, state="up", identity=identity, tools=tuple(tool for tool, _ in tools.values()))

    async def call(self, call: McpCall) -> Result[RemoteResult, McpCallError]:
        """Call a tool."""
        self.calls.append(call)
        tools = self._tools.get(call.server)
        if tools is None:
            return Failure(McpConnectionLost(call.server, "there is no server of that name"))
        tool, function = tools.get(call.tool, (None, None))
        if tool is None or function is None:
            return Failure(McpToolChanged(call.server, call.tool, "it is not there any more"))
        if call.digest is not None and call.digest != tool.digest:
            return Failure(McpToolChanged(call.server, call.tool, "its schema is another one"))
        answer = await function(call)
        if isinstance(answer, Contents):
            return Success(RemoteResult(contents=answer))
        if not isinstance(answer, str | int | float | list | dict | None):
            return Failure(answer)
        text = answer if isinstance(answer, str) else canonical_json(answer).decode()
        contents = Contents((TextContent(text),))
        return Success(RemoteResult(contents=contents, structured=None if tool.output_schema is None else answer))
