"""The MCP server: a surface behind the SDK's low-level server, on stdio and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel import Server

from lamina.adapters.mcp._asking import Asking
from lamina.adapters.mcp._finish import finish
from lamina.adapters.mcp._lines import Ending, Lines, stdio_lines
from lamina.adapters.mcp._options import McpHttp, McpLimits, SurfaceFactory
from lamina.adapters.mcp._sdk import sdk_server
from lamina.adapters.mcp._view import Views
from lamina.call import CallerFeature, Surface

if TYPE_CHECKING:
    from lamina.adapters.mcp._http import McpApp

_ALL: frozenset[CallerFeature] = frozenset(("progress", "log", "elicit", "sample", "roots"))


class McpServer:
    """Serves a surface over the Model Context Protocol, in both of its eras.

    When to use: `serve_mcp` is enough for a program of its own; use this for the ASGI application, inside another
    server, or for streams of your own.

    A client of 2024-11-05 to 2025-11-25 begins with a handshake and has a session; one of 2026-07-28 sends requests
    that stand alone. Both see the same tools, resources and prompts. A capability that asks its caller asks with
    requests of the server in the older era; in the newer one its call is answered with what is asked, waits in this
    process, and goes on when the client comes back with the answer.

    Args:
        source: The surface, or a function that gives the surface of one caller.
        limits: How far it goes.
        name: What the server is called; the surface's name, or `lamina` where each caller has its own.
        version: Its version; the surface's.
        json_response: Over HTTP, answer with plain JSON; see `McpHttp`.

    Raises:
        ConstructionError: The surface's capabilities ask their caller for more than can be asked here.
    """

    def __init__(
        self,
        source: Surface | SurfaceFactory,
        *,
        limits: McpLimits | None = None,
        name: str | None = None,
        version: str | None = None,
        json_response: bool = False,
    ) -> None:
        self.limits = limits or McpLimits()
        self.json_response = json_response
        self._users = 0
        # With plain JSON there is no stream that anything could be told on, or asked.
        offered: frozenset[CallerFeature] = frozenset() if json_response else _ALL
        self._views = Views(source, self.limits, offered)
        asking = Asking(self.limits, offered)
        self._held = asking.held
        self._server = sdk_server(self._views, self.limits, asking, name, version)

    @property
    def sdk(self) -> Server[Any]:
        """The SDK's server, for what nothing here is for: extensions, icons, instructions."""
        return self._server

    @property
    def waiting(self) -> int:
        """How many calls of the newer era have a body in this process."""
        return len(self._held)

    async def stdio(self, ending: Ending | None = None) -> None:
        """Serve the process that started this one, until its input ends.

        Standard output carries the protocol only: while this runs, whatever else is printed goes to standard error.

        Args:
            ending: How it ends before its input does, and what has time then.
        """
        async with stdio_lines(self.limits.line, ending) as lines:
            await self.serve(lines)

    async def serve(self, lines: Lines) -> None:
        """Serve one client over lines of JSON, until its input ends.

        Args:
            lines: Where they come from, and where they go.
        """
        async with self.running(), lines.streams() as (read, write):
            await self._server.run(read, write, self._server.create_initialization_options())

    def app(self, settings: McpHttp | None = None) -> McpApp:
        """Give the ASGI application; see `McpApp`.

        Args:
            settings: Who may reach it, and at which path; its host and port belong to whoever listens.
        """
        from lamina.adapters.mcp._http import McpApp

        return McpApp(self, settings or McpHttp())

    async def http(self, settings: McpHttp | None = None) -> None:
        """Listen, and serve until it is cancelled.

        Args:
            settings: Where and how.
        """
        from lamina.adapters.mcp._http import listen

        settings = settings or McpHttp()
        await listen(self.app(settings), settings)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """End what waits when the last one leaves this: bodies of calls, and streams of changes."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._users == 0:
                self._views.close()
                await finish(self._held.close(), 6)


async def serve_mcp(
    source: Surface | SurfaceFactory,
    *,
    stdio: bool = True,
    http: McpHttp | None = None,
    limits: McpLimits | None = None,
    name: str | None = None,
    version: str | None = None,
) -> None:
    """Serve a surface over MCP: on stdio, over HTTP, or both at once.

    Args:
        source: The surface, or a function that gives the surface of one caller.
        stdio: Serve the process that started this one. Its end ends everything.
        http: Listen there, too.
        limits: How far it goes.
        name: What the server is called.
        version: Its version.

    Raises:
        ConstructionError: The surface's capabilities ask their caller for more than can be asked here.
        OSError: The port is taken, or the address is not this machine's.
    """
    listening = None
    if http is not None:
        listening = McpServer(source, limits=limits, name=name, version=version, json_response=http.json_response)
    if not stdio:
        if listening is not None:
            await listening.http(http)
        return
    talking = McpServer(source, limits=limits, name=name, version=version)
    try:
        async with anyio.create_task_group() as group:
            if listening is not None:
                group.start_soon(listening.http, http)
            await talking.stdio()
            group.cancel_scope.cancel()
    except ExceptionGroup as errors:
        if len(errors.exceptions) == 1 and isinstance(errors.exceptions[0], OSError):
            raise errors.exceptions[0] from None  # the port, as `McpServer.http` says it
        raise
