"""Responses that no honest provider sends: each ends in a typed, bounded error that quotes nothing (RUN-004)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from lamina.model import (
    File,
    Finish,
    ModelProtocolError,
    Reasoning,
    Reducer,
    ResponseLimits,
    Source,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolParamsStart,
    ToolResult,
    Usage,
    reduce,
)

CANARY = "canary-7f3a"
SEARCH = ToolCall("s1", "search", "{}", "provider")
DEEP: Any = []
for _ in range(100_000):
    DEEP = [DEEP]


def rule_of(*parts: Any) -> str:
    return reduce(parts).failure().rule


def answer(content: Any) -> ToolResult:
    return ToolResult("s1", "search", content, executor="provider")


class Hostile:
    """Raises whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(CANARY)

    def __str__(self) -> str:
        raise RuntimeError(CANARY)

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise RuntimeError(CANARY)

    __hash__ = None  # type: ignore[assignment]


class Shouting(str):
    def isascii(self) -> bool:
        raise RuntimeError(CANARY)

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError(CANARY)


@attrs.frozen
class Sly(Text):
    """A subclass is no part: it could do anything."""


@pytest.mark.parametrize("part", [None, "text", {"type": "text"}, 7, object(), Sly("x"), Text])
def test_an_unknown_part(part: Any) -> None:
    assert rule_of(part, Finish("stop")) == "unknown-part"


def test_an_unknown_part_is_asked_for_nothing() -> None:
    assert rule_of(Hostile(), Finish("stop")) == "unknown-part"


