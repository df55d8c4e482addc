"""Responses of a vendor's SDK, which opens and signs requests: their raw bytes, and what failed about them.

No SDK is imported here: those that share this are made by one generator, so their names are enough.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio

from lamina.model import ConnectionLost, InvalidOutput, InvalidRequest, ModelError, Reason, TimedOut
from lamina.providers._wire._broken import Broken
from lamina.providers._wire._errors import error_of_status

LONGEST_BODY = 32 * 1024 * 1024
"""The most bytes of a response that came in one piece; the reducer allows 8 MiB of what is in it."""


_A_MOMENT = 0.1

_SDKS = ("anthropic", "openai")
_CLIENTS = ("httpx", "httpx2")
_REFUSED = {f"{sdk}.APIStatusError" for sdk in _SDKS}
_LATE = {f"{sdk}.APITimeoutError" for sdk in _SDKS} | {f"{client}.TimeoutException" for client in _CLIENTS}
_GARBLED = {f"{client}.DecodingError" for client in _CLIENTS}
_LOST = {
    *(f"{sdk}.APIConnectionError" for sdk in _SDKS),
    *(f"{client}.{name}" for client in _CLIENTS for name in ("TransportError", "StreamError")),
    *("builtins.OSError", "anyio.BrokenResourceError", "anyio.ClosedResourceError"),
}


class Response:
    """An open response: its content type and its bytes, whose every failure is `Broken`."""

    def __init__(self, raw: Any) -> None:  # Any: httpx or httpx2, as the SDK's version has it
        self._raw = raw
        self.content_type = str(raw.headers.get("content-type", "")).lower()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Give the bytes as they come."""
        async with aclosing(self._raw.aiter_bytes()) as received:
            with translated():
                async for data in received:
                    yield data

    async def whole(self) -> bytes:
        """Give all bytes.

        Raises:
            Broken: There are too many, or the connection broke.
        """
        body = bytearray()
        async with aclosing(self.chunks()) as received:
            async for data in received:
                body += data
                if len(body) > LONGEST_BODY:
                    raise Broken.unreadable("the response is too long")
        return bytes(body)


async def run_out(received: AsyncGenerator[bytes]) -> None:
    """Read what is left of a response that is over, so that its connection can serve the next request.

    What does not end at once is left: then the connection is closed, and a new one costs no more than this saved.
    """
    with anyio.move_on_after(_A_MOMENT), suppress(Broken):
        async for _ in received:
            pass


def one_use(loopback: bool) -> dict[str, str] | None:
    """Give the headers that have a server on this machine close each connection after its response.

    There, a new connection costs nothing. An old one costs a request when the server closes it just as that is sent,
    which small servers do, and which nobody here tries again.
    """
    return {"connection": "close"} if loopback else None


@asynccontextmanager
async def opened(opening: Any, model: str) -> AsyncGenerator[Response]:  # Any: what `with_streaming_response` gives
    """Send a request and hold its response open for the block.

    Args:
        opening: The SDK's context manager over the response.
        model: The model's name, as configured.

    Raises:
        Broken: The provider refused it, or could not be reached.
    """
    async with AsyncExitStack() as held:
        with translated(model):
            response = await opening.__aenter__()
        held.push_async_callback(_close, response)
        yield Response(response.http_response)


async def _close(response: Any) -> None:  # Any: the SDK's response, generic over what nobody parses here
    # A connection that cannot be closed is closed, and what was read from it stands.
    with suppress(Exception):
        await response.close()


@contextmanager
def translated(model: str = "") -> Generator[None]:
    """Turn what the SDK and its transport raise into `Broken`; anything else is a defect and passes."""
    try:
        yield
    except UnicodeEncodeError:
        raise Broken(ModelError(InvalidRequest(), "the request holds text that is no Unicode")) from None
    except Exception as error:
        # One SDK reports all that happens while it sends as a lost connection, also the use of a client that is closed.
        cause = error.__cause__
        if isinstance(cause, RuntimeError) and _reason_of_transport(_names_of(cause)) is None:
            raise cause from None
        found = _error_of(error, model)
        if found is None:
            raise
        raise Broken(found) from None


def _names_of(error: BaseException) -> set[str]:
    return {f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(error).__mro__}


def _error_of(error: Exception, model: str) -> ModelError | None:
    names = _names_of(error)
    status: Any = getattr(error, "status_code", None)  # Any: of an SDK error, whose class is not imported here
    if names & _REFUSED and isinstance(status, int):
        response: Any = getattr(error, "response")  # noqa: B009 - typed Any: see above
        return error_of_status(status, getattr(error, "body", None), response.headers, model)
    reason = _reason_of_transport(names)
    return None if reason is None else ModelError.foreign(error, reason)


def _reason_of_transport(names: set[str]) -> Reason | None:
    if names & _LATE:
        return TimedOut()
    if names & _GARBLED:
        return InvalidOutput()
    return ConnectionLost() if names & _LOST else None
