"""The adapter itself: one request, its response read to the end, and every failure a value."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from returns.result import Failure, Result, Success

from lamina.model import Emit, LanguageModel, ModelError, ModelRequest, ResponsePart, StreamPart
from lamina.providers._wire import Broken, EventDecoder, Response, error_in_message, parse, register_key, run_out
from lamina.providers.anthropic._config import AnthropicConfig
from lamina.providers.anthropic._events import Events
from lamina.providers.anthropic._request import body_of
from lamina.providers.anthropic._transport import Client
from lamina.redaction import Secrets


class AnthropicModel(LanguageModel):
    """A `LanguageModel` over the Messages API (MODEL-001, MODEL-006); made by `anthropic_model`.

    Whole answers are streamed too. In one piece, this API gives a call's arguments parsed, so that what the model
    wrote is lost, and arguments that were cut off look like complete ones; and it refuses to be asked for long answers.
    """

    provider = "anthropic"

    def __init__(self, config: AnthropicConfig, client: Client) -> None:
        self.model = config.name
        self._config = config
        self._client = client

    def register_secrets(self, secrets: Secrets) -> None:
        """Register the key."""
        register_key(secrets, self._config.api_key)

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Ask for the answer, and give it once it is complete."""
        events = Events(self.model)
        try:
            await self._ask(request, events, _nowhere)
        except Broken as broken:
            return Failure(broken.error)
        return Success(events.parts)

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Ask for the answer as it is made."""
        try:
            await self._ask(request, Events(self.model), emit)
        except Broken as broken:
            return Failure(broken.error)
        return Success(None)

    async def _ask(self, request: ModelRequest, events: Events, emit: Emit) -> None:
        async with self._client.post(body_of(request, self._config)) as response:
            await _follow(response, events, emit, self.model)
        for part in events.end():
            emit(part)


async def _follow(response: Response, events: Events, emit: Emit, model: str) -> None:
    if response.content_type.startswith("application/json"):
        # A server that cannot stream, or an error under a good status.
        error_in_message(parse(await response.whole()), model)
        raise Broken.unreadable("the provider answered a streaming request in one piece")
    decoder = EventDecoder()
    async with aclosing(response.chunks()) as received:
        async for data in received:
            for event in decoder.feed(data):
                for part in events.feed(parse(event)):
                    emit(part)
                if events.stopped:
                    await run_out(received)
                    return
    raise decoder.cut_off()


def _nowhere(_: StreamPart) -> None:
    """Take a part of an answer that is given whole."""
