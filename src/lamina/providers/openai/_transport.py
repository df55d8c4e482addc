"""Requests over the vendor's SDK: it opens and signs them, and the raw bytes come back to be read here.

This is the one module that knows the SDK. It imports it when a client is opened, never before.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio import to_thread

from lamina.model import ConnectionLost, InvalidRequest, ModelError, Reason, TimedOut
from lamina.providers.openai._broken import Broken
from lamina.providers.openai._config import OpenAIConfig
from lamina.providers.openai._content import Wire
from lamina.providers.openai._errors import error_of_status
from lamina.providers.openai._reading import Object

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LONGEST_BODY = 32 * 1024 * 1024
"""The most bytes of a response that came in one piece; the reducer allows 8 MiB of what is in it."""


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


class Client:
    """Sends requests to one provider; closed by whoever opened it."""

    def __init__(self, sdk: AsyncOpenAI, model: str) -> None:
        self._sdk = sdk
        self._model = model

    @asynccontextmanager
    async def post(self, body: Wire) -> AsyncGenerator[Response]:
        """Send a Chat Completions request and hold its response open for the block.

        Raises:
            Broken: The provider refused it, or could not be reached.
        """
        # The body goes as it is: the SDK's parameters would drop what a provider adds to the API.
        create: Any = self._sdk.chat.completions.with_streaming_response.create  # Any: no overload fits a wire body
        fixed = {
            "model": body["model"],
            "messages": body["messages"],
            "stream": body.get("stream", False),
        }
        opening = create(**fixed, extra_body=body)
        async with AsyncExitStack() as held:
            with translated(self._model):
                response = await opening.__aenter__()
            held.push_async_callback(_close, response)
            yield Response(response.http_response)

    async def ask(self, path: str, body: Wire) -> Object:
        """Send any other request of the server's and give its JSON.

        Args:
            path: Below the API's address, or an address of its own.
            body: Of the request.

        Raises:
            Broken: The provider refused it, or could not be reached.
        """
        with translated(self._model):
            answer: object = await self._sdk.post(path, cast_to=object, body=body)
        if not isinstance(answer, dict):
            raise Broken.unreadable("a message of the provider is no JSON object")
        return cast("Object", answer)


async def _close(response: Any) -> None:  # Any: the SDK's response, generic over what nobody parses here
    # A connection that cannot be closed is closed, and what was read from it stands.
    with suppress(Exception):
        await response.close()


@asynccontextmanager
async def open_client(config: OpenAIConfig) -> AsyncGenerator[Client]:
    """Open the SDK's client, without its retries, and close it afterwards."""
    # The import takes most of a second: long enough to be felt by whoever shares the event loop.
    await to_thread.run_sync(import_module, "openai")
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    http = DefaultAsyncHttpxClient(trust_env=not config.is_loopback)
    sdk = AsyncOpenAI(
        api_key=config.api_key,
        base_url=config.base_url,
        timeout=config.timeout,
        max_retries=0,
        http_client=http,
    )
    try:
        yield Client(sdk, config.name)
    finally:
        with anyio.CancelScope(shield=True):
            await sdk.close()


@contextmanager
def translated(model: str = "") -> Generator[None]:
    """Turn what the SDK and its transport raise into `Broken`; anything else is a defect and passes."""
    try:
        yield
    except UnicodeEncodeError:
        raise Broken(ModelError(InvalidRequest(), "the request holds text that is no Unicode")) from None
    except Exception as error:
        found = _error_of(error, model)
        if found is None:
            raise
        raise Broken(found) from None


def _error_of(error: Exception, model: str) -> ModelError | None:
    names = {f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(error).__mro__}
    status: Any = getattr(error, "status_code", None)  # Any: of an SDK error, whose class is not imported here
    if "openai.APIStatusError" in names and isinstance(status, int):
        response: Any = getattr(error, "response")  # noqa: B009 - typed Any: see above
        return error_of_status(status, getattr(error, "body", None), response.headers, model)
    reason = _reason_of_transport(names)
    return None if reason is None else ModelError.foreign(error, reason)


def _reason_of_transport(names: set[str]) -> Reason | None:
    if names & {"openai.APITimeoutError", "httpx.TimeoutException", "httpx2.TimeoutException"}:
        return TimedOut()
    lost = {"openai.APIConnectionError", "httpx.TransportError", "httpx2.TransportError", "httpx.StreamError"}
    if names & (
        lost | {"httpx2.StreamError", "builtins.OSError", "anyio.BrokenResourceError", "anyio.ClosedResourceError"}
    ):
        return ConnectionLost()
    return None
