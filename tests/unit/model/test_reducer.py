"""Every rule of response reduction (MODEL-003), one broken sequence each, and what keeps them."""

from __future__ import annotations

import pytest
from returns.result import Success

from lamina.model import (
    File,
    Finish,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Reducer,
    Source,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
    ToolResult,
    Usage,
    reduce,
)

DONE = Finish("stop")
CALLED = Finish("tool-calls")
ADD = ToolCall("c1", "add", '{"x":1}')
SEARCH = ToolCall("s1", "search", '{"q":"x"}', "provider")
FOUND = ToolResult("s1", "search", ["a"], executor="provider")


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("pairing", [TextDelta("t", "x"), DONE]),
        ("pairing", [TextEnd("t"), DONE]),
        ("pairing", [TextStart("t"), TextStart("t"), DONE]),
        ("pairing", [TextStart("t"), TextEnd("t"), TextDelta("t", "x"), DONE]),
        ("pairing", [TextStart("t"), TextEnd("t"), TextEnd("t"), DONE]),
        ("pairing", [TextStart("t"), TextEnd("t"), TextStart("t"), TextEnd("t"), DONE]),
        ("pairing", [TextStart("t"), TextEnd("other"), DONE]),
        ("pairing", [TextStart("t"), ReasoningDelta("t", "x"), DONE]),
        ("pairing", [TextStart("t"), DONE]),
        ("pairing", [ReasoningStart("r"), DONE]),
        ("pairing", [ReasoningStart("r"), TextEnd("r"), DONE]),
        ("pairing", [ToolParamsDelta("c1", "{"), CALLED]),
        ("pairing", [ToolParamsEnd("c1"), CALLED]),
        ("pairing", [ToolParamsStart("c1", "add"), ToolParamsEnd("c1"), ToolParamsDelta("c1", "x"), CALLED]),
        ("pairing", [ToolParamsStart("c1", "add"), ToolParamsEnd("c1"), ToolParamsEnd("c1"), CALLED]),
        ("duplicate-call", [ADD, ADD, CALLED]),
        ("duplicate-call", [ADD, ToolCall("c1", "other", "{}"), CALLED]),
        ("duplicate-call", [ADD, ToolCall("c1", "search", "{}", "provider"), CALLED]),
        ("duplicate-call", [ADD, ToolParamsStart("c1", "add"), CALLED]),
        ("duplicate-call", [ToolParamsStart("c1", "add"), ToolParamsStart("c1", "add"), CALLED]),
        ("params-incomplete", [ToolParamsStart("c1", "add"), ADD, CALLED]),
        ("params-incomplete", [ToolParamsStart("c1", "add"), CALLED]),
        ("params-incomplete", [ToolParamsStart("c1", "add"), ToolParamsEnd("c1"), CALLED]),
        ("params-mismatch", [ToolParamsStart("c1", "add"), ToolParamsEnd("c1"), ADD, CALLED]),
        (
            "params-mismatch",
            [ToolParamsStart("c1", "sub"), ToolParamsDelta("c1", '{"x":1}'), ToolParamsEnd("c1"), ADD, CALLED],
        ),
        (
            "params-mismatch",
            [ToolParamsStart("c1", "add"), ToolParamsDelta("c1", '{"x": 1}'), ToolParamsEnd("c1"), ADD, CALLED],
        ),
        ("undeclared-result", [FOUND, DONE]),
        ("undeclared-result", [FOUND, SEARCH, DONE]),
        ("result-mismatch", [ADD, ToolResult("c1", "add", 1), CALLED]),
        ("result-mismatch", [ADD, ToolResult("c1", "add", 1, executor="provider"), CALLED]),
        ("result-mismatch", [SEARCH, ToolResult("s1", "search", 1), DONE]),
        ("result-mismatch", [SEARCH, ToolResult("s1", "other", 1, executor="provider"), DONE]),
        ("duplicate-result", [SEARCH, FOUND, FOUND, DONE]),
        ("missing-result", [SEARCH, DONE]),
        ("after-finish", [DONE, DONE]),
        ("after-finish", [DONE, Text("late")]),
        ("after-finish", [DONE, TextStart("t")]),
        ("no-finish", []),
        ("no-finish", [Text("cut")]),
        ("no-finish", [TextStart("t"), TextDelta("t", "cut")]),
    ],
)
def test_a_broken_rule_is_named(rule: str, parts: list[object]) -> None:
    assert reduce(parts).failure().rule == rule  # type: ignore[arg-type]


def test_the_first_broken_rule_stays() -> None:
    reducer = Reducer()

    first = reducer.feed(TextDelta("t", "x"))

    assert first is not None
    assert reducer.feed(DONE) is first
    assert reducer.finish().failure() is first


def test_parts_stand_where_they_first_appeared() -> None:
    message = (
        reduce(
            [
                ReasoningStart("r", {"p": {"a": 1}, "q": "early"}),
                TextStart("t"),
                ToolParamsStart("c1", "add"),
                TextDelta("t", "Hel"),
                ToolParamsDelta("c1", '{"x"'),
                ReasoningDelta("r", "hm"),
                File("image/png", b"x"),
                TextDelta("t", "lo"),
                ToolParamsDelta("c1", ":1}"),
                ToolParamsEnd("c1"),
                TextEnd("t"),
                ADD,
                ReasoningEnd("r", {"q": "sig"}),
                Source("https://example.org"),
                CALLED,
            ]
        )
        .unwrap()
        .message
    )

    assert message.parts == (
        Reasoning("hm", {"p": {"a": 1}, "q": "sig"}),
        Text("Hello"),
        ADD,
        File("image/png", b"x"),
        Source("https://example.org"),
    )


def test_text_and_reasoning_may_share_an_id() -> None:
    parts = [TextStart("0"), ReasoningStart("0"), TextEnd("0"), ReasoningEnd("0"), DONE]

    assert reduce(parts).unwrap().message.parts == (Text(""), Reasoning(""))


def test_what_the_provider_ran_is_no_call_of_ours() -> None:
    response = reduce([SEARCH, FOUND, Text("found"), DONE]).unwrap()

    assert response.calls == ()
    assert response.message.parts == (SEARCH, FOUND, Text("found"))
    assert response.text == "found"


def test_a_result_may_be_any_json() -> None:
    content = {"a": [1, -2.5, None, True, "é"], "b": {}, "c": 10**30}
    result = ToolResult("s1", "search", content, is_error=True, executor="provider")

    assert reduce([SEARCH, result, DONE]).unwrap().message.parts == (SEARCH, result)


def test_an_empty_response_is_an_empty_text() -> None:
    response = reduce([Finish("stop", Usage(3, 0), {"id": "r1"})]).unwrap()

    assert (response.text, response.message.parts, response.calls) == ("", (), ())
    assert (response.usage, response.metadata) == (Usage(3, 0), {"id": "r1"})


def test_newlines_are_kept_as_they_are() -> None:
    parts = [TextStart("t"), TextDelta("t", "a\r"), TextDelta("t", "\nb\rc\n"), TextEnd("t"), DONE]

    assert reduce(parts).unwrap().text == "a\r\nb\rc\n"


def test_a_sequence_may_be_any_iterable() -> None:
    assert isinstance(reduce(iter([Text("x"), DONE])), Success)
