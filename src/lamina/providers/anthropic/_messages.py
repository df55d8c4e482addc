"""A conversation in the form of the Messages API: instructions apart, and user and assistant in turns.

Sources, files of an assistant, thoughts without this API's signature and what another provider ran itself have no
place in it and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, cast

import orjson

from lamina.model import (
    AssistantMessage,
    ContentPart,
    Message,
    Metadata,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from lamina.providers._wire import Object, Wire, object_in, text_in, written
from lamina.providers.anthropic._content import content_of, text_block
from lamina.schema import JsonValue

_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")

DEEPEST = 64
"""How deep a call's arguments may be nested to be sent back as JSON: what is deeper, no writer of JSON is sure of."""


def system_of(messages: Sequence[Message]) -> str:
    """Join the instructions, wherever they stand: the API has one place for them.

    Example:
        >>> system_of((SystemMessage("Be brief."), UserMessage.of("Hi"), SystemMessage("Be kind.")))
        'Be brief.\\n\\nBe kind.'
    """
    texts = [message.text for message in messages if isinstance(message, SystemMessage)]
    return "\n\n".join([text for text in texts if text.strip()])


def turns_of(messages: Sequence[Message]) -> list[Wire]:
    """Give the turns of a conversation; messages of one side that follow each other are one turn.

    Raises:
        Broken: It holds a file that the API has no place for.

    Example:
        >>> turns_of((UserMessage.of("Hi"), AssistantMessage(()), UserMessage.of("there")))
        [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi'}, {'type': 'text', 'text': 'there'}]}]
    """
    turns: list[Wire] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = _blocks(message)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[Wire]:
    if isinstance(message, SystemMessage):
        return []
    if isinstance(message, UserMessage):
        return content_of(message.parts)
    if isinstance(message, AssistantMessage):
        return [block for part in message.parts for block in _assistant(part)]
    return [_result(result) for result in message.results]


def _assistant(part: ContentPart) -> Iterator[Wire]:
    if isinstance(part, Text) and part.text.strip():
        yield text_block(part.text)
    elif isinstance(part, Reasoning):
        yield from _thought(part)
    elif isinstance(part, ToolCall):
        yield from _call(part)
    elif isinstance(part, ToolResult) and (kind := text_in(_ours(part.metadata), "type")):
        yield {"type": kind, "tool_use_id": part.id, "content": part.content}


def _thought(part: Reasoning) -> Iterator[Wire]:
    kept = _ours(part.metadata)
    if hidden := text_in(kept, "redacted"):
        yield {"type": "redacted_thinking", "data": hidden}
    elif signature := text_in(kept, "signature"):
        yield {"type": "thinking", "thinking": part.text, "signature": signature}


def _call(part: ToolCall) -> Iterator[Wire]:
    kind = "tool_use" if part.executor == "application" else text_in(_ours(part.metadata), "type")
    if kind:
        yield {"type": kind, "id": _id(part.id), "name": part.name, "input": _input(part.arguments)}


def _input(arguments: str) -> Wire:
    """Give arguments as the object that the API wants; what the model wrote instead of one is shown to it as a text."""
    if not arguments.strip():
        return {}
    try:
        value: Any = orjson.loads(arguments)  # Any: whatever the model wrote
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict) and _is_shallow(cast("JsonValue", value), DEEPEST):
        return cast("Wire", value)
    return {"unreadable": arguments}


def _is_shallow(value: JsonValue, left: int) -> bool:
    if isinstance(value, dict):
        return left > 0 and all(_is_shallow(inner, left - 1) for inner in value.values())
    if isinstance(value, list):
        return left > 0 and all(_is_shallow(inner, left - 1) for inner in value)
    return True


def _result(result: ToolResult) -> Wire:
    # The API refuses an error without words.
    said = result.content if isinstance(result.content, str) and result.content.strip() else written(result.content)
    block: Wire = {"type": "tool_result", "tool_use_id": _id(result.id), "content": said}
    return {**block, "is_error": True} if result.is_error else block


def _id(given: str) -> str:
    """Keep a call's id that the API allows; one of another provider's becomes one that is as unique."""
    return given if _ID.fullmatch(given) else f"call-{sha256(given.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _ours(metadata: Metadata) -> Object:
    return object_in(metadata, "anthropic")
