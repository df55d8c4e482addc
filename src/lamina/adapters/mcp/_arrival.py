"""How long a request may take to arrive: its headers, which the HTTP server reads, and its body.

Without it whoever sends half a request, or none, keeps a connection, and with enough of them every descriptor.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.effect import log

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as HttpProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as HttpProtocol


class Arriving:
    """A request whose body has to be whole in time; one that is not is answered with 408, and given up.

    Args:
        scope: The request.
        receive: Gives the parts of its body, and then waits for its client to leave.
        send: Answers it.
        seconds: How long all parts may take together.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, seconds: float) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._whole = False
        self._late = False

    async def served_by(self, app: ASGIApp) -> None:
        """Let it be served."""
        try:
            await app(self._scope, self._next, self._answer)
        except ClientDisconnect:  # before anything was done for it
            log().debug("a request never arrived whole")

    async def _next(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            if not self._late:
                self._late = True
                late = Response("The request did not arrive in time", 408, {"connection": "close"})
                await late(self._scope, self._receive, self._send)
            return {"type": "http.disconnect"}
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def _answer(self, message: Message) -> None:
        if not self._late:  # it has had its answer
            await self._send(message)


def patient(seconds: float) -> type[asyncio.Protocol]:
    """Give uvicorn's protocol, which closes a connection on which no request begins in time.

    Args:
        seconds: How long its headers may take; a later request of a connection has up to twice that.
    """
    return cast("type[asyncio.Protocol]", partial(_Patient, arrival=seconds))


class _Patient(HttpProtocol):
    def __init__(self, *args: Any, arrival: float, **options: Any) -> None:  # Any: uvicorn's own
        super().__init__(*args, **options)
        self._arrival = arrival
        self._seen: object = None
        """The request that was over when it was last looked; None before the first."""
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch = self.loop.call_later(self._arrival, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        last: Any = self.cycle  # Any: None before the first request
        waits = last is None or last.response_complete
        if waits and self._seen is last:
            self.transport.close()
            return
        self._seen = last if waits else self
        self._watch = self.loop.call_later(self._arrival, self._look)
