"""Requests to the Messages API on the wire."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from lamina.model import (
    AssistantMessage,
    File,
    ModelRequest,
    OutputSpec,
    Reasoning,
    Source,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    Unsupported,
    UserMessage,
)
from lamina.providers._wire import Broken
from lamina.providers.anthropic import AnthropicConfig
from lamina.providers.anthropic._request import body_of
from lamina.providers.anthropic._schema import expressible

CONFIG = AnthropicConfig("test-1")
ELSEWHERE = AnthropicConfig("test-1", base_url="http://127.0.0.1:1")
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
HI = ModelRequest((UserMessage.of("Hi"),))


def wire(request: ModelRequest, config: AnthropicConfig = CONFIG) -> dict[str, Any]:
    return body_of(request, config)


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def test_a_whole_conversation() -> None:
    request = ModelRequest(
        (
            SystemMessage("Be brief."),
            SystemMessage(" "),
            UserMessage((Text("Look "), Text("here"))),
            AssistantMessage(
                (
                    Reasoning("hm", {"anthropic": {"signature": "c2ln"}}),
                    Reasoning("", {"anthropic": {"redacted": "eA=="}}),
                    Reasoning("of another provider", {"openai": {"signature": "c2ln"}}),
                    Text("Wait."),
                    Text("\n"),
                    Source("https://example.com"),
                    ToolCall("c1", "add", '{"x": 1}'),
                    ToolCall("p1", "search", "{}", executor="provider"),
                    ToolResult("p1", "search", "found", executor="provider"),
                )
            ),
            ToolMessage((ToolResult("c1", "add", {"sum": 1}),)),
            UserMessage.of("Go on."),
            AssistantMessage((ToolCall("c2", "add", "not JSON"), ToolCall("c3", "now", ""))),
            SystemMessage("Be kind."),
            ToolMessage((ToolResult("c2", "add", "wrong", is_error=True), ToolResult("c3", "now", "", is_error=True))),
            AssistantMessage(()),
            AssistantMessage((Reasoning("unsigned"),)),
            UserMessage.of("And now?"),
        )
    )
    body = wire(request)
    assert body["system"] == "Be brief.\n\nBe kind."
    assert body["messages"] == [
        {"role": "user", "content": [said("Look "), said("here")]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eA=="},
                said("Wait."),
                {"type": "tool_use", "id": "c1", "name": "add", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"sum":1}'}, said("Go on.")],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c2", "name": "add", "input": {"unreadable": "not JSON"}},
                {"type": "tool_use", "id": "c3", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c2", "content": "wrong", "is_error": True},
                {"type": "tool_result", "tool_use_id": "c3", "content": '""', "is_error": True},
                said("And now?"),
            ],
        },
    ]


def test_what_this_provider_ran_itself_goes_back_as_it_came() -> None:
    content: Any = [{"type": "web_search_result", "encrypted_content": "eA=="}]
    message = AssistantMessage(
        (
            ToolCall("s1", "web_search", '{"query": "tea"}', "provider", {"anthropic": {"type": "server_tool_use"}}),
            ToolResult(
                "s1", "web_search", content, False, "provider", {"anthropic": {"type": "web_search_tool_result"}}
            ),
        )
    )
    assert wire(ModelRequest((message,)))["messages"][0]["content"] == [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content},
    ]


@pytest.mark.parametrize("arguments", ["[1]", "3", '{"x": NaN}', '{"x": 1e999}', '{"a":' * 65 + "1" + "}" * 65])
def test_arguments_that_the_api_could_not_take_are_shown_as_text(arguments: str) -> None:
    request = ModelRequest((AssistantMessage((ToolCall("c1", "x", arguments),)),))
    assert wire(request)["messages"][0]["content"][0]["input"] == {"unreadable": arguments}


def test_ids_of_other_providers_become_ids_that_the_api_allows() -> None:
    keys = ("functions.add:0", "functions.add:1", "é" * 300, "toolu_1")
    calls = AssistantMessage(tuple(ToolCall(key, "add", "{}") for key in keys))
    results = ToolMessage(tuple(ToolResult(key, "add", 1) for key in keys))
    asked, answered = wire(ModelRequest((calls, results)))["messages"]
    ids = [block["id"] for block in asked["content"]]
    assert ids == [block["tool_use_id"] for block in answered["content"]]
    assert len(set(ids)) == 4
    assert ids[3] == "toolu_1"
    assert all(key.replace("-", "").replace("_", "").isalnum() and key.isascii() for key in ids)


@pytest.mark.parametrize("value", ["\ud800", 1 << 70, ["\ud800"]])
def test_what_cannot_be_written_plainly_is_written_in_ascii(value: Any) -> None:
    content = wire(ModelRequest((ToolMessage((ToolResult("c1", "x", {"value": value}),)),)))["messages"][0]["content"]
    assert json.loads(content[0]["content"]) == {"value": value}
    assert content[0]["content"].isascii()


def test_a_text_without_anything_in_it_is_left_to_the_provider_to_refuse() -> None:
    assert wire(ModelRequest((UserMessage.of(" "),)))["messages"] == [{"role": "user", "content": [said(" ")]}]
    two = ModelRequest((UserMessage((Text(""), Text("Hi"))),))
    assert wire(two)["messages"] == [{"role": "user", "content": [said("Hi")]}]


def test_only_what_is_asked_for_is_sent() -> None:
    assert wire(HI) == {
        "model": "test-1",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [said("Hi")]}],
        "stream": True,
    }


@pytest.mark.parametrize(("choice", "sent"), [("auto", "auto"), ("none", "none"), ("required", "any")])
def test_tools_and_the_choice_among_them(choice: Any, sent: str) -> None:
    tools = (ToolSpec("add", "Add.", CLOSED), ToolSpec("bare", "", {"type": "object"}))
    body = wire(attrs.evolve(HI, tools=tools, tool_choice=choice))
    assert body["tool_choice"] == {"type": sent}
    assert body["tools"] == [
        {"name": "add", "description": "Add.", "input_schema": CLOSED},
        {"name": "bare", "input_schema": {"type": "object"}},
    ]


def test_tools_of_the_past_are_declared_where_there_are_none_now() -> None:
    calls = AssistantMessage((ToolCall("c1", "add", "{}"), ToolCall("c2", "add", "{}")))
    body = wire(
        ModelRequest((*HI.messages, calls, ToolMessage((ToolResult("c1", "add", 1), ToolResult("c2", "add", 1)))))
    )
    assert body["tools"] == [{"name": "add", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


def test_the_shape_of_an_answer() -> None:
    request = attrs.evolve(HI, output=OutputSpec("sum", CLOSED))
    assert wire(request)["output_config"] == {"format": {"type": "json_schema", "schema": CLOSED}}
    assert "output_config" not in wire(request, attrs.evolve(CONFIG, structured_output=False))
    assert "output_config" not in wire(request, ELSEWHERE)
    assert "output_config" in wire(request, attrs.evolve(ELSEWHERE, structured_output=True))
    assert "output_config" not in wire(attrs.evolve(HI, output=OutputSpec("any", {"type": "object"})))


def test_what_the_configuration_adds() -> None:
    extra: Any = {"output_config": {"effort": "low"}, "tools": [{"type": "web_search_20250305"}], "top_k": 3}
    config = attrs.evolve(CONFIG, temperature=0.0, max_output_tokens=9, extra=extra)
    request = attrs.evolve(HI, tools=(ToolSpec("add", "Add.", CLOSED),), output=OutputSpec("sum", CLOSED))
    body = wire(request, config)
    assert (body["temperature"], body["max_tokens"], body["top_k"]) == (0.0, 9, 3)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": CLOSED}, "effort": "low"}
    assert body["tools"][1:] == extra["tools"]
    assert wire(HI, attrs.evolve(CONFIG, extra={"stream": False, "max_tokens": 7}))["max_tokens"] == 7
    assert wire(HI, attrs.evolve(CONFIG, extra={"stream": False}))["stream"] is True


@pytest.mark.parametrize(
    ("file", "block"),
    [
        (
            File("image/png", uri="https://example.com/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        ),
        (
            File("image/png", b"hi"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            File("application/pdf", uri="https://example.com/a.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        ),
        (
            File("application/pdf", b"hi"),
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
        ),
        (
            File("text/plain; charset=utf-8", "é".encode()),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "é"}},
        ),
    ],
)
def test_files_that_the_api_has_a_place_for(file: File, block: dict[str, Any]) -> None:
    request = ModelRequest((UserMessage((Text("Look"), file)),))
    assert wire(request)["messages"][0]["content"] == [said("Look"), block]


@pytest.mark.parametrize(
    "file", [File("video/mp4", b"x"), File("image/tiff", b"x"), File("text/plain", uri="https://example.com/a.txt")]
)
def test_files_that_it_has_no_place_for(file: File) -> None:
    with pytest.raises(Broken) as broken:
        wire(ModelRequest((UserMessage((file,)),)))
    assert isinstance(broken.value.error.reason, Unsupported)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "patternProperties": {}},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
        {"type": ["string", "null"]},
        {"type": "colour"},
        {},
        {"$ref": "#"},
        {"$ref": "#/$defs/absent"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}},
        {"type": "integer", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"type": "array", "items": {"type": "object"}},
        {"anyOf": "x"},
        {"type": "object", "properties": 3},
    ],
)
def test_schemas_that_the_api_cannot_hold_an_answer_to(schema: Any) -> None:
    assert expressible(schema) is None


def test_schemas_of_which_only_limits_are_left_out() -> None:
    schema: Any = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Order",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "default": 1},
            "day": {"type": "string", "format": "date", "maxLength": 10},
            "blob": {"type": "string", "format": "byte"},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1, "maxItems": 9},
            "many": {"type": "array", "items": {"const": 1}, "minItems": 3},
            "either": {"oneOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}], "description": "One of two."},
        },
        "required": ["count"],
        "$defs": {
            "Line": {**CLOSED, "properties": {"x": {"$ref": "#/$defs/Kind"}}},
            "Kind": {"type": "string", "enum": ["a", "b"]},
        },
    }
    assert expressible(schema) == {
        "type": "object",
        "title": "Order",
        "properties": {
            "count": {"type": "integer"},
            "day": {"type": "string", "format": "date"},
            "blob": {"type": "string"},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1},
            "many": {"type": "array", "items": {"const": 1}},
            "either": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}], "description": "One of two."},
        },
        "required": ["count"],
        "additionalProperties": False,
        "$defs": {
            "Line": {**CLOSED, "properties": {"x": {"$ref": "#/$defs/Kind"}}},
            "Kind": {"type": "string", "enum": ["a", "b"]},
        },
    }
