"""Requests over Anthropic's SDK: it opens and signs them, and the raw bytes come back to be read here.

This is the one module that knows the SDK. It imports it when a client is opened, never before.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from lamina.providers._wire import Response, Wire, one_use, opened
from lamina.providers.anthropic._config import AnthropicConfig

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


class Client:
    """Sends requests to one provider; closed by whoever opened it."""

    def __init__(self, sdk: AsyncAnthropic, model: str) -> None:
        self._sdk = sdk
        self._model = model

    @asynccontextmanager
    async def post(self, body: Wire) -> AsyncGenerator[Response]:
        """Send a request for a message and hold its response open for the block.

        Raises:
            Broken: The provider refused it, or could not be reached.
        """
        # The body goes as it is: the SDK's parameters would drop what a provider adds to the API.
        create: Any = self._sdk.messages.with_streaming_response.create  # Any: no overload fits a wire body
        fixed = {key: body[key] for key in ("model", "messages", "max_tokens", "stream")}
        async with opened(create(**fixed, extra_body=body), self._model) as response:
            yield response


@asynccontextmanager
async def open_client(config: AnthropicConfig) -> AsyncGenerator[Client]:
    """Open the SDK's client, without its retries, and close it afterwards."""
    # The import takes more than a second: long enough to be felt by whoever shares the event loop.
    await to_thread.run_sync(_import)
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

    http = DefaultAsyncHttpxClient(trust_env=not config.is_loopback)
    sdk = AsyncAnthropic(
        api_key=config.api_key,
        base_url=config.address,
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


def _import() -> None:
    # The SDK imports itself piece by piece, when a piece is first touched.
    for name in ("anthropic", "anthropic._client", "anthropic.resources.messages"):
        import_module(name)
