"""Servers of the Messages API that break off, ramble, lie or stay silent: one typed error each, and nothing is held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import attrs
import pytest
from returns.result import Failure, Success

from lamina.model import (
    Authentication,
    ConnectionLost,
    ContentPolicy,
    ContextOverflow,
    InvalidOutput,
    InvalidRequest,
    ModelError,
    ModelRequest,
    PermissionDenied,
    ProviderDown,
    QuotaExhausted,
    RateLimited,
    Reason,
    StreamPart,
    UnknownModel,
    UserMessage,
    reduce,
)
from lamina.providers.anthropic import AnthropicConfig, AnthropicModel
from lamina.providers.anthropic._transport import open_client
from lamina.testing import TOOLS_REQUEST
from tests.conformance.loopback import anthropic_messages as messages
from tests.conformance.loopback import chat
from tests.conformance.loopback.server import Loopback, Reply, Scenario

HI = ModelRequest((UserMessage.of("Hi"),))


@attrs.frozen
class Set:
    server: Loopback
    model: AnthropicModel


@pytest.fixture
async def over() -> AsyncIterator[Set]:
    server = Loopback()
    async with server.open():
        config = AnthropicConfig("test-1", server.url, "sk-canary", timeout=20.0)
        async with open_client(config) as client:
            yield Set(server, AnthropicModel(config, client))


async def errors(over: Set, scenario: Scenario) -> list[ModelError]:
    over.server.scenario = scenario
    streamed, whole = await over.model.stream(HI, lambda part: None), await over.model.generate(HI)
    assert isinstance(streamed, Failure), streamed
    assert isinstance(whole, Failure), whole
    return [streamed.failure(), whole.failure()]


EMPTY = Reply((), headers=messages.SSE)
BROKEN: list[tuple[str, Scenario, Reason]] = [
    ("wrong key", messages.UNAUTHORIZED, Authentication()),
    ("not allowed", messages.FORBIDDEN, PermissionDenied()),
    ("unknown model", messages.NO_MODEL, UnknownModel("test-1")),
    ("no credit", messages.NO_CREDIT, QuotaExhausted()),
    ("rate limit", messages.RATE_LIMITED, RateLimited(7.0)),
    ("overloaded", messages.OVERLOADED, ProviderDown(529, 3.0)),
    ("server error", messages.SERVER_ERROR, ProviderDown(500)),
    ("prompt too long", messages.CONTEXT_OVERFLOW, ContextOverflow()),
    ("prompt and answer too long", messages.LIMIT_OVERFLOW, ContextOverflow()),
    ("request too large", messages.TOO_LARGE, ContextOverflow()),
    ("blocked", messages.BLOCKED, ContentPolicy()),
    ("invalid request", messages.INVALID_REQUEST, InvalidRequest()),
    ("malformed event", messages.MALFORMED_EVENT, InvalidOutput()),
    ("an event that is no object", messages.NO_OBJECT, InvalidOutput()),
    ("a delta for no block", messages.STRAY_DELTA, InvalidOutput()),
    ("a block that begins twice", messages.STARTED_TWICE, InvalidOutput()),
    ("invalid UTF-8", messages.INVALID_UTF8, InvalidOutput()),
    ("a line of 6 MB", messages.OVERSIZED_LINE, InvalidOutput()),
    ("HTML", messages.UNREADABLE, InvalidOutput()),
    ("no gzip", chat.GARBLED, InvalidOutput()),
    ("no stream", messages.ONE_PIECE, InvalidOutput()),
    ("an error under a good status", messages.ERROR_IN_ONE_PIECE, RateLimited()),
    ("an error in the stream", messages.ERROR_MIDSTREAM, ProviderDown(529)),
    ("an error without words", messages.SILENT_ERROR, InvalidOutput()),
    ("connection lost", messages.LOST, ConnectionLost()),
    ("lost before the stop", messages.LOST_BEFORE_STOP, ConnectionLost()),
    ("no stop", messages.NO_STOP, ConnectionLost()),
    ("a stop without a reason", messages.NO_REASON, ConnectionLost()),
    ("nothing", Scenario(EMPTY, EMPTY), ConnectionLost()),
]


@pytest.mark.parametrize(("scenario", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
async def test_each_hostile_answer_is_one_typed_error(over: Set, scenario: Scenario, reason: Reason) -> None:
    for error in await errors(over, scenario):
        assert error.reason == reason
        assert "canary" not in f"{error} {error!r}"
    assert len(over.server.asked) == 2, "the SDK asked again by itself"
    assert await over.server.released()


@pytest.mark.parametrize(
    "scenario",
    [
        messages.NO_USAGE,
        messages.NEVER_CLOSED,
        messages.UNKNOWN_KINDS,
        messages.CRLF,
        messages.LOST_AFTERWARDS,
        messages.HANGING_AFTERWARDS,
    ],
    ids=["no usage", "a block that is never closed", "unknown kinds", "CRLF", "lost afterwards", "hanging afterwards"],
)
async def test_odd_but_honest_streams_are_read(over: Set, scenario: Scenario) -> None:
    over.server.scenario = scenario
    parts: list[StreamPart] = []
    assert await over.model.stream(HI, parts.append) == Success(None)
    response = reduce(parts).unwrap()
    assert response == reduce((await over.model.generate(HI)).unwrap()).unwrap()
    assert (response.text, len(response.message.parts)) == ("Hel", 1)
    assert (response.usage is None) == (scenario is messages.NO_USAGE)
    assert await over.server.released()


ANSWERS = {
    "reasoning": messages.REASONING,
    "parallel": messages.PARALLEL,
    "interleaved": messages.INTERLEAVED,
    "text and call": messages.TEXT_AND_CALL,
    "no arguments": messages.NO_ARGUMENTS,
    "cut arguments": messages.CUT_ARGUMENTS,
    "searched": messages.SEARCHED,
    "empty text": messages.EMPTY_TEXT,
    "cut everywhere": messages.cut_everywhere(messages.SEARCHED),
}


@pytest.mark.parametrize("scenario", ANSWERS.values(), ids=list(ANSWERS))
async def test_both_ways_come_to_the_same_response_with_the_same_metadata(over: Set, scenario: Scenario) -> None:
    over.server.scenario = scenario
    parts: list[StreamPart] = []
    await over.model.stream(HI, parts.append)
    assert reduce(parts).unwrap() == reduce((await over.model.generate(HI)).unwrap()).unwrap()


async def test_duplicate_call_ids_are_the_reducers_to_refuse(over: Set) -> None:
    over.server.scenario = messages.DUPLICATE_IDS
    parts: list[StreamPart] = []
    await over.model.stream(TOOLS_REQUEST, parts.append)
    assert reduce(parts).failure().rule == "duplicate-call"
    assert reduce((await over.model.generate(TOOLS_REQUEST)).unwrap()).failure().rule == "duplicate-call"


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_the_request_carries_the_key_and_no_more_than_was_asked(over: Set, suffix: str) -> None:
    over.server.scenario = messages.PLAIN
    config = AnthropicConfig("test-1", f"http://127.0.0.1:{over.server.port}{suffix}", "sk-canary")
    async with open_client(config) as client:
        (await AnthropicModel(config, client).generate(HI)).unwrap()
    asked = over.server.asked[0]
    assert asked.path == "/v1/messages"
    # The SDK has used either.
    assert "sk-canary" in asked.headers.get("authorization", "") + asked.headers.get("x-api-key", "")
    assert asked.body == {
        "model": "test-1",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "stream": True,
    }


async def test_what_the_configuration_adds_reaches_the_provider(over: Set) -> None:
    over.server.scenario = messages.PLAIN
    config = AnthropicConfig("test-1", over.server.url, "k", extra={"thinking": {"type": "adaptive"}, "novel": [1]})
    async with open_client(config) as client:
        (await AnthropicModel(config, client).generate(HI)).unwrap()
    assert (over.server.asked[0].body["thinking"], over.server.asked[0].body["novel"]) == ({"type": "adaptive"}, [1])


async def test_a_proxy_is_not_asked_for_a_server_on_this_machine(over: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    over.server.scenario = messages.PLAIN
    config = AnthropicConfig("test-1", over.server.url, "k")
    async with open_client(config) as client:
        assert isinstance(await AnthropicModel(config, client).generate(HI), Success)


async def test_one_connection_to_another_machine_serves_many_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnthropicConfig, "is_loopback", False)
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    connections, left = 0, asyncio.Event()
    body = b"".join(piece for piece in messages.PLAIN.stream.pieces if isinstance(piece, bytes))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
                start = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                writer.write(start + b"%x\r\n%b\r\n" % (len(body), body))
                await writer.drain()
                writer.write(b"0\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            await writer.wait_closed()
            left.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        config = AnthropicConfig("test-1", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "k")
        async with open_client(config) as client:
            model = AnthropicModel(config, client)
            for _ in range(3):
                (await model.generate(HI)).unwrap()
                (await model.stream(HI, lambda part: None)).unwrap()
        await left.wait()
    assert connections == 1
