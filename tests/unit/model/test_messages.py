"""The vocabulary as values: JSON there and back, hashes, and nothing that two parts share."""

from __future__ import annotations

import pytest

from lamina.model import (
    AssistantMessage,
    File,
    Message,
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
    UserMessage,
)
from lamina.schema import codec

ASSISTANT = AssistantMessage(
    (
        Reasoning("hm", {"p": {"signature": "c2ln"}}),
        Text("Hello "),
        ToolCall("1", "add", "not JSON", metadata={"p": [1, None]}),
        ToolCall("2", "search", "{}", "provider"),
        ToolResult("2", "search", {"a": [1.5, True, None]}, executor="provider"),
        Source("https://example.org", "Example"),
        File("image/png", b"\x00\xff"),
        Text("world"),
    )
)


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage("Be brief.", {"p": 1}),
        UserMessage((Text("look:"), File("image/png", uri="https://example.org/a.png"))),
        ASSISTANT,
        AssistantMessage(()),
        ToolMessage((ToolResult("1", "add", 3), ToolResult("3", "sub", "no", is_error=True))),
    ],
)
def test_messages_are_json(message: Message) -> None:
    json = codec(Message).encode(message).unwrap()

    assert codec(Message).decode(json).unwrap() == message
    assert hash(codec(Message).decode(json).unwrap()) == hash(message)


def test_an_assistants_calls_are_those_of_the_application() -> None:
    assert [call.id for call in ASSISTANT.calls] == ["1"]
    assert ASSISTANT.text == "Hello world"


def test_a_users_text_leaves_files_out() -> None:
    assert UserMessage((Text("a"), File("image/png", b""), Text("b"))).text == "ab"


def test_no_two_parts_share_their_metadata() -> None:
    one, other = Text("a"), Text("a")

    assert one == other
    assert one.metadata is not other.metadata


def test_a_request_is_a_value() -> None:
    def make() -> ModelRequest:
        tools = (ToolSpec("add", "Add.", {"type": "object"}),)
        return ModelRequest((UserMessage.of("x"),), tools, "required", OutputSpec("o", {"type": "string"}))

    assert make() == make()
    assert hash(make()) == hash(make())
