"""A server over streamable HTTP: the SDK's transport on a client of ours whose answers are bounded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING

import anyio
import httpx2

from lamina.mcp._servers import HttpServer
from lamina.mcp._transport import Transport

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

OVERSIZED = "lamina: the answer is too large"
"""What the SDK quotes in its error for an answer that was cut off."""
PACKED = "lamina: the answer is compressed, and was not asked for so"
_SPARE_CONNECTIONS = 8


class HttpTransport(Transport):
    """One client of a server."""

    def __init__(self, server: HttpServer) -> None:
        super().__init__()
        self._server = server
        self._streams = 0
        self._last_stream = -inf

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[TransportStreams, None]:
        """Make the client, and give the streams of messages; nothing is sent yet."""
        from mcp.client.streamable_http import streamable_http_client

        server, limits = self._server, self._server.limits
        most = limits.concurrent_calls + _SPARE_CONNECTIONS
        async with (
            httpx2.AsyncClient(
                headers={**server.headers, **server.secret_headers, "Accept-Encoding": "identity"},
                auth=server.auth,
                # How long an answer takes is the call's own limit, and a stream of events may be quiet for long.
                timeout=httpx2.Timeout(limits.connect, read=None),
                limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most),
                event_hooks={"request": [self._spaced], "response": [self._bound]},
            ) as client,
            streamable_http_client(server.url, http_client=client, max_sse_event_size=limits.message_bytes) as streams,
        ):
            yield streams

    async def _spaced(self, request: httpx2.Request) -> None:
        """Let the stream of a server's own messages be opened again a few times only: the SDK would do it for ever."""
        if request.method != "GET" or "text/event-stream" not in request.headers.get("accept", ""):
            return
        limits, now = self._server.limits, anyio.current_time()
        if now - self._last_stream > limits.reconnect_seconds:
            self._streams = 0
        self._last_stream = now
        self._streams += 1
        if self._streams > limits.reconnects + 1 and "last-event-id" not in request.headers:
            raise httpx2.ConnectError("the server closes its stream again and again", request=request)

    async def _bound(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status >= 500:
            self.broken += 1
        elif status >= 400:
            self.refused = status
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            return  # its events are bounded one by one
        packed = response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        limit = self._server.limits.message_bytes
        response.stream = _Bounded(stream, 0, PACKED) if packed else _Bounded(stream, limit, OVERSIZED)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, why: str) -> None:
        self._inner = inner
        self._limit = limit
        self._why = why

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise httpx2.StreamError(self._why)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
