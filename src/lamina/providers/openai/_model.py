"""The adapter itself: one request, its response read to the end, and every failure a value."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from returns.result import Failure, Result, Success

from lamina.model import Emit, LanguageModel, ModelError, ModelRequest, ResponsePart
from lamina.providers._wire import Broken, EventDecoder, Response, parse, register_key, run_out
from lamina.providers.openai._chunks import Chunks
from lamina.providers.openai._config import OpenAIConfig
from lamina.providers.openai._request import body_of
from lamina.providers.openai._transport import Client
from lamina.providers.openai._whole import parts_of
from lamina.redaction import Secrets

_DONE = "[DONE]"


class OpenAIModel(LanguageModel):
    """A `LanguageModel` over the Chat Completions API (MODEL-001, MODEL-006); made by `openai_model`."""

    provider = "openai"

    def __init__(self, config: OpenAIConfig, client: Client) -> None:
        self.model = config.name
        self._config = config
        self._client = client

    def register_secrets(self, secrets: Secrets) -> None:
        """Register the key."""
        register_key(secrets, self._config.api_key)

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Ask for the whole answer at once."""
        try:
            async with self._client.post(body_of(request, self._config, stream=False)) as response:
                return Success(parts_of(parse(await response.whole()), self.model))
        except Broken as broken:
            return Failure(broken.error)

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Ask for the answer as it is made."""
        try:
            async with self._client.post(body_of(request, self._config, stream=True)) as response:
                await self._follow(response, emit)
        except Broken as broken:
            return Failure(broken.error)
        return Success(None)

    async def _follow(self, response: Response, emit: Emit) -> None:
        if response.content_type.startswith("application/json"):
            # A server that cannot stream, or an error under a good status.
            parts_of(parse(await response.whole()), self.model)
            raise Broken.unreadable("the provider answered a streaming request in one piece")
        decoder, chunks = EventDecoder(), Chunks(self.model)
        async with aclosing(response.chunks()) as received:
            async for data in received:
                for event in decoder.feed(data):
                    if event.strip() == _DONE:
                        break
                    for part in chunks.feed(parse(event)):
                        emit(part)
                else:
                    continue
                await run_out(received)
                break
        if not chunks.complete:
            raise decoder.cut_off()
        for part in chunks.end():
            emit(part)
