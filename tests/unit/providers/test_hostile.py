"""What every adapter over a vendor's SDK does alike where a request, a task or a listener breaks off."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from types import ModuleType

import attrs
import pytest

from lamina.model import InvalidRequest, LanguageModel, ModelRequest, StreamPart, UserMessage
from lamina.providers.anthropic import AnthropicConfig, AnthropicModel
from lamina.providers.anthropic import _transport as anthropic
from lamina.providers.openai import OpenAIConfig, OpenAIModel
from lamina.providers.openai import _transport as openai
from tests.conformance.loopback import anthropic_messages as messages
from tests.conformance.loopback import chat
from tests.conformance.loopback.server import Loopback

HI = ModelRequest((UserMessage.of("Hi"),))


@attrs.frozen
class Set:
    server: Loopback
    model: LanguageModel
    scenes: ModuleType


@pytest.fixture(params=["anthropic", "openai"])
async def over(request: pytest.FixtureRequest) -> AsyncIterator[Set]:
    server = Loopback()
    async with server.open():
        if request.param == "anthropic":
            theirs = AnthropicConfig("test-1", server.url, "sk-canary", timeout=20.0)
            async with anthropic.open_client(theirs) as client:
                yield Set(server, AnthropicModel(theirs, client), messages)
        else:
            config = OpenAIConfig("test-1", server.url, "sk-canary", timeout=20.0)
            async with openai.open_client(config) as opened:
                yield Set(server, OpenAIModel(config, opened), chat)


async def test_a_text_that_is_no_unicode_is_the_requests_fault(over: Set) -> None:
    over.server.scenario = over.scenes.PLAIN
    answered = await over.model.generate(ModelRequest((UserMessage.of("\ud800"),)))
    assert answered.failure().reason == InvalidRequest()
    assert over.server.asked == []


async def test_a_native_cancel_in_the_middle_of_a_stream_closes_the_connection(over: Set) -> None:
    over.server.scenario = over.scenes.HANGING
    begun = asyncio.Event()
    task = asyncio.ensure_future(over.model.stream(HI, lambda part: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await over.server.released()
    gc.collect()


async def test_what_emit_raises_passes_even_where_it_looks_like_a_transports_error(over: Set) -> None:
    over.server.scenario = over.scenes.PLAIN

    def emit(part: StreamPart) -> None:
        raise ConnectionResetError("mine")

    with pytest.raises(ConnectionResetError, match="mine"):
        await over.model.stream(HI, emit)
    assert await over.server.released()
