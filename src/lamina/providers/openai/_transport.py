"""Requests over OpenAI's SDK: it opens and signs them, and the raw bytes come back to be read here.

This is the one module that knows the SDK. It imports it when a client is opened, never before.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio import to_thread

from lamina.providers._wire import Broken, Object, Response, Wire, one_use, opened, translated
from lamina.providers.openai._config import OpenAIConfig

if TYPE_CHECKING:
    from openai import AsyncOpenAI


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
        async with opened(create(**fixed, extra_body=body), self._model) as response:
            yield response

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
        default_headers=one_use(config.is_loopback),
    )
    try:
        yield Client(sdk, config.name)
    finally:
        with anyio.CancelScope(shield=True):
            await sdk.close()