@pytest.mark.parametrize(
    "part",
    [
        Text(None),  # type: ignore[arg-type]
        Text(b"x"),  # type: ignore[arg-type]
        Text(Shouting("x")),
        Reasoning(7),  # type: ignore[arg-type]
        Text("x", ["no mapping"]),  # type: ignore[arg-type]
        TextStart(0),  # type: ignore[arg-type]
        TextStart(["unhashable"]),  # type: ignore[arg-type]
        ToolCall("c", "add", {"x": 1}),  # type: ignore[arg-type]
        ToolCall(None, "add", "{}"),  # type: ignore[arg-type]
        ToolCall("c", None, "{}"),  # type: ignore[arg-type]
        ToolCall("c", "add", "{}", "nobody"),  # type: ignore[arg-type]
        ToolParamsStart("c", None),  # type: ignore[arg-type]
        File("image/png"),
        File("image/png", b"x", "https://example.org"),
        File("image/png", "text"),  # type: ignore[arg-type]
        File(None, b"x"),  # type: ignore[arg-type]
        Source(None),  # type: ignore[arg-type]
        Source("https://example.org", None),  # type: ignore[arg-type]
        Finish("because"),  # type: ignore[arg-type]
        Finish(None),  # type: ignore[arg-type]
        Finish(["unhashable"]),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_part(part: Any) -> None:
    assert rule_of(part) == "malformed-part"


@pytest.mark.parametrize("part", [TextDelta(["t"], "x"), TextEnd(None), TextDelta({}, "x")])  # type: ignore[arg-type]
def test_an_id_that_is_none_opens_nothing(part: Any) -> None:
    assert rule_of(TextStart("t"), part) == "pairing"


def test_a_result_that_does_not_say_whether_it_failed() -> None:
    assert rule_of(SEARCH, attrs.evolve(answer(1), is_error=None)) == "malformed-part"


@pytest.mark.parametrize("text", ["\ud800", "ok \udfff", CANARY + "\ud83d"])
@pytest.mark.parametrize(
    "make",
    [
        lambda text: [Text(text)],
        lambda text: [Reasoning(text)],
        lambda text: [TextStart("t"), TextDelta("t", text)],
        lambda text: [TextStart(text)],
        lambda text: [ToolCall("c", "add", text)],
        lambda text: [ToolCall("c", text, "{}")],
        lambda text: [ToolCall(text, "add", "{}")],
        lambda text: [Source(text)],
        lambda text: [Text("x", {"p": text})],
        lambda text: [Text("x", {text: "p"})],
        lambda text: [SEARCH, answer(text)],
        lambda text: [Finish("stop", None, {"p": text})],
    ],
)
def test_half_a_surrogate_pair(text: str, make: Any) -> None:
    error = reduce(make(text)).failure()

    assert error.rule == "not-unicode"
    assert CANARY not in str(error) + repr(error)


@pytest.mark.parametrize("name", ["", "n" * 1025, "é" * 513])
def test_names_and_ids_are_bounded(name: str) -> None:
    assert rule_of(ToolCall("c", name, "{}")) == "identifier"
    assert rule_of(ToolCall(name, "add", "{}")) == "identifier"
    assert rule_of(TextStart(name)) == "identifier"


def test_16_384_parts_and_not_one_more() -> None:
    most = [Text("x")] * 16_384

    assert len(reduce([*most, Finish("stop")]).unwrap().message.parts) == 16_384
    assert rule_of(*most, Text("x"), Finish("stop")) == "too-many-parts"


def test_calls_count_as_parts() -> None:
    calls = [ToolCall(f"c{n}", "add", "{}") for n in range(16_385)]

    assert rule_of(*calls, Finish("tool-calls")) == "too-many-parts"


def test_one_text_of_many_deltas_is_one_part() -> None:
    def parts() -> Iterator[Any]:
        yield TextStart("t")
        for _ in range(20_000):
            yield TextDelta("t", "x")
        yield TextEnd("t")
        yield Finish("stop")

    assert len(reduce(parts()).unwrap().text) == 20_000


def test_8_mib_and_not_one_byte_more() -> None:
    limit = 8 * 1024 * 1024

    assert len(reduce([Text("x" * limit), Finish("stop")]).unwrap().text) == limit
    assert rule_of(Text("x" * (limit + 1)), Finish("stop")) == "too-large"
    assert rule_of(Text("é" * (limit // 2)), Text("x"), Finish("stop")) == "too-large"


def test_streamed_text_stops_at_the_limit_and_not_at_the_end() -> None:
    reducer = Reducer(ResponseLimits(bytes=100))
    assert reducer.feed(TextStart("t")) is None

    fed = 0
    while reducer.feed(TextDelta("t", "0123456789")) is None:
        fed += 1

    assert fed == 9
    assert reducer.finish().failure().rule == "too-large"


@pytest.mark.parametrize(
    "part",
    [
        Reasoning("x" * 60),
        ToolCall("c", "n", "x" * 60),
        File("image/png", b"x" * 60),
        File("image/png", uri="x" * 60),
        Source("x" * 60),
        Source("x", "x" * 60),
        Text("x", {"p": "x" * 60}),
        Text("x", {"p": ["x" * 10] * 6}),
        Finish("stop", None, {"p": "x" * 60}),
    ],
)
def test_everything_counts(part: Any) -> None:
    reducer = Reducer(ResponseLimits(bytes=50))

    error = reducer.feed(part)

    assert error is not None
    assert error.rule == "too-large"


def test_the_result_of_a_provider_counts() -> None:
    reducer = Reducer(ResponseLimits(bytes=50))
    assert reducer.feed(SEARCH) is None

    assert reducer.feed(answer({"k": "x" * 60})) is not None


@pytest.mark.parametrize("content", [float("nan"), {"a": float("inf")}, DEEP, {1: 2}, object(), b"x", {"a": {1, 2}}])
def test_a_result_that_is_no_json(content: Any) -> None:
    assert rule_of(SEARCH, answer(content)) == "not-json"


def test_arguments_stay_the_raw_text_whatever_they_are() -> None:
    hostile = ["[" * 100_000, '{"x": NaN}', "", "null", '{"x": 1', '{"a":1,"a":2}', "\x00"]
    calls = [ToolCall(f"c{n}", "add", text) for n, text in enumerate(hostile)]

    response = reduce([*calls, Finish("tool-calls")]).unwrap()

    assert [call.arguments for call in response.calls] == hostile


@pytest.mark.parametrize(
    "usage",
    [
        Usage(-1, 0),
        Usage(1, -1),
        Usage(True, 1),
        Usage(1, False),
        Usage(1.0, 1),  # type: ignore[arg-type]
        Usage(float("nan"), 1),  # type: ignore[arg-type]
        Usage(1, float("inf")),  # type: ignore[arg-type]
        Usage("1", 1),  # type: ignore[arg-type]
        Usage(None, 1),  # type: ignore[arg-type]
        Usage(2**53, 1),
        Usage(10, 1, cache_read_tokens=11),
        Usage(10, 1, cache_read_tokens=6, cache_write_tokens=5),
        Usage(10, 1, cache_read_tokens=-1),
        Usage(10, 1, reasoning_tokens=2),
        {"input_tokens": 1},
        7,
    ],
)
def test_a_usage_that_cannot_be(usage: Any) -> None:
    assert rule_of(Text("x"), Finish("stop", usage)) == "usage"


def test_no_error_quotes_the_response() -> None:
    sequences: list[list[Any]] = [
        [ToolCall(CANARY, CANARY, CANARY)] * 2,
        [TextDelta(CANARY, CANARY)],
        [ToolResult(CANARY, CANARY, CANARY)],
        [ToolParamsStart(CANARY, CANARY), ToolCall(CANARY, CANARY, CANARY)],
        [Finish(CANARY)],  # type: ignore[arg-type]
        [CANARY],
    ]
    for parts in sequences:
        error = reduce(parts).failure()

        assert isinstance(error, ModelProtocolError)
        assert CANARY not in str(error) + repr(error)
