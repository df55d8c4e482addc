"""One session with a server, from its handshake to its loss; it lives in the task of the connection that owns it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
import attrs
from anyio.abc import TaskGroup
from returns.result import Failure

from lamina.call import TextContent
from lamina.effect import log
from lamina.mcp._discovery import Catalogue, discover
from lamina.mcp._errors import (
    LONGEST_TEXT,
    McpCallError,
    McpMisbehaved,
    McpRefused,
    McpTimedOut,
    McpTooLarge,
    McpToolFailed,
)
from lamina.mcp._results import is_too_large, result_of
from lamina.mcp._servers import ServerSpec
from lamina.mcp._transport import Transport
from lamina.mcp.port import McpCall, RemoteResult, TellProgress

if TYPE_CHECKING:
    from mcp import Client, MCPError


@attrs.frozen(eq=False)
class Cut:
    """A call that got no answer.

    Attributes:
        why: What cut it off.
        sent: Whether it may have reached the server.
    """

    why: str
    sent: bool


Answer: TypeAlias = RemoteResult | McpCallError | Cut


class Serving:
    """One call on its way: what the caller waits for, and what the owner's task fills in.

    Attributes:
        scope: Cancelled by the caller who leaves; the server is then told.
        done: Set when there is an answer.
        answer: What came of it.
        sent: Whether it may have reached the server.
    """

    __slots__ = ("answer", "call", "done", "scope", "sent")

    def __init__(self, call: McpCall) -> None:
        self.call = call
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.answer: Answer | None = None
        self.sent = False


ASKED_BY: Final[ContextVar[Serving | None]] = ContextVar("lamina_mcp_asked_by", default=None)
"""The call in whose context something happens."""


class Link:
    """A session that is up.

    Args:
        client: The SDK's client; it has been entered.
        group: The tasks of the calls; they end with the session.
        transport: What it stands on.
        server: What was connected to.
        catalogue: What it offers.
    """

    def __init__(
        self, client: Client, group: TaskGroup, transport: Transport, server: ServerSpec, catalogue: Catalogue
    ) -> None:
        self.catalogue = catalogue
        self.up = True
        self._client = client
        self._group = group
        self._transport = transport
        self._server = server
        self._under_way: dict[Serving, None] = {}  # in the order in which they went out
        self._permits = anyio.Semaphore(server.limits.concurrent_calls)
        self._fresh = anyio.Event()
        self._fresh.set()
        self._again = False

    @property
    def lost(self) -> bool:
        """Whether nothing can be sent over it any more."""
        return not self.up or self._transport.lost.is_set()

    def lose(self, why: str) -> None:
        """Give the session up."""
        self._transport.lose(why)

    # --- what it offers -----------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Read the list again; one reading at a time, however often the server says that it has changed."""
        if not self.up:
            return
        if self._fresh.is_set():
            self._fresh = anyio.Event()
            self._group.start_soon(self._refresh)
        else:
            self._again = True

    async def current(self) -> None:
        """Wait until what is known is what the server has said last."""
        await self._fresh.wait()

    async def _refresh(self) -> None:
        from mcp import MCPError

        fresh = self._fresh
        try:
            self._again = False
            read = await discover(self._client, self._server, self.catalogue)
        except MCPError as error:
            self.lose(error.message[:LONGEST_TEXT])
            return
        finally:
            fresh.set()
        if isinstance(read, Failure):
            self.lose(f"its list of tools cannot be used: {read.failure().why}")
            return
        self.catalogue = read.unwrap()
        if self._again:
            self.changed()

    def follow(self) -> None:
        """Follow what changes, where the protocol has a stream for it; older servers say it by themselves."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = self._client.server_capabilities.tools
        if tools is not None and tools.list_changed and self._client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._group.start_soon(self._listen)

    async def _listen(self) -> None:
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost

        try:
            async with self._client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.changed()
        except (MCPError, SubscriptionLost, TimeoutError):
            # Nobody says any more when something changes: a call of what has changed is refused by the server.
            log().debug("an MCP server's changes are not followed", server=self._server.name, exc_info=True)

    def asking(self) -> tuple[McpCall | None, tuple[McpCall, ...]]:
        """Tell for which call the server asks something now, as far as that is known, and which calls are under way.

        The SDK hands a request of the server's on in the context in which its message was read: of the call itself
        where the question is part of its answer, or came on its stream of HTTP.
        """
        serving = ASKED_BY.get()
        call = serving.call if serving is not None and serving in self._under_way else None
        return call, tuple(each.call for each in self._under_way)

    # --- calls --------------------------------------------------------------------------------------------------------

    def start(self, serving: Serving) -> None:
        """Begin a call, in a task of the connection's."""
        self._group.start_soon(self._serve, serving)

    async def _serve(self, serving: Serving) -> None:
        try:
            with serving.scope:
                async with self._permits:
                    serving.sent = True
                    self._under_way[serving] = None
                    ASKED_BY.set(serving)  # in this task's context: what it starts, and what answers it, has it too
                    serving.answer = await self._ask(serving)
        finally:
            self._under_way.pop(serving, None)
            if serving.answer is None:  # the session ended under it, or its caller has left
                serving.answer = Cut(self._transport.why, serving.sent)
            serving.done.set()

    async def _ask(self, serving: Serving) -> Answer:
        from mcp import MCPError
        from pydantic import ValidationError

        call, name, broken = serving.call, self._server.name, self._transport.broken
        tool = self.catalogue.tools.get(call.tool)
        progress = None if call.progress is None else _Progress(call.progress)
        try:
            result = await self._client.call_tool(call.tool, dict(call.arguments), progress_callback=progress)
        except MCPError as error:
            return self._refusal(call, error, broken)
        except (ValidationError, RuntimeError) as error:
            # No result of the protocol, or too many questions: the SDK quotes it, and what is withheld is withheld
            # from the log as well.
            return self._misbehaved(call, type(error).__name__)
        answer = result_of(name, call.tool, result, self._server.limits.result_bytes)
        promised = None if tool is None or tool.schemas is None else tool.schemas.output
        if promised is None or not isinstance(answer, RemoteResult):
            return answer
        if answer.structured is None and "structured_content" not in result.model_fields_set:
            return self._misbehaved(call, "no structured value")
        problems = promised.problems(answer.structured)
        return self._misbehaved(call, *problems) if problems else answer

    def _misbehaved(self, call: McpCall, *why: str) -> McpMisbehaved:
        name = self._server.name
        log().warning("an MCP server's answer is not what it declares", server=name, tool=call.tool, why=why)
        return McpMisbehaved(name, call.tool)

    def _refusal(self, call: McpCall, error: MCPError, broken: int) -> Answer:
        """Tell what an error of the protocol is; some stand for what happened to the transport."""
        import mcp_types as wire

        name, limits, transport = self._server.name, self._server.limits, self._transport
        if is_too_large(error):
            return McpTooLarge(name, call.tool, "The answer", limits.message_bytes)
        if error.code == wire.CONNECTION_CLOSED:
            return Cut(transport.why, sent=True)
        if error.code == wire.REQUEST_TIMEOUT:
            return McpTimedOut(name, call.tool, limits.call)
        if error.code == wire.PARSE_ERROR:
            return McpMisbehaved(name, call.tool)
        if error.code == wire.INVALID_REQUEST and error.message == _SESSION_ENDED:
            self.lose("it does not know the session any more")
            return Cut(transport.why, sent=False)
        if error.code == wire.INTERNAL_ERROR and error.message == _ERROR_STATUS:
            if transport.broken != broken:
                return Cut("it, or a gateway before it, answered with an error of HTTP", sent=True)
            status = transport.refused
            return McpRefused(name, call.tool, status, f"HTTP {status}")
        if error.code == wire.INVALID_REQUEST and error.message.startswith(_NO_ANSWER):
            return McpMisbehaved(name, call.tool)  # the server took the call, and what it did nobody is told
        said = error.message[:LONGEST_TEXT]
        if error.code == wire.INTERNAL_ERROR or error.code not in _OF_THE_PROTOCOL:
            # It broke under the call, or the tool has an error of its own: neither says that nothing was done.
            return McpToolFailed(name, call.tool, (TextContent(said),))
        return McpRefused(name, call.tool, error.code, said)


_OF_THE_PROTOCOL = range(-32_768, -31_999)
"""The errors that JSON-RPC keeps for itself; all others are an application's own."""


# How the SDK spells what its transport makes of an answer; seen in mcp 2.3, and held by the tests.
_SESSION_ENDED = "Session terminated"
_ERROR_STATUS = "Server returned an error response"
_NO_ANSWER = ("Unexpected content type: ", "server answered a request with 202 Accepted")


class _Progress:
    """Tells a caller how far a call is; what comes while it is still being told the last is told as one."""

    __slots__ = ("_busy", "_latest", "_tell")

    def __init__(self, tell: TellProgress) -> None:
        self._tell = tell
        self._busy = False
        self._latest: tuple[float, float | None, str] | None = None

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self._latest = progress, total, (message or "")[:LONGEST_TEXT]
        if self._busy:
            return
        self._busy = True
        try:
            while self._latest is not None:
                told, self._latest = self._latest, None
                await self._tell(*told)
        finally:
            self._busy = False
