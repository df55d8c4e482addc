"""Events come to parts: thoughts with their signatures, calls with their raw arguments, usage with its caches."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.model import (
    Authentication,
    ContextOverflow,
    Finish,
    InvalidRequest,
    ModelResponse,
    PermissionDenied,
    ProviderDown,
    QuotaExhausted,
    RateLimited,
    Reason,
    Reasoning,
    Source,
    StreamPart,
    Text,
    ToolCall,
    ToolParamsDelta,
    ToolParamsStart,
    ToolResult,
    UnknownModel,
    Usage,
    check_finish,
    reduce,
)
from lamina.providers._wire import Broken, EventDecoder, parse
from lamina.providers.anthropic import _events
from lamina.providers.anthropic._events import Events
from lamina.providers.anthropic._usage import usage_of
from tests.conformance.loopback import anthropic_messages as messages
from tests.conformance.loopback.server import Scenario


def followed(scenario: Scenario) -> tuple[list[StreamPart], Events]:
    decoder, events = EventDecoder(), Events("test-1")
    parts: list[StreamPart] = []
    for piece in scenario.stream.pieces:
        assert isinstance(piece, bytes)
        for event in decoder.feed(piece):
            parts += events.feed(parse(event))
    assert events.stopped
    return [*parts, *events.end()], events


def response(scenario: Scenario) -> ModelResponse:
    parts, events = followed(scenario)
    streamed = reduce(parts).unwrap()
    assert streamed == reduce(events.parts).unwrap()
    return streamed


def test_thoughts_keep_what_the_provider_wants_back() -> None:
    assert response(messages.REASONING).message.parts == (
        Reasoning("Let me think.", {"anthropic": {"signature": "c2lnbmVk"}}),
        Reasoning("", {"anthropic": {"redacted": "aGlkZGVu"}}),
        Text("Hi"),
    )


def test_a_thought_that_may_not_be_read_still_has_its_signature() -> None:
    omitted = messages.message(
        messages.opening(0, "thinking", thinking="", signature=""),
        messages.delta(0, "signature_delta", signature="c2ln"),
        messages.closing(0),
        *messages.text_block(1, "Hi"),
    )
    assert response(omitted).message.parts[0] == Reasoning("", {"anthropic": {"signature": "c2ln"}})


def test_arguments_are_the_raw_text_and_none_are_an_empty_object() -> None:
    assert response(messages.PARALLEL).calls == (
        ToolCall("toolu_a", "add", '{"x": 1, "y": 2}'),
        ToolCall("toolu_b", "lookup", '{"key": "abc"}'),
    )
    assert response(messages.NO_ARGUMENTS).calls == (ToolCall("toolu_a", "now", "{}"),)
    parts, _ = followed(messages.PARALLEL)
    assert parts[:3] == [
        ToolParamsStart("toolu_a", "add"),
        ToolParamsDelta("toolu_a", '{"x": 1,'),
        ToolParamsDelta("toolu_a", ' "y": 2}'),
    ]


def test_arguments_that_come_with_the_start_are_taken_from_there() -> None:
    given = messages.opening(0, "tool_use", id="toolu_a", name="add", input={"x": 1})
    assert response(messages.message(given, messages.closing(0), reason="tool_use")).calls[0].arguments == '{"x":1}'


def test_a_call_without_an_id_gets_one() -> None:
    given = messages.opening(0, "tool_use", name="add", input={})
    assert response(messages.message(given, messages.closing(0), reason="tool_use")).calls[0].id == "call-msg_1-0"


def test_cut_arguments_stay_cut_so_that_nothing_runs() -> None:
    cut = response(messages.CUT_ARGUMENTS)
    assert (cut.finish, cut.calls[0].arguments) == ("length", '{"x": 1, "y"')
    assert check_finish(cut).failure().rule == "truncated"


def test_what_the_provider_ran_itself_is_no_call_of_the_applications() -> None:
    searched = response(messages.SEARCHED)
    assert searched.calls == ()
    assert check_finish(searched).unwrap() == "answer"
    call, result, text, source = searched.message.parts
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments, call.executor) == ("web_search", '{"query": "tea"}', "provider")
    assert isinstance(result, ToolResult)
    assert (result.id, result.name, result.is_error) == (call.id, "web_search", False)
    assert result.metadata == {"anthropic": {"type": "web_search_tool_result"}}
    assert (text, source) == (Text("Tea."), Source("https://example.com", "Tea"))


def test_a_failed_search_is_an_error_and_a_result_of_another_response_is_passed_over() -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    scenario = messages.message(
        messages.opening(0, "server_tool_use", id="s1", name="web_search", input={"query": "tea"}),
        messages.closing(0),
        messages.opening(1, "web_search_tool_result", tool_use_id="s1", content=failed),
        messages.closing(1),
        messages.opening(2, "web_search_tool_result", tool_use_id="s0", content=[]),
        messages.closing(2),
    )
    call, result = response(scenario).message.parts
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"query":"tea"}'
    assert isinstance(result, ToolResult)
    assert result.is_error


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content-filter"),
        ("pause_turn", "pause"),
        ("quantum", "unknown"),
    ],
)
def test_stop_reasons(given: str, reason: str) -> None:
    assert response(messages.message(*messages.text_block(0, "Hi"), reason=given)).finish == reason


@pytest.mark.parametrize(("given", "reason"), [("tool_use", "tool-calls"), ("end_turn", "tool-calls")])
def test_calls_end_as_calls(given: str, reason: str) -> None:
    assert response(messages.message(*messages.call_block(0, "a", "add", "{}"), reason=given)).finish == reason


def test_the_finish_says_which_message_it_was_and_why_it_was_refused() -> None:
    details: Any = {"type": "refusal", "category": "bio", "explanation": None}
    refused = messages.event("message_delta", delta={"stop_reason": "refusal", "stop_details": details}, usage={})
    parts, _ = followed(messages.stream(messages.begin(), refused, messages.STOP))
    assert parts == [
        Finish(
            "content-filter",
            Usage(10, 1),
            {"anthropic": {"id": "msg_1", "model": "test-1-20260101", "stop_details": details}},
        )
    ]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({}, None),
        ({"input_tokens": 1}, None),
        ({"input_tokens": "1", "output_tokens": 2}, None),
        ({"input_tokens": True, "output_tokens": 2}, None),
        ({"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": None}, Usage(3, 2)),
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 2,
                "output_tokens": 9,
                "output_tokens_details": {"thinking_tokens": 4},
            },
            Usage(10, 9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=4),
        ),
    ],
)
def test_cached_input_is_part_of_the_input(counts: Any, usage: Usage | None) -> None:
    assert usage_of(counts) == usage


def test_later_counts_stand_and_what_they_leave_out_stays() -> None:
    final = {"input_tokens": None, "cache_read_input_tokens": 6, "output_tokens": 7}
    scenario = messages.stream(messages.begin(messages.CACHED), messages.over(usage=final), messages.STOP)
    assert response(scenario).usage == Usage(11, 7, cache_read_tokens=6, cache_write_tokens=2)


@pytest.mark.parametrize(
    ("kind", "said", "reason"),
    [
        ("authentication_error", "", Authentication()),
        ("permission_error", "", PermissionDenied()),
        ("billing_error", "", QuotaExhausted()),
        ("not_found_error", "model: test-1", UnknownModel("test-1")),
        ("not_found_error", "no such container", InvalidRequest()),
        ("request_too_large", "", ContextOverflow()),
        ("rate_limit_error", "", RateLimited()),
        ("invalid_request_error", "top_k: too large", InvalidRequest()),
        ("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", ContextOverflow()),
        ("overloaded_error", "", ProviderDown(529)),
        ("api_error", "", ProviderDown()),
        ("timeout_error", "", ProviderDown()),
        ("weather_error", "", ProviderDown()),
    ],
)
def test_an_error_in_the_stream_has_its_reason(kind: str, said: str, reason: Reason) -> None:
    with pytest.raises(Broken) as broken:
        list(Events("test-1").feed({"type": "error", "error": {"type": kind, "message": said}}))
    assert (broken.value.error.reason, broken.value.error.detail) == (reason, said)


def test_a_message_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_events, "LONGEST_MESSAGE", 10)
    with pytest.raises(Broken):
        followed(messages.message(*messages.text_block(0, "12345", "678901")))


def test_too_many_blocks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_events, "MOST_BLOCKS", 1)
    with pytest.raises(Broken):
        followed(messages.message(*messages.text_block(0, "a"), *messages.text_block(1, "b")))
