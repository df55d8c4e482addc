"""Every model adapter passes the one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

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
from tests.conformance.loopback.server import Loopback, Scenario

TEXT = "Hello, world"


class OverLoopback(ModelSituations):
    """The `openai` adapter, with a server that answers as each situation asks."""

    def __init__(self, server: Loopback, model: OpenAIModel, hasty: OpenAIModel, alone: OpenAIModel) -> None:
        self.server = server
        self.model = model
        self.hasty = hasty
        self.alone = alone

    def _given(self, scenario: Scenario, **known: Any) -> Prepared:
        self.server.scenario = scenario
        self.server.next.clear()
        return Prepared(self.model, **known)

    async def plain_text(self) -> Prepared:
        return self._given(chat.PLAIN, text=TEXT)

    async def empty(self) -> Prepared:
        return self._given(chat.EMPTY)

    async def reasoning(self) -> Prepared:
        return self._given(chat.REASONING)

    async def split_unicode(self) -> Prepared:
        return self._given(chat.UNICODE, text="é€ 漢🙂")

    async def usage_last(self) -> Prepared:
        return self._given(chat.PLAIN, usage=Usage(10, 5))

    async def cached_usage(self) -> Prepared:
        return self._given(chat.CACHED_USAGE, usage=Usage(10, 5, cache_read_tokens=4, reasoning_tokens=2))

    async def parallel_calls(self) -> Prepared:
        calls = (("add", '{"x": 1, "y": 2}'), ("lookup", '{"key": "abc"}'))
        return self._given(chat.PARALLEL, calls=calls)

    async def text_and_call(self) -> Prepared:
        return self._given(chat.TEXT_AND_CALL, calls=(("lookup", '{"key": "abc"}'),))

    async def structured_output(self) -> Prepared:
        return self._given(chat.STRUCTURED, text='{"hello": "world"}')

    async def malformed_arguments(self) -> Prepared:
        return self._given(chat.MALFORMED_ARGUMENTS, calls=(("add", '{"x": 1, "y": '),))

    async def cut_arguments(self) -> Prepared:
        return self._given(chat.CUT_ARGUMENTS)

    async def content_filter(self) -> Prepared:
        return self._given(chat.CONTENT_FILTER)

    async def unauthorized(self) -> Prepared:
        return self._given(chat.UNAUTHORIZED)

    async def rate_limited(self) -> Prepared:
        return self._given(chat.RATE_LIMITED)

    async def server_error(self) -> Prepared:
        return self._given(chat.SERVER_ERROR)

    async def context_overflow(self) -> Prepared:
        return self._given(chat.CONTEXT_OVERFLOW)

    async def invalid_request(self) -> Prepared:
        return self._given(chat.INVALID_REQUEST)

    async def unreadable(self) -> Prepared:
        return self._given(chat.UNREADABLE)

    async def error_midstream(self) -> Prepared:
        return self._given(chat.ERROR_MIDSTREAM)

    async def no_connection(self) -> Prepared:
        return Prepared(self.alone)

    async def connection_lost(self) -> Prepared:
        return self._given(chat.LOST)

    async def timed_out(self) -> Prepared:
        return attrs.evolve(self._given(chat.HANGING), model=self.hasty)

    async def hanging(self) -> Prepared:
        prepared = self._given(chat.PLAIN, text=TEXT)
        self.server.next.append(chat.HANGING)
        return prepared

    async def released(self) -> bool:
        return await self.server.released()


@pytest.fixture
async def over_loopback() -> AsyncIterator[OverLoopback]:
    server = Loopback()
    async with server.open():
        config = OpenAIConfig("test-1", server.url, "key", timeout=20.0)
        hasty = attrs.evolve(config, timeout=0.2)
        nobody = attrs.evolve(config, base_url="http://127.0.0.1:9/v1")
        async with open_client(config) as one, open_client(hasty) as two, open_client(nobody) as three:
            models = [OpenAIModel(config, one), OpenAIModel(hasty, two), OpenAIModel(nobody, three)]
            yield OverLoopback(server, *models)


class OverMessages(ModelSituations):
    """The `anthropic` adapter, with a server that answers as each situation asks."""

    def __init__(self, server: Loopback, model: AnthropicModel, hasty: AnthropicModel, alone: AnthropicModel) -> None:
        self.server = server
        self.model = model
        self.hasty = hasty
        self.alone = alone

    def _given(self, scenario: Scenario, **known: Any) -> Prepared:
        self.server.scenario = scenario
        self.server.next.clear()
        return Prepared(self.model, **known)

    async def plain_text(self) -> Prepared:
        return self._given(messages.PLAIN, text=TEXT)

    async def empty(self) -> Prepared:
        return self._given(messages.EMPTY)

    async def reasoning(self) -> Prepared:
        return self._given(messages.REASONING)

    async def split_unicode(self) -> Prepared:
        return self._given(messages.UNICODE, text="é€ 漢🙂")

    async def usage_last(self) -> Prepared:
        return self._given(messages.PLAIN, usage=Usage(10, 5))

    async def cached_usage(self) -> Prepared:
        return self._given(messages.CACHED_USAGE, usage=Usage(10, 5, cache_read_tokens=5, cache_write_tokens=2))

    async def parallel_calls(self) -> Prepared:
        calls = (("add", '{"x": 1, "y": 2}'), ("lookup", '{"key": "abc"}'))
        return self._given(messages.INTERLEAVED, calls=calls)

    async def text_and_call(self) -> Prepared:
        return self._given(messages.TEXT_AND_CALL, calls=(("lookup", '{"key": "abc"}'),))

    async def structured_output(self) -> Prepared:
        return self._given(messages.STRUCTURED, text='{"hello": "world"}')

    async def malformed_arguments(self) -> Prepared:
        return self._given(messages.MALFORMED_ARGUMENTS, calls=(("add", '{"x": 1, "y": '),))

    async def cut_arguments(self) -> Prepared:
        return self._given(messages.CUT_ARGUMENTS)

    async def content_filter(self) -> Prepared:
        return self._given(messages.CONTENT_FILTER)

    async def unauthorized(self) -> Prepared:
        return self._given(messages.UNAUTHORIZED)

    async def rate_limited(self) -> Prepared:
        return self._given(messages.RATE_LIMITED)

    async def server_error(self) -> Prepared:
        return self._given(messages.SERVER_ERROR)

    async def context_overflow(self) -> Prepared:
        return self._given(messages.CONTEXT_OVERFLOW)

    async def invalid_request(self) -> Prepared:
        return self._given(messages.INVALID_REQUEST)

    async def unreadable(self) -> Prepared:
        return self._given(messages.UNREADABLE)

    async def error_midstream(self) -> Prepared:
        return self._given(messages.ERROR_MIDSTREAM)

    async def no_connection(self) -> Prepared:
        return Prepared(self.alone)

    async def connection_lost(self) -> Prepared:
        return self._given(messages.LOST)

    async def timed_out(self) -> Prepared:
        return attrs.evolve(self._given(messages.HANGING), model=self.hasty)

    async def hanging(self) -> Prepared:
        prepared = self._given(messages.PLAIN, text=TEXT)
        self.server.next.append(messages.HANGING)
        return prepared

    async def released(self) -> bool:
        return await self.server.released()


@pytest.fixture
async def over_messages() -> AsyncIterator[OverMessages]:
    server, opened = Loopback(), anthropic_transport.open_client
    async with server.open():
        config = AnthropicConfig("test-1", server.url, "key", timeout=20.0, structured_output=True)
        hasty = attrs.evolve(config, timeout=0.2)
        nobody = attrs.evolve(config, base_url="http://127.0.0.1:9")
        async with opened(config) as one, opened(hasty) as two, opened(nobody) as three:
            models = [AnthropicModel(config, one), AnthropicModel(hasty, two), AnthropicModel(nobody, three)]
            yield OverMessages(server, *models)


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


async def test_anthropic_does_what_a_language_model_owes(over_messages: OverMessages) -> None:
    report = await check_language_model(over_messages)
    assert report.left_out == ()
