"""A real model in this process, over real HTTP: what can be relied on is the structure, so that is what is asserted."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from typing import Any, Never

import attrs
import pytest

from lamina import Agent, AgentPolicy, RuntimeBuilder, Try, build, tool
from lamina.model import (
    ContextOverflow,
    Finish,
    LanguageModel,
    ModelRequest,
    OutputSpec,
    StreamPart,
    SystemMessage,
    TextDelta,
    ToolSpec,
    UserMessage,
    reduce,
)
from lamina.providers.local import LocalConfig, LocalModel, local_model
from lamina.providers.local._server import serving
from lamina.providers.local._weights import NAME, weights
from lamina.providers.openai import OpenAIConfig, OpenAIModel
from lamina.providers.openai._transport import open_client

pytestmark = pytest.mark.needs("local-model")

CONFIG = LocalConfig(context_tokens=1024, max_output_tokens=48, threads=1)
READ: Any = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Path of the file"}},
    "required": ["path"],
    "additionalProperties": False,
}
TOOLS = (
    ToolSpec("read_file", "Read the text of one file.", READ),
    ToolSpec("list_files", "List the names of all files.", {"type": "object", "properties": {}, "required": []}),
)


def ask(text: str, **more: Any) -> ModelRequest:
    return ModelRequest((SystemMessage("Be brief."), UserMessage.of(text)), **more)


@attrs.frozen
class Up:
    model: LanguageModel
    address: str


async def up(config: LocalConfig = CONFIG) -> AsyncIterator[Up]:
    path = weights()
    assert path is not None
    async with serving(path, config) as address:
        served = OpenAIConfig(NAME, f"{address}/v1", "none", 0.0, config.max_output_tokens, 120.0, strict=False)
        async with open_client(served) as client:
            yield Up(LocalModel(OpenAIModel(served, client), client, address, config), address)


@pytest.fixture
async def local() -> AsyncIterator[Up]:
    async for one in up():
        yield one


def is_up(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}/health", timeout=5).close()  # noqa: ASYNC210
    except (urllib.error.URLError, OSError):
        return False
    return True


async def test_an_answer_streams_in_order_and_says_what_it_cost(local: Up) -> None:
    parts: list[StreamPart] = []
    (await local.model.stream(ask("Say hello."), parts.append)).unwrap()
    response = reduce(parts).unwrap()
    assert response.text
    assert sum(isinstance(part, TextDelta) for part in parts) > 1
    assert isinstance(parts[-1], Finish)
    assert response.usage is not None
    assert response.usage.input_tokens > 0 < response.usage.output_tokens <= CONFIG.max_output_tokens
    again = reduce((await local.model.generate(ask("Say hello."))).unwrap()).unwrap()
    assert again.usage is not None
    assert again.usage.cache_read_tokens > 0


async def test_the_answers_shape_is_kept(local: Up) -> None:
    schema: Any = {
        "type": "object",
        "properties": {"title": {"type": "string", "maxLength": 20}, "sure": {"type": "boolean"}},
        "required": ["title", "sure"],
        "additionalProperties": False,
    }
    request = ask(
        "The app crashes. Give it a title.", output=OutputSpec("report", schema), tools=TOOLS, tool_choice="none"
    )
    response = reduce((await local.model.generate(request)).unwrap()).unwrap()
    assert response.finish == "stop"
    assert set(json.loads(response.text)) == {"title", "sure"}


async def test_a_file_that_is_to_be_read_becomes_a_call(local: Up) -> None:
    response = reduce((await local.model.generate(ask("Read login.txt", tools=TOOLS))).unwrap()).unwrap()
    assert [(call.name, json.loads(call.arguments)) for call in response.calls] == [
        ("read_file", {"path": "login.txt"})
    ]
    assert response.usage is not None


async def test_a_request_beyond_the_context_is_an_overflow(local: Up) -> None:
    answered = await local.model.generate(ask("crash " * 3000))
    assert answered.failure().reason == ContextOverflow()


async def test_a_cancelled_answer_frees_the_model_for_the_next(local: Up) -> None:
    begun = asyncio.Event()
    request = ask("Count to a thousand.")
    task = asyncio.ensure_future(local.model.stream(request, lambda _: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await asyncio.wait_for(local.model.generate(request), 60)).unwrap()


async def test_the_server_stops_on_every_exit_and_two_may_run() -> None:
    path = weights()
    assert path is not None
    before = {thread.ident for thread in threading.enumerate()}
    async with serving(path, CONFIG) as one, serving(path, CONFIG) as two:
        assert one != two
        assert is_up(one)
        assert is_up(two)
    assert not is_up(one)
    assert not is_up(two)
    with pytest.raises(ValueError, match="mine"):
        async with serving(path, CONFIG) as one:
            raise ValueError("mine")
    assert not is_up(one)
    assert before <= {thread.ident for thread in threading.enumerate()}


@attrs.frozen
class ReadFile:
    """Which file to read."""

    path: str


@tool(execution="readonly")
async def read_file(call: ReadFile, ok: Try[Never]) -> str:
    """Read the text of one file."""
    return f"{call.path}: it crashes when it is saved"


@attrs.frozen
class Note:
    """What it is about."""

    about: str


async def test_an_agent_reads_and_answers_in_the_shape_that_is_asked_for() -> None:
    policy = AgentPolicy(max_turns=4, max_tool_calls=4, max_duration=300, tool_concurrency=1, run_status="off")
    reader = Agent("reader", instructions="Say what it is about.", policy=policy, toolkit=read_file, output=Note)
    binding = reader.on(local_model(attrs.evolve(CONFIG, max_output_tokens=200)))
    async with build(RuntimeBuilder().agent(binding)) as rt:
        completed = (await rt.run(binding, "Read crash.txt.")).unwrap()
    assert isinstance(completed.output, Note)
    assert completed.report.usage.requests == 2


async def test_a_model_that_does_not_start_in_time_is_not_waited_for() -> None:
    path = weights()
    assert path is not None
    with pytest.raises(TimeoutError):
        async with serving(path, attrs.evolve(CONFIG, start_timeout=0.001)):
            pytest.fail("it cannot have started")


async def test_nothing_is_written_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    async for local in up():
        (await local.model.generate(ask("Hi"))).unwrap()
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
