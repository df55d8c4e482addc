"""A connection: the one task that owns its session, and what others may ask of it (findings 6, rows 12 and 13).

Laws that hold here:

1. The SDK's client, its streams and the process are entered, used and left in the owner's task and its children; who
   calls only leaves a message, and waits for an event.
2. A call goes out once. Only one that was not sent, or of which a trusted server says that it may be repeated, goes out
   a second time, and no third.
3. However a connection fails, tries in a row are counted, spaced and bounded in time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

import anyio
from returns.result import Failure, Result, Success

from lamina.effect import Clock, log
from lamina.mcp._discovery import Catalogue, discover
from lamina.mcp._errors import (
    McpCallError,
    McpConnectError,
    McpConnectFailed,
    McpConnectionLost,
    McpOutcomeUnknown,
    McpRefused,
    McpTimedOut,
    McpTooLarge,
    McpToolChanged,
)
from lamina.mcp._hooks import callbacks_of
from lamina.mcp._link import Answer, Cut, Link, Serving
from lamina.mcp._results import identity_of, is_too_large, size_of
from lamina.mcp._servers import HttpServer, ServerSpec, StdioServer
from lamina.mcp._transport import Transport
from lamina.mcp.port import McpCall, RemoteResult, RemoteServer, RemoteTool, ServerIdentity

if TYPE_CHECKING:
    from mcp import Client

NEVER = float("inf")
_UNFORESEEN = "what it answers is not the protocol"
_NO_SUCH_TOOL = -32_602
_LONGEST_REASON = 256


class Connection:
    """One server, connected to, and connected to again.

    Args:
        server: What to connect to.
        clock: Whose seconds lie between tries.
        tried: Called once, when the first try has come to its end.

    Attributes:
        failure: Why the first try failed; None where it did not.
    """

    def __init__(self, server: ServerSpec, clock: Clock, tried: Callable[[Connection], None]) -> None:
        self.server = server
        self.failure: McpConnectError | None = None
        self._clock = clock
        self._tried: Callable[[Connection], None] | None = tried
        self._link: Link | None = None
        self._identity: ServerIdentity | None = None
        self._why = "it has not been connected to yet"
        self._stop = anyio.Event()
        self._connecting: anyio.CancelScope | None = None
        self._moved = anyio.Event()  # set, and replaced, when the session comes, goes, or is given up
        self._waiting = False  # whether no try is under way, and the next call may ask for one
        self._wanted = anyio.Event()
        self._given_up_at = -NEVER
        self._questions = 0  # since the latest call went out

    # --- the owner's side ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Own the connection until it is stopped; this is its task."""
        tries, began = 0, self._clock.monotonic()
        while not self._stop.is_set():
            up_at = await self._session()
            self._tell()
            if self.failure is not None and not self.server.optional:
                return
            if self._stop.is_set():
                return
            limits, now = self.server.limits, self._clock.monotonic()
            if up_at is not None and now - up_at > limits.reconnect_seconds:
                tries, began = 0, now
            if up_at is not None:
                log().warning("the connection to an MCP server is lost", server=self.server.name, why=self._why)
                if tries == 0:
                    began = now
            wait = min(limits.backoff * 2**tries, 3_600)
            if tries >= limits.reconnects or now + wait - began > limits.reconnect_seconds:
                await self._rest()
                tries, began = 0, self._clock.monotonic()
                continue
            tries += 1
            await self._sleep(wait)

    def stop(self) -> None:
        """Let the owner close the session and end."""
        self._stop.set()
        if self._connecting is not None:
            self._connecting.cancel()
        self._move()

    async def _rest(self) -> None:
        """Give up until somebody calls, and no sooner than the time for tries has passed once more."""
        log().error("an MCP server is given up for now", server=self.server.name, why=self._why)
        self._given_up_at = self._clock.monotonic()
        self._wanted = anyio.Event()
        self._waiting = True
        self._move()
        await self._until(self._wanted.wait)
        self._waiting = False

    async def _sleep(self, seconds: float) -> None:
        await self._until(lambda: self._clock.sleep(seconds))

    async def _until(self, work: Callable[[], Awaitable[object]]) -> None:
        """Wait for something, or for the stop."""
        async with anyio.create_task_group() as group:

            async def stopped() -> None:
                await self._stop.wait()
                group.cancel_scope.cancel()

            group.start_soon(stopped)
            await work()
            group.cancel_scope.cancel()

    async def _session(self) -> float | None:
        """Connect, serve until the session is lost or the connection stopped, and clean up.

        Returns:
            When it was up, if it was.
        """
        transport = self._transport()
        up_at: float | None = None
        failed: McpConnectError | None = None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self.server.limits.connect) as scope:
                self._connecting = scope
                async with self._client(transport) as client:
                    scope.deadline = NEVER
                    _leave_values_to_us(client)
                    read = await self._discovered(client)
                    self._connecting = None
                    if isinstance(read, Failure):
                        failed = read.failure()
                    else:
                        self._identity = identity_of(client)
                        up_at = self._clock.monotonic()
                        async with anyio.create_task_group() as group:
                            self._up(Link(client, group, transport, self.server, read.unwrap()))
                            try:
                                await self._until_over(transport)
                            finally:
                                self._down(transport.why)
                                group.cancel_scope.cancel()
            if scope.cancelled_caught:
                failed = McpConnectFailed(
                    self.server.name, f"it did not answer within {self.server.limits.connect:g} s"
                )
        except Exception as error:  # SDK and transport raise what they like
            why = self._reason(transport, error)
            # What the SDK and the transport raise, alone or in a group: its text is the log's.
            unforeseen = why == _UNFORESEEN
            log().warning("an MCP session ended", server=self.server.name, why=why, exc_info=unforeseen)
            failed = McpConnectFailed(self.server.name, why)
        self._connecting = None
        if up_at is None:
            self._why = "it has no tools that can be used" if failed is None else failed.why
        elif failed is not None and not transport.lost.is_set():
            self._why = failed.why
        if self._tried is not None and up_at is None:
            self.failure = failed
        self._move()
        return up_at

    async def _discovered(self, client: Client) -> Result[Catalogue, McpConnectError]:
        wanted = self.server.protocol
        if wanted not in ("auto", "legacy", client.protocol_version):
            return Failure(McpConnectFailed(self.server.name, f"it does not speak {wanted}"))
        return await discover(client, self.server)

    def _up(self, link: Link) -> None:
        self._link = link
        self._why = ""
        self._tell()
        self._move()
        link.follow()

    def _tell(self) -> None:
        if self._tried is not None:
            tried, self._tried = self._tried, None
            tried(self)

    def _down(self, why: str) -> None:
        if self._link is not None:
            self._link.up = False
            self._link = None
        self._why = "it is closed" if self._stop.is_set() else why
        self._move()

    async def _until_over(self, transport: Transport) -> None:
        await self._until(transport.lost.wait)

    def _reason(self, transport: Transport, error: BaseException) -> str:
        """Say in a few words, and without the text of an exception, why there is no session."""
        if transport.lost.is_set():
            return transport.why
        return _reason_of(_innermost(error), transport)

    def _transport(self) -> Transport:
        server = self.server
        if isinstance(server, StdioServer):
            from lamina.mcp._process import ProcessTransport

            return ProcessTransport(server)
        assert isinstance(server, HttpServer)
        from lamina.mcp._http import HttpTransport

        return HttpTransport(server)

    def _client(self, transport: Transport) -> Client:
        from mcp import Client
        from mcp_types import Implementation, ServerNotification, ToolListChangedNotification

        async def heard(message: ServerNotification | Exception) -> None:
            if isinstance(message, ToolListChangedNotification) and self._link is not None:
                self._link.changed()

        return Client(
            transport.open(),
            mode="legacy" if self.server.protocol == "legacy" else "auto",  # one that is pinned would tell no identity
            client_info=Implementation(name="lamina", version=version("lamina")),
            message_handler=heard,
            cache=None,
            **callbacks_of(self.server, self._asking),
        )

    def _asking(self) -> tuple[McpCall | None, tuple[McpCall, ...]] | None:
        self._questions += 1
        if self._questions > self.server.limits.questions:
            if self._questions == self.server.limits.questions + 1:
                log().warning("an MCP server asks without end", server=self.server.name)
            return None
        return (None, ()) if self._link is None else self._link.asking()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    # --- the callers' side --------------------------------------------------------------------------------------------

    def state(self) -> RemoteServer:
        """Say what is known of the server now."""
        link, name = self._link, self.server.name
        if link is None:
            return RemoteServer(
                name=name, state="down" if self._waiting else "lost", why=self._why, identity=self._identity
            )
        return RemoteServer(
            name=name,
            state="up",
            identity=self._identity,
            tools=tuple(link.catalogue.tools.values()),
            refused=link.catalogue.refused,
        )

    async def call(self, call: McpCall) -> Result[RemoteResult, McpCallError]:
        """Call a tool; see `McpConnections.call`."""
        limits, name = self.server.limits, self.server.name
        if size_of(call.arguments) > limits.message_bytes:
            return Failure(McpTooLarge(name, call.tool, "The input", limits.message_bytes))
        seconds = limits.call if call.timeout is None else max(0.0, min(call.timeout, limits.call))
        deadline = anyio.current_time() + seconds
        answer = await self._once(call, deadline, seconds)
        if isinstance(answer, Cut):  # it had no effect, or may be repeated
            answer = await self._once(call, deadline, seconds)
        if isinstance(answer, Cut):
            return Failure(McpConnectionLost(name, answer.why))
        return Success(answer) if isinstance(answer, RemoteResult) else Failure(answer)

    async def _once(self, call: McpCall, deadline: float, seconds: float) -> Answer:
        """Send a call; a `Cut` that is given back may be sent again."""
        name = self.server.name
        link = await self._linked(deadline)
        if isinstance(link, McpConnectionLost):
            return link
        with anyio.CancelScope(deadline=deadline):
            await link.current()
        tool = link.catalogue.tools.get(call.tool)
        if tool is None or (call.digest is not None and tool.digest != call.digest):
            return self._changed(call, tool, link)
        if link.lost:
            return Cut(self._why, sent=False)
        serving = Serving(call)
        self._questions = 0
        link.start(serving)
        with anyio.CancelScope(deadline=deadline) as scope:
            try:
                await serving.done.wait()
            finally:
                serving.scope.cancel()  # it is over, or whoever waited has left: the server is told
        answer, safe = serving.answer, tool.execution != "uncertain" or not serving.sent
        if answer is None or (scope.cancelled_caught and isinstance(answer, Cut)):
            late = McpTimedOut(name, call.tool, seconds)
            return late if safe else McpOutcomeUnknown(name, call.tool, f"there was no answer within {seconds:g} s")
        if isinstance(answer, McpTimedOut) and not safe:
            return McpOutcomeUnknown(name, call.tool, "the server did not answer in time")
        if isinstance(answer, Cut) and answer.sent and not safe:
            return McpOutcomeUnknown(name, call.tool, answer.why)
        return answer

    def _changed(self, call: McpCall, tool: RemoteTool | None, link: Link) -> McpToolChanged | McpRefused:
        """Say why a tool is not the one that is meant."""
        name, refused = self.server.name, link.catalogue.refused.get(call.tool)
        if refused is not None:
            return McpToolChanged(name, call.tool, f"it cannot be used, for {refused}")
        if tool is not None:
            return McpToolChanged(name, call.tool, "its schema is another one")
        if call.digest is not None:
            return McpToolChanged(name, call.tool, "it is not there any more")
        return McpRefused(name, call.tool, _NO_SUCH_TOOL, "There is no tool of that name.")

    async def _linked(self, deadline: float) -> Link | McpConnectionLost:
        """Wait for a session, as long as one is being tried for; ask for a try where that was given up long ago."""
        with anyio.CancelScope(deadline=deadline):
            while not self._stop.is_set():
                if self._link is not None and not self._link.lost:
                    return self._link
                if self._waiting:
                    rested = self._clock.monotonic() - self._given_up_at
                    if rested < self.server.limits.reconnect_seconds and not self._wanted.is_set():
                        break
                    self._wanted.set()
                await self._moved.wait()
        return McpConnectionLost(self.server.name, self._why or "it is being connected to")


