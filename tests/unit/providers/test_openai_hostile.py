"""Servers that break off, ramble, lie or stay silent: each ends as one typed error, and nothing is held."""

from __future__ import annotations

from collections.abc import AsyncIterator

import attrs
import pytest
from returns.result import Failure, Success

from lamina.model import (
    ConnectionLost,
    ContextOverflow,
    InvalidOutput,
    ModelError,
    ModelRequest,
    ProviderDown,
    RateLimited,
    Reason,
    StreamPart,
    UserMessage,
    reduce,
)
from lamina.providers.openai import OpenAIConfig, OpenAIModel
from lamina.providers.openai._transport import open_client
from lamina.testing import TOOLS_REQUEST
from tests.conformance.loopback import chat
from tests.conformance.loopback.server import Loopback, Scenario

HI = ModelRequest((UserMessage.of("Hi"),))


@attrs.frozen
class Set:
    server: Loopback
    model: OpenAIModel


@pytest.fixture
async def over() -> AsyncIterator[Set]:
    server = Loopback()
    async with server.open():
        config = OpenAIConfig("test-1", server.url, "sk-canary", timeout=20.0)
        async with open_client(config) as client:
            yield Set(server, OpenAIModel(config, client))


async def stream_error(over: Set, scenario: Scenario) -> ModelError:
    over.server.scenario = scenario
    answered = await over.model.stream(HI, lambda part: None)
    assert isinstance(answered, Failure), answered
    return answered.failure()


async def whole_error(over: Set, scenario: Scenario) -> ModelError:
    over.server.scenario = scenario
    answered = await over.model.generate(HI)
    assert isinstance(answered, Failure), answered
    return answered.failure()


BROKEN: list[tuple[str, Scenario, Reason]] = [
    ("malformed chunk", chat.MALFORMED_CHUNK, InvalidOutput()),
    ("invalid UTF-8", chat.INVALID_UTF8, InvalidOutput()),
    ("HTML", chat.UNREADABLE, InvalidOutput()),
    ("no gzip", chat.GARBLED, InvalidOutput()),
    ("error in the stream", chat.ERROR_MIDSTREAM, ProviderDown()),
    ("connection lost", chat.LOST, ConnectionLost()),
    ("llama.cpp's overflow", chat.LLAMA_OVERFLOW, ContextOverflow()),
    ("date to come back", chat.RATE_LIMITED_UNTIL, RateLimited(7.0)),
    ("overloaded", chat.OVERLOADED, ProviderDown(503, 3.0)),
]


@pytest.mark.parametrize(("scenario", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
async def test_each_hostile_answer_is_one_typed_error(over: Set, scenario: Scenario, reason: Reason) -> None:
    for error in (await stream_error(over, scenario), await whole_error(over, scenario)):
        assert error.reason == reason
        assert "canary" not in f"{error} {error!r}"
    assert len(over.server.asked) == 2, "the SDK asked again by itself"
    assert await over.server.released()


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (chat.NO_FINISH, ConnectionLost()),
        (chat.DONE_WITHOUT_FINISH, ConnectionLost()),
        (chat.LOST_BEFORE_USAGE, ConnectionLost()),
        (chat.OVERSIZED_LINE, InvalidOutput()),
        (Scenario(chat.stream(), chat.PLAIN.whole), ConnectionLost()),
        (Scenario(chat.PLAIN.whole, chat.PLAIN.whole), InvalidOutput()),
        (Scenario(chat.ERROR_MIDSTREAM.whole, chat.PLAIN.whole), ProviderDown()),
    ],
    ids=[
        "no finish",
        "done, no finish",
        "lost before the usage",
        "a line of 6 MB",
        "nothing",
        "no stream",
        "JSON error",
    ],
)
async def test_a_stream_that_is_not_complete_is_no_success(over: Set, scenario: Scenario, reason: Reason) -> None:
    assert (await stream_error(over, scenario)).reason == reason
    assert await over.server.released()


@pytest.mark.parametrize(
    "scenario",
    [chat.EMPTY_CHOICES, chat.COMMENTS, chat.CRLF, chat.NO_USAGE],
    ids=["empty", "comments", "CRLF", "no usage"],
)
async def test_odd_but_honest_streams_are_read(over: Set, scenario: Scenario) -> None:
    over.server.scenario = scenario
    parts: list[StreamPart] = []
    assert await over.model.stream(HI, parts.append) == Success(None)
    response = reduce(parts).unwrap()
    assert response.text in ("Hi", "Hello, world")
    assert (response.usage is None) == (scenario is chat.NO_USAGE)


async def test_calls_without_index_and_id_come_out_alike_both_ways(over: Set) -> None:
    over.server.scenario = chat.NO_INDEX_NO_ID
    parts: list[StreamPart] = []
    await over.model.stream(TOOLS_REQUEST, parts.append)
    whole = (await over.model.generate(TOOLS_REQUEST)).unwrap()
    assert reduce(parts).unwrap().calls == reduce(whole).unwrap().calls
    assert [call.name for call in reduce(parts).unwrap().calls] == ["add", "lookup"]


async def test_duplicate_call_ids_are_the_reducers_to_refuse(over: Set) -> None:
    over.server.scenario = chat.DUPLICATE_IDS
    parts: list[StreamPart] = []
    await over.model.stream(TOOLS_REQUEST, parts.append)
    assert reduce(parts).failure().rule == "duplicate-call"


async def test_the_request_carries_the_key_and_no_more_than_was_asked(over: Set) -> None:
    over.server.scenario = chat.PLAIN
    await over.model.generate(HI)
    asked = over.server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer sk-canary"
    assert asked.body == {"model": "test-1", "messages": [{"role": "user", "content": "Hi"}], "stream": False}


async def test_a_proxy_is_not_asked_for_a_server_on_this_machine(over: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    over.server.scenario = chat.PLAIN
    config = OpenAIConfig("test-1", over.server.url, "k")
    async with open_client(config) as client:
        assert isinstance(await OpenAIModel(config, client).generate(HI), Success)
