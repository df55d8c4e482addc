"""Chunks in the dialects of many providers come to the same parts."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.model import ModelResponse, ToolCall, Usage, reduce
from lamina.providers._wire import Broken
from lamina.providers.openai._calls import StreamedCalls
from lamina.providers.openai._chunks import Chunks
from lamina.providers.openai._usage import usage_of
from lamina.providers.openai._whole import parts_of

USAGE = {"prompt_tokens": 10, "completion_tokens": 5}


def piece(arguments: Any = "", **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments}
    if "name" in more:
        function["name"] = more.pop("name")
    return {**more, "function": function}


def streamed(*deltas: dict[str, Any], finish: str = "stop", usage: Any = USAGE) -> ModelResponse:
    chunks = Chunks("test-1")
    parts = []
    for delta in deltas:
        parts += chunks.feed({"id": "resp-1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    parts += chunks.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    parts += chunks.feed({"choices": [], "usage": usage})
    assert chunks.complete
    return reduce([*parts, *chunks.end()]).unwrap()


def calls(*pieces: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    response = streamed(*({"tool_calls": given} for given in pieces), finish="tool_calls")
    return [(call.id, call.name, call.arguments) for call in response.calls]


def test_calls_that_interleave_are_kept_apart_by_their_index() -> None:
    assert calls(
        [piece(index=0, id="a", name="add")],
        [piece('{"x"', index=0), piece("{", index=1, id="b", name="now")],
        [piece("}", index=1), piece(": 1}", index=0)],
    ) == [("a", "add", '{"x": 1}'), ("b", "now", "{}")]


def test_calls_without_index_and_id_begin_with_a_name() -> None:
    assert calls([piece("{}", name="add"), piece("[]", name="now")], [piece("!")]) == [
        ("call-resp-1-0", "add", "{}"),
        ("call-resp-1-1", "now", "[]!"),
    ]


def test_calls_that_share_an_index_are_told_apart_by_their_ids() -> None:
    assert calls(
        [piece("{}", index=0, id="a", name="add")], [piece("{", index=0, id="b", name="now")], [piece("}", index=0)]
    ) == [("a", "add", "{}"), ("b", "now", "{}")]


def test_an_id_and_name_that_are_repeated_with_every_piece_make_one_call() -> None:
    assert calls([piece("{", index=0, id="a", name="add")], [piece("}", index=0, id="a", name="add")]) == [
        ("a", "add", "{}")
    ]


def test_arguments_before_the_name_are_kept() -> None:
    assert calls([piece("{", index=0, id="a")], [piece("}", index=0, name="add")]) == [("a", "add", "{}")]


def test_arguments_that_are_an_object_are_written_as_text() -> None:
    assert calls([piece({"x": 1}, index=0, id="a", name="add")]) == [("a", "add", '{"x":1}')]


def test_two_calls_of_one_id_are_left_to_the_reducer() -> None:
    both = [piece("{}", index=0, id="a", name="add"), piece("{}", index=1, id="a", name="add")]
    chunks = Chunks("test-1")
    parts = [*chunks.feed({"choices": [{"delta": {"tool_calls": both}, "finish_reason": "tool_calls"}]}), *chunks.end()]
    assert reduce(parts).failure().rule == "duplicate-call"


def test_arguments_beyond_all_bounds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.providers.openai._calls.LONGEST_ARGUMENTS", 10)
    gathered = StreamedCalls()
    list(gathered.feed(piece("12345", index=0, id="a", name="add"), ""))
    with pytest.raises(Broken):
        list(gathered.feed(piece("678901", index=0), ""))


@pytest.mark.parametrize(
    ("given", "with_calls", "reason"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool-calls"),
        ("tool_calls", True, "tool-calls"),
        ("function_call", True, "tool-calls"),
        ("tool_calls", False, "tool-calls"),
        ("length", True, "length"),
        ("max_tokens", False, "length"),
        ("content_filter", False, "content-filter"),
        ("eos", False, "stop"),
        ("quantum", False, "unknown"),
    ],
)
def test_finish_reasons(given: str, with_calls: bool, reason: str) -> None:
    delta = {"tool_calls": [piece("{}", index=0, id="a", name="add")]} if with_calls else {"content": "Hi"}
    assert streamed(delta, finish=given).finish == reason


def test_a_refusal_is_a_text_that_a_filter_stopped() -> None:
    response = streamed({"refusal": "I will not."})
    assert (response.text, response.finish) == ("I will not.", "content-filter")


def test_only_the_first_choice_is_followed() -> None:
    chunks = Chunks("test-1")
    choices = [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]
    assert list(chunks.feed({"choices": choices})) == []
    assert not chunks.complete


def test_the_last_usage_counts_where_providers_count_up_in_every_chunk() -> None:
    chunks = Chunks("test-1")
    for count in (1, 2, 3):
        body = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
        list(chunks.feed({**body, "usage": {"prompt_tokens": 9, "completion_tokens": count}}))
    assert list(chunks.end())[-1].usage == Usage(9, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (None, None),
        ({"prompt_tokens": 1}, None),
        ({"prompt_tokens": "1", "completion_tokens": 2}, None),
        ({"prompt_tokens": True, "completion_tokens": 2}, None),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(9, 2)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, Usage(9, 2, cache_read_tokens=4)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(9, 2, cache_read_tokens=4),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 18,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(9, 9, reasoning_tokens=7),
        ),
    ],
)
def test_usage_is_read_in_the_dialects_of_providers(counts: Any, usage: Usage | None) -> None:
    assert usage_of({"usage": counts}) == usage


def test_a_whole_response_without_call_ids_gets_the_same_ids_as_its_stream() -> None:
    message = {"tool_calls": [{"function": {"name": "add", "arguments": "{}"}}]}
    parts = parts_of({"id": "resp-1", "choices": [{"message": message, "finish_reason": "stop"}]}, "test-1")
    assert parts[0] == ToolCall("call-resp-1-0", "add", "{}")


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": "x"}, {"choices": [None]}])
def test_what_is_no_response_is_refused(body: Any) -> None:
    with pytest.raises(Broken):
        parts_of(body, "test-1")