def _leave_values_to_us(client: Client) -> None:
    """Keep the SDK from applying a server's own schema to its values, which may take for ever; `Link` does it."""

    async def nothing(name: str, result: object) -> None:
        pass

    setattr(client.session, "validate_tool_result", nothing)  # noqa: B010 - to the checkers it is a method


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _reason_of(error: BaseException, transport: Transport) -> str:
    import httpx2
    from mcp import MCPError
    from mcp.client.auth import OAuthFlowError
    from mcp_types import INTERNAL_ERROR, UNSUPPORTED_PROTOCOL_VERSION

    match error:
        case FileNotFoundError():
            return "there is no such program"
        case OSError():
            return "its program cannot be run"
        case httpx2.TimeoutException():
            return "its address does not answer in time"
        case httpx2.TransportError():
            return "its address cannot be reached"
        case OAuthFlowError():
            return "it could not be authorized"
        case MCPError(code=code) if code == UNSUPPORTED_PROTOCOL_VERSION:
            return "it speaks no version of the protocol that is known here"
        case MCPError(code=code) if code == INTERNAL_ERROR and (status := transport.refused):
            return f"it answered with HTTP {status}"
        case MCPError() if is_too_large(error):
            return "its answer is too large"
        case MCPError():
            return f"it refused the handshake: {error.message[:_LONGEST_REASON]}"
        case _:
            return _UNFORESEEN
