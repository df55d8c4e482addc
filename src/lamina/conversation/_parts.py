"""Messages and their parts as records hold them: what is as it mostly is, is left out; bytes are base64."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any, cast

from lamina.conversation._json import Malformed, Refused, mapping, members, number, opaque, text
from lamina.model import AssistantMessage, File, Reasoning, Source, Text, ToolCall, ToolResult, Usage
from lamina.schema import JsonValue

_USAGE = ("input_tokens", "output_tokens")
_USAGE_DETAIL = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_COMMON = ("metadata",)

Part = Text | Reasoning | File | Source | ToolCall | ToolResult


def write_message(message: AssistantMessage) -> list[dict[str, Any]]:
    """Give the parts of a message.

    Raises:
        Refused: A part is none, or holds what no record can.
    """
    return [write_part(part) for part in message.parts]


def read_message(value: object) -> AssistantMessage:
    """Make a message of its parts.

    Raises:
        Malformed: They are none.
    """
    if type(value) is not list:
        raise Malformed
    return AssistantMessage(tuple([read_part(each) for each in cast("list[object]", value)]))


def write_part(part: Part) -> dict[str, Any]:
    """Give the JSON form of one part.

    Example:
        >>> write_part(Text("hello"))
        {'_tag': 'Text', 'text': 'hello'}
    """
    made: dict[str, Any]
    kind = type(part)
    if kind is Text or kind is Reasoning:
        made = {"_tag": kind.__name__, "text": cast("Text", part).text}
    elif kind is ToolCall:
        call = cast("ToolCall", part)
        made = {"_tag": "ToolCall", "id": call.id, "name": call.name, "arguments": call.arguments}
        if call.executor != "application":
            made["executor"] = call.executor
    elif kind is ToolResult:
        result = cast("ToolResult", part)
        made = {"_tag": "ToolResult", "id": result.id, "name": result.name, "content": opaque(result.content)}
        if result.is_error:
            made["is_error"] = True
        if result.executor != "application":
            made["executor"] = result.executor
    elif kind is File:
        file = cast("File", part)
        made = {"_tag": "File", "media_type": file.media_type}
        if file.data is not None:
            made["data"] = b64encode(file.data).decode("ascii")
        if file.uri is not None:
            made["uri"] = file.uri
    elif kind is Source:
        source = cast("Source", part)
        made = {"_tag": "Source", "uri": source.uri, "title": source.title}
    else:
        raise Refused("a message holds a part of an unknown class")
    if part.metadata:
        made["metadata"] = opaque(dict(part.metadata))
    return made


def read_part(value: object) -> Part:
    """Make a part of its JSON form.

    Example:
        >>> read_part({"_tag": "Text", "text": "hello"}).text
        'hello'
    """
    if type(value) is not dict:
        raise Malformed
    given = cast("dict[str, Any]", value)
    tag = given.get("_tag")
    if tag == "Text" or tag == "Reasoning":
        members(given, ("_tag", "text"), _COMMON)
        return (Text if tag == "Text" else Reasoning)(text(given["text"]), _metadata(given))
    if tag == "ToolCall":
        members(given, ("_tag", "id", "name", "arguments"), ("executor", "metadata"))
        return ToolCall(
            text(given["id"]), text(given["name"]), text(given["arguments"]), _executor(given), _metadata(given)
        )
    if tag == "ToolResult":
        members(given, ("_tag", "id", "name", "content"), ("is_error", "executor", "metadata"))
        failed = given.get("is_error", False)
        if type(failed) is not bool:
            raise Malformed
        return ToolResult(
            text(given["id"]), text(given["name"]), given["content"], failed, _executor(given), _metadata(given)
        )
    if tag == "File":
        members(given, ("_tag", "media_type"), ("data", "uri", "metadata"))
        data, uri = given.get("data"), given.get("uri")
        return File(
            text(given["media_type"]),
            None if data is None else _bytes(data),
            None if uri is None else text(uri),
            _metadata(given),
        )
    if tag == "Source":
        members(given, ("_tag", "uri", "title"), _COMMON)
        return Source(text(given["uri"]), text(given["title"]), _metadata(given))
    raise Malformed


def write_usage(usage: Usage) -> dict[str, int]:
    """Give the JSON form of what a response cost; parts that are 0 are left out."""
    made = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if usage.cache_read_tokens:
        made["cache_read_tokens"] = usage.cache_read_tokens
    if usage.cache_write_tokens:
        made["cache_write_tokens"] = usage.cache_write_tokens
    if usage.reasoning_tokens:
        made["reasoning_tokens"] = usage.reasoning_tokens
    return made


def read_usage(value: object) -> Usage:
    """Make what a response cost of its JSON form."""
    given = members(value, _USAGE, _USAGE_DETAIL)
    return Usage(**{name: number(count) for name, count in given.items()})


def _metadata(given: dict[str, Any]) -> Mapping[str, JsonValue]:
    return mapping(given["metadata"]) if "metadata" in given else {}


def _executor(given: dict[str, Any]) -> Any:  # Any: one of the two texts
    executor = given.get("executor", "application")
    if executor not in ("application", "provider"):
        raise Malformed
    return executor


def _bytes(value: object) -> bytes:
    try:
        return b64decode(text(value), validate=True)
    except NotBase64:
        raise Malformed from None
