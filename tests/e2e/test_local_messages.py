"""A real model behind a server of the Messages API: the structure can be relied on, so that is what is asserted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import attrs
import pytest

from lamina import Agent, AgentPolicy, RuntimeBuilder, build
from lamina.model import (
    ContextOverflow,
    Finish,
    ModelRequest,
    StreamPart,
    SystemMessage,
    TextDelta,
    UserMessage,
    reduce,
)
from lamina.providers import anthropic_model
from lamina.providers.anthropic import AnthropicConfig, AnthropicModel
from lamina.providers.anthropic._transport import open_client
from lamina.providers.local import LocalConfig
from lamina.providers.local._server import serving
from lamina.providers.local._weights import NAME, weights
from lamina.testing import HISTORY_REQUEST

pytestmark = pytest.mark.needs("local-model")

TOKENS = 48


def ask(text: str) -> ModelRequest:
    return ModelRequest((SystemMessage("Be brief."), UserMessage.of(text)))


@pytest.fixture
async def address() -> AsyncIterator[str]:
    path = weights()
    assert path is not None
    async with serving(path, LocalConfig(context_tokens=1024, threads=1)) as url:
        yield url


@pytest.fixture
async def model(address: str) -> AsyncIterator[AnthropicModel]:
    config = AnthropicConfig(NAME, address, "none", 0.0, TOKENS, 120.0)
    async with open_client(config) as client:
        yield AnthropicModel(config, client)


async def test_an_answer_streams_in_order_and_counts_what_was_cached(model: AnthropicModel) -> None:
    parts: list[StreamPart] = []
    (await model.stream(ask("Say hello."), parts.append)).unwrap()
    response = reduce(parts).unwrap()
    assert response.text
    assert sum(isinstance(part, TextDelta) for part in parts) > 1
    assert isinstance(parts[-1], Finish)
    assert response.usage is not None
    assert response.usage.input_tokens > 0 < response.usage.output_tokens <= TOKENS
    again = reduce((await model.generate(ask("Say hello."))).unwrap()).unwrap()
    assert again.usage is not None
    # The server counts cached input apart; the total is that of the same request before anything was cached.
    assert again.usage.cache_read_tokens > 0
    assert again.usage.input_tokens == response.usage.input_tokens


async def test_a_conversation_with_tools_is_taken(model: AnthropicModel) -> None:
    request = attrs.evolve(HISTORY_REQUEST, tool_choice="none")
    response = reduce((await model.generate(request)).unwrap()).unwrap()
    assert response.finish in ("stop", "length")


async def test_a_request_beyond_the_context_is_an_overflow(model: AnthropicModel) -> None:
    assert (await model.generate(ask("crash " * 3000))).failure().reason == ContextOverflow()


async def test_a_cancelled_answer_frees_the_model_for_the_next(model: AnthropicModel) -> None:
    begun = asyncio.Event()
    task = asyncio.ensure_future(model.stream(ask("Count to a thousand."), lambda _: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await asyncio.wait_for(model.generate(ask("Say hello.")), 60)).unwrap()


async def test_an_agent_answers_through_it(address: str) -> None:
    policy = AgentPolicy(max_turns=2, max_tool_calls=1, max_duration=300, tool_concurrency=1, run_status="off")
    speaker = Agent("speaker", instructions="Be brief.", policy=policy)
    layer = anthropic_model(NAME, base_url=address, temperature=0.0, max_output_tokens=400, timeout=120.0)
    binding = speaker.on(layer)
    async with build(RuntimeBuilder().agent(binding)) as rt:
        completed = (await rt.run(binding, "Say hello.")).unwrap()
    assert completed.output
    assert completed.report.usage.requests == 1
