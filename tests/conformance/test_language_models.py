"""Every model adapter passes the one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import attrs
import pytest
from returns.result import Result

from lamina.model import Emit, LanguageModel, ModelError, ModelRequest, ResponsePart, Usage
from lamina.providers.anthropic import AnthropicConfig, AnthropicModel
from lamina.providers.anthropic import _transport as anthropic_transport
from lamina.providers.local import LocalConfig, LocalModel
from lamina.providers.local._server import serving
from lamina.providers.local._weights import NAME, weights
from lamina.providers.openai import OpenAIConfig, OpenAIModel
from lamina.providers.openai._transport import open_client
from lamina.testing import ModelSituations, Prepared, check_language_model
from tests.conformance.loopback import anthropic_messages as messages
from tests.conformance.loopback import chat
from tests.conformance.loopback.server import Loopback
from tests.conformance.loopback.situations import OverLoopback


@pytest.fixture
async def over_loopback() -> AsyncIterator[OverLoopback]:
    server = Loopback()
    async with server.open():
        config = OpenAIConfig("test-1", server.url, "key", timeout=20.0)
        hasty = attrs.evolve(config, timeout=0.2)
        nobody = attrs.evolve(config, base_url="http://127.0.0.1:9/v1")
        async with open_client(config) as one, open_client(hasty) as two, open_client(nobody) as three:
            models = [OpenAIModel(config, one), OpenAIModel(hasty, two), OpenAIModel(nobody, three)]
            cached = Usage(10, 5, cache_read_tokens=4, reasoning_tokens=2)
            yield OverLoopback(chat, server, *models, parallel=chat.PARALLEL, cached=cached)


@pytest.fixture
async def over_messages() -> AsyncIterator[OverLoopback]:
    server, opened = Loopback(), anthropic_transport.open_client
    async with server.open():
        config = AnthropicConfig("test-1", server.url, "key", timeout=20.0, structured_output=True)
        hasty = attrs.evolve(config, timeout=0.2)
        nobody = attrs.evolve(config, base_url="http://127.0.0.1:9")
        async with opened(config) as one, opened(hasty) as two, opened(nobody) as three:
            models = [AnthropicModel(config, one), AnthropicModel(hasty, two), AnthropicModel(nobody, three)]
            cached = Usage(10, 5, cache_read_tokens=5, cache_write_tokens=2)
            yield OverLoopback(messages, server, *models, parallel=messages.INTERLEAVED, cached=cached)


class Talking(LanguageModel):
    """A model that is never let near its tools: whether the packaged one would call any is chance."""

    def __init__(self, inner: LanguageModel) -> None:
        self.inner = inner

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        return await self.inner.generate(attrs.evolve(request, tool_choice="none"))

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        return await self.inner.stream(attrs.evolve(request, tool_choice="none"), emit)


class InProcess(ModelSituations):
    """The packaged model: nobody knows what it will say, so only what every answer owes is looked at."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = Talking(model)

    async def plain_text(self) -> Prepared:
        return Prepared(self.model, repeatable=False)

    async def structured_output(self) -> Prepared:
        return Prepared(self.model, repeatable=False)

    async def usage_last(self) -> Prepared:
        return Prepared(self.model, repeatable=False)


@pytest.mark.needs("local-model")
async def test_the_packaged_model_does_what_a_language_model_owes() -> None:
    path = weights()
    assert path is not None
    config = LocalConfig(context_tokens=2048, max_output_tokens=400, threads=1)
    async with serving(path, config) as address:
        served = OpenAIConfig(NAME, f"{address}/v1", "none", 0.0, config.max_output_tokens, 120.0, strict=False)
        async with open_client(served) as client:
            model = LocalModel(OpenAIModel(served, client), client, address, config)
            report = await check_language_model(InProcess(model), patience=300.0)
    assert report.checked == ("plain_text", "usage_last", "structured_output")


async def test_openai_does_what_a_language_model_owes(over_loopback: OverLoopback) -> None:
    report = await check_language_model(over_loopback)
    assert report.left_out == ()


async def test_anthropic_does_what_a_language_model_owes(over_messages: OverLoopback) -> None:
    report = await check_language_model(over_messages)
    assert report.left_out == ()
