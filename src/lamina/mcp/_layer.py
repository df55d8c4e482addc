"""The connections as a layer of a runtime, and for a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Never

import anyio
from returns.result import Failure, Result, Success

from lamina.effect import (
    Clock,
    ConstructionError,
    Environment,
    Layer,
    Problem,
    SystemClock,
    attempt,
    caller_where,
    log,
    plan,
)
from lamina.mcp._connection import Connection
from lamina.mcp._errors import McpCallError, McpConnectError, McpConnectionLost
from lamina.mcp._servers import MOST_SERVERS, ServerSpec
from lamina.mcp.port import McpCall, McpConnections, RemoteResult, RemoteServer
from lamina.redaction import SecretRefused, Secrets


class OwnedConnections(McpConnections):
    """Connections of this process's own, each in its task; made by `mcp_connections`."""

    def __init__(self, connections: tuple[Connection, ...]) -> None:
        self._connections = {each.server.name: each for each in connections}

    @property
    def names(self) -> tuple[str, ...]:
        """The servers' names here."""
        return tuple(self._connections)

    def server(self, name: str) -> RemoteServer | None:
        """Give what is known of a server now."""
        found = self._connections.get(name)
        return None if found is None else found.state()

    async def call(self, call: McpCall) -> Result[RemoteResult, McpCallError]:
        """Call a tool."""
        found = self._connections.get(call.server)
        if found is None:
            return Failure(McpConnectionLost(call.server, "there is no server of that name"))
        return await found.call(call)

    def register_secrets(self, secrets: Secrets) -> None:
        """Tell what the servers are sent and nobody else is to see."""
        for connection in self._connections.values():
            for value in connection.server.secrets:
                try:
                    secrets.register(value)
                except SecretRefused as refused:
                    log().warning(
                        "a secret of an MCP server is not hidden", server=connection.server.name, why=str(refused)
                    )


def mcp_connections(*servers: ServerSpec, clock: Clock | None = None) -> Layer[Never, McpConnections, McpConnectError]:
    """Offer connections to MCP servers, made side by side when the runtime opens, and closed with it.

    A server that cannot be connected to is the layer's declared failure, unless it is `optional`. Open such an app with
    `try_build`, try again with `.retry(...)`, or handle it with `.catch(...)`.

    Args:
        servers: What to connect to, each under a name of its own.
        clock: Whose seconds lie between the tries to connect again; None is the machine's own.

    Raises:
        ConstructionError: There is no server, or two have one name.

    Example:
        >>> from lamina.mcp import stdio_server
        >>> mcp_connections(stdio_server("time", "mcp-server-time"))
        Layer(offers McpConnections; needs nothing more)
    """
    names = [server.name for server in servers]
    lines = [f'two servers are named "{name}"' for name in dict.fromkeys(names) if names.count(name) > 1]
    if not 0 < len(servers) <= MOST_SERVERS:
        lines.append(f"it takes 1 to {MOST_SERVERS} servers")
    if lines:
        raise ConstructionError([Problem("MCP", "mcp_connections", (*lines, str(caller_where())))])

    async def connections() -> AsyncIterator[Result[McpConnections, McpConnectError]]:
        told, tried = anyio.create_memory_object_stream[Connection](len(servers))
        async with told, tried, anyio.create_task_group() as group:
            made = tuple(Connection(server, clock or SystemClock(), told.send_nowait) for server in servers)
            for each in made:
                group.start_soon(each.run, name=f"lamina mcp {each.server.name}")
            try:
                failure: McpConnectError | None = None
                for _ in made:
                    each = await tried.receive()
                    failure = None if each.server.optional else each.failure
                    if failure is not None:
                        break  # the others need not be waited for
                yield Success(OwnedConnections(made)) if failure is None else Failure(failure)
            finally:
                for each in made:
                    each.stop()

    return attempt(connections)


class Connecting:
    """What `async with connect(...)` enters; it may be entered in one task and left in another."""

    __slots__ = ("_environment",)

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def __aenter__(self) -> Result[McpConnections, McpConnectError]:
        """Connect to every server."""
        opened = await self._environment.open()
        if isinstance(opened, Failure):
            error = opened.failure()
            assert isinstance(error, McpConnectError)
            return Failure(error)
        found = self._environment.exported(McpConnections)
        assert isinstance(found, McpConnections)
        return Success(found)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close every connection, also through repeated cancellations."""
        await self._environment.close()


def connect(*servers: ServerSpec, clock: Clock | None = None, close_timeout: float = 15.0) -> Connecting:
    """Connect to MCP servers in a script, outside a runtime.

    Args:
        servers: What to connect to.
        clock: As for `mcp_connections`.
        close_timeout: Seconds that closing may take.

    Returns:
        An async context manager of a `Result`: the connections, or why a server that is not optional has none.

    Raises:
        ConstructionError: There is no server, or two have one name.

    Example:
        >>> import anyio
        >>> from lamina.mcp import stdio_server
        >>> async def main() -> None:
        ...     async with connect(stdio_server("none", "a-program-that-is-not-there")) as connected:
        ...         print(connected)
        >>> anyio.run(main)
        <Failure: The MCP server "none" could not be connected to: there is no such program.>
    """
    return Connecting(Environment(plan(mcp_connections(*servers, clock=clock)), close_timeout=close_timeout))
