"""Requests on the wire."""

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
from lamina.providers.openai import OpenAIConfig
from lamina.providers.openai._request import body_of
from lamina.providers.openai._schema import is_strict

CONFIG = OpenAIConfig("test-1")
ELSEWHERE = OpenAIConfig("test-1", base_url="http://127.0.0.1:1/v1")
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
HI = ModelRequest((UserMessage.of("Hi"),))


def wire(request: ModelRequest, config: OpenAIConfig = CONFIG, *, stream: bool = False) -> dict[str, Any]:
    return body_of(request, config, stream=stream)


def test_a_whole_conversation() -> None:
    request = ModelRequest(
        (
            SystemMessage("Be brief."),
            UserMessage((Text("Look "), Text("here"))),
            AssistantMessage(
                (
                    Reasoning("hm"),
                    Text("Wait."),
                    ToolCall("c1", "add", '{"x": 1}'),
                    ToolCall("p1", "search", "{}", executor="provider"),
                    ToolResult("p1", "search", "found", executor="provider"),
                )
            ),
            ToolMessage((ToolResult("c1", "add", {"sum": 1}),)),
            AssistantMessage((ToolCall("c2", "add", "not JSON"), ToolCall("c3", "now", ""))),
            ToolMessage((ToolResult("c2", "add", "wrong", is_error=True), ToolResult("c3", "now", "noon"))),
            AssistantMessage(()),
        )
    )
    assert wire(request)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look here"},
        {
            "role": "assistant",
            "content": "Wait.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"sum":1}'},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"unreadable":"not JSON"}'}},
                {"id": "c3", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": '{"error":"wrong"}'},
        {"role": "tool", "tool_call_id": "c3", "content": "noon"},
        {"role": "assistant", "content": ""},
    ]


@pytest.mark.parametrize("value", ["\ud800", 1 << 70, ["\ud800"]])
def test_what_cannot_be_written_plainly_is_written_in_ascii(value: Any) -> None:
    request = ModelRequest(
        (AssistantMessage((ToolCall("c1", "x", "\ud800"),)), ToolMessage((ToolResult("c1", "x", {"value": value}),)))
    )
    messages = wire(request)["messages"]
    assert json.loads(messages[0]["tool_calls"][0]["function"]["arguments"]) == {"unreadable": "\ud800"}
    assert json.loads(messages[1]["content"]) == {"value": value}
    assert messages[1]["content"].isascii()


def test_only_what_is_asked_for_is_sent() -> None:
    assert wire(HI) == {"model": "test-1", "messages": [{"role": "user", "content": "Hi"}]}


def test_a_stream_asks_for_its_usage() -> None:
    body = wire(HI, stream=True)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tools_and_the_choice_among_them(choice: Any) -> None:
    open_schema = {"type": "object", "properties": {}}
    tools = (ToolSpec("add", "Add.", CLOSED), ToolSpec("any", "Any.", open_schema))
    body = wire(attrs.evolve(HI, tools=tools, tool_choice=choice))
    assert body["tool_choice"] == choice
    assert [tool["function"] for tool in body["tools"]] == [
        {"name": "add", "description": "Add.", "parameters": CLOSED, "strict": True},
        {"name": "any", "description": "Any.", "parameters": open_schema},
    ]


def test_the_strict_mark_is_for_those_who_know_it() -> None:
    request = attrs.evolve(HI, tools=(ToolSpec("add", "Add.", CLOSED),), output=OutputSpec("sum", CLOSED))
    assert "strict" not in repr(wire(request, ELSEWHERE))
    assert wire(request, attrs.evolve(ELSEWHERE, strict=True))["tools"][0]["function"]["strict"] is True
    assert "strict" not in repr(wire(request, attrs.evolve(CONFIG, strict=False)))


def test_the_shape_of_an_answer() -> None:
    request = attrs.evolve(HI, output=OutputSpec("sum", CLOSED))
    assert wire(request)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "sum", "schema": CLOSED, "strict": True},
    }
    assert "response_format" not in wire(request, attrs.evolve(CONFIG, structured_output=False))


def test_what_the_configuration_adds() -> None:
    config = attrs.evolve(CONFIG, temperature=0.0, max_output_tokens=9, extra={"reasoning_effort": "low"})
    body = wire(HI, config)
    assert (body["temperature"], body["max_completion_tokens"], body["reasoning_effort"]) == (0.0, 9, "low")
    assert wire(HI, attrs.evolve(ELSEWHERE, max_output_tokens=9))["max_tokens"] == 9


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (
            File("image/png", uri="https://example.com/a.png"),
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ),
        (File("image/png", b"hi"), {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        (File("audio/mpeg", b"hi"), {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}),
        (
            File("application/pdf", b"hi"),
            {"type": "file", "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        ),
    ],
)
def test_files_that_the_api_has_a_place_for(file: File, part: dict[str, Any]) -> None:
    request = ModelRequest((UserMessage((Text("Look"), file)),))
    assert wire(request)["messages"][0]["content"] == [{"type": "text", "text": "Look"}, part]


@pytest.mark.parametrize("file", [File("video/mp4", b"x"), File("application/pdf", uri="https://example.com/a.pdf")])
def test_files_that_it_has_no_place_for(file: File) -> None:
    with pytest.raises(Broken) as broken:
        wire(ModelRequest((UserMessage((file,)),)))
    assert isinstance(broken.value.error.reason, Unsupported)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        {**CLOSED, "required": []},
        {**CLOSED, "properties": {"x": {"type": "string", "minLength": 1}}},
        {"type": "array", "items": {"type": "object"}},
        {"anyOf": [CLOSED, {"type": "object"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
        True,
    ],
)
def test_schemas_that_cannot_be_strict(schema: Any) -> None:
    assert not is_strict(schema)


def test_schemas_that_can_be_strict() -> None:
    assert is_strict({"anyOf": [CLOSED, {"type": "array", "items": CLOSED}], "$defs": {"a": CLOSED}})
