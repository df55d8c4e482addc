"""Streamable HTTP: who may reach the server, before anything of the protocol is looked at."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from lamina.adapters.mcp._arrival import Arriving, patient
from lamina.adapters.mcp._calls import POLL_AFTER
from lamina.adapters.mcp._finish import finish
from lamina.adapters.mcp._options import Identity, McpHttp
from lamina.adapters.mcp._replay import Sessions
from lamina.adapters.mcp._view import IDENTITY
from lamina.effect import is_cancelled, log

if TYPE_CHECKING:
    from lamina.adapters.mcp._server import McpServer

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_LONGEST_TOKEN = 65_536
_UNVERIFIED = "The token cannot be verified now"


class McpApp:
    """The ASGI application of an MCP server.

    When to use: `McpServer(surface).app()`, under any ASGI server, or mounted in another application. Its lifespan has
    to run: an application that mounts it enters `async with app.running():` in its own.

    What is checked, in this order: the path, `Host` (421), `Origin` (403), the bearer token (401); everything else is
    the protocol's. A session is its caller's: to another one its id is a 404.

    Args:
        server: The server.
        settings: Who may reach it.
    """

    def __init__(self, server: McpServer, settings: McpHttp) -> None:
        self._server = server
        self._settings = settings
        self._hosts = frozenset((*_LOCAL, *(host.lower() for host in settings.hosts)))
        self._origins = frozenset(origin.lower() for origin in settings.origins)
        self._manager = self._new_manager()
        self._running = False

    @property
    def arrival(self) -> float:
        """Seconds in which a request has to arrive whole."""
        return self._server.limits.arrival

    def _new_manager(self) -> Sessions:
        limits = self._server.limits
        return Sessions(
            replay=self._settings.replay,
            app=self._server.sdk,
            json_response=self._server.json_response,
            max_request_body_size=limits.body,
            session_idle_timeout=limits.idle,
            retry_interval=None if self._settings.poll_after is None else 500,
            max_sessions=limits.sessions,
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serve while this is entered; sessions, streams and waiting calls end when it is left."""
        if self._running:
            raise RuntimeError("the application runs already")
        self._running = True
        self._manager = self._new_manager()  # one runs only once
        try:
            async with self._server.running(), self._manager.run():
                yield
        finally:
            self._running = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI says."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = await self._admit(scope)
        if refusal is None:
            await Arriving(scope, receive, send, self.arrival).served_by(self._manager.handle_request)
        else:
            await refusal(scope, receive, send)

    async def _admit(self, scope: Scope) -> Response | None:
        """Say who calls, in the scope; or why nobody of that kind may."""
        headers = Headers(scope=scope)
        path = str(scope["path"]).removeprefix(str(scope.get("root_path", "")))  # where it is mounted
        if path.rstrip("/") != self._settings.path.rstrip("/"):
            return Response("Not Found", 404)
        if not self._knows_host(headers.get("host", "")):
            return Response("Invalid Host header", 421)
        origin = headers.get("origin")
        if origin is not None and not self._knows_origin(origin):
            return Response("Invalid Origin header", 403)
        scope.pop("user", None)  # whatever stands around this has not verified it for us
        scope.pop(IDENTITY, None)
        scope[POLL_AFTER] = self._settings.poll_after
        verify = self._settings.verify
        if verify is None:
            return None
        kind, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token or len(token) > _LONGEST_TOKEN:
            return _unauthorized("")
        try:
            identity = await verify(token)
            if identity is None:
                return _unauthorized(', error="invalid_token"')
            scope["user"] = AuthenticatedUser(_token_of(identity))
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            log().warning("verifying a token was cancelled by something of its own; the request is refused")
            return Response(_UNVERIFIED, 503)
        except Exception:
            log().exception("verifying a token broke; the request is refused")
            return Response(_UNVERIFIED, 503)
        scope[IDENTITY] = identity
        return None

    def _knows_host(self, host: str) -> bool:
        host = host.lower()
        return host in self._hosts or _without_port(host) in self._hosts

    def _knows_origin(self, origin: str) -> bool:
        origin = origin.lower()
        if origin in self._origins:
            return True
        scheme, found, authority = origin.partition("://")
        return bool(found) and scheme in ("http", "https") and _without_port(authority) in _LOCAL

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        message: Message = await receive()
        assert message["type"] == "lifespan.startup"
        try:
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception:
            log().exception("the MCP application broke")
            await send({"type": "lifespan.shutdown.failed", "message": ""})
            return
        await send({"type": "lifespan.shutdown.complete"})


async def listen(app: McpApp, settings: McpHttp) -> None:
    """Listen and serve until this is cancelled; what is under way has a few seconds to end.

    Raises:
        OSError: The port is taken, or the address is not this machine's.
    """
    bound = bound_to(settings.host, settings.port)
    config = uvicorn.Config(
        app,
        http=patient(app.arrival),
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    server = _Listening(config, settings, bound)
    serving = asyncio.create_task(server.serve([bound]), name="lamina mcp http")
    try:
        await asyncio.wait({serving})
    finally:
        server.should_exit = True
        try:
            await finish(_ended(serving), 12)
        finally:
            bound.close()
    await serving


def bound_to(host: str, port: int) -> socket.socket:
    """Take a port.

    Raises:
        OSError: It is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family)
    # Named TCP in so many words: only then does asyncio send each answer's parts at once, and not 40 ms apart.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


async def _ended(serving: asyncio.Task[None]) -> None:
    await asyncio.wait({serving}, timeout=10)
    serving.cancel()  # which does nothing to one that has ended
    await asyncio.wait({serving}, timeout=1)


class _Listening(uvicorn.Server):
    """A server that says on which port it listens, and leaves the process's signals alone."""

    def __init__(self, config: uvicorn.Config, settings: McpHttp, bound: socket.socket) -> None:
        super().__init__(config)
        self._settings = settings
        self._port: int = bound.getsockname()[1]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._settings.started is not None and self.started:
            self._settings.started(self._port)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave them to the application, which cancels this."""
        yield


def _without_port(host: str) -> str:
    """Give the name or address alone; whatever else there is stays, so that it is nobody's."""
    name, _, port = host.rpartition(":")
    return name if port.isascii() and port.isdigit() and name else host


def _unauthorized(more: str) -> Response:
    return Response("Unauthorized", 401, {"www-authenticate": f'Bearer realm="mcp"{more}'})


def _token_of(identity: Identity) -> AccessToken:
    """Give what the SDK binds a session to: whom a token speaks for, and never the token's own bytes."""
    claims = {} if identity.issuer is None else {"iss": identity.issuer}
    return AccessToken(token="", client_id=identity.client, scopes=[], subject=identity.subject, claims=claims)
