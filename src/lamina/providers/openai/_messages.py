"""A conversation in the form of Chat Completions.

Reasoning, sources and what a provider ran itself have no place in this API and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from lamina.model import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from lamina.providers._wire import Wire, written
from lamina.providers.openai._content import content_of


def wire_messages(message: Message) -> Iterator[Wire]:
    """Give what one message is on the wire: one message, or one for each tool result.

    Raises:
        Broken: It holds a file that the API has no place for.

    Example:
        >>> list(wire_messages(AssistantMessage((ToolCall("c1", "now", "{}"),))))[0]["tool_calls"][0]["function"]
        {'name': 'now', 'arguments': '{}'}
    """
    if isinstance(message, SystemMessage):
        yield {"role": "system", "content": message.text}
    elif isinstance(message, UserMessage):
        yield {"role": "user", "content": content_of(message.parts)}
    elif isinstance(message, AssistantMessage):
        yield _assistant(message)
    else:
        yield from _results(message)


def _assistant(message: AssistantMessage) -> Wire:
    calls = message.calls
    if not calls:
        return {"role": "assistant", "content": message.text}
    return {"role": "assistant", "content": message.text or None, "tool_calls": [_call(call) for call in calls]}


def _call(call: ToolCall) -> Wire:
    function = {"name": call.name, "arguments": _sendable(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _sendable(arguments: str) -> str:
    """Keep arguments that are a JSON object; several servers parse them, and refuse the whole conversation if not."""
    try:
        if isinstance(orjson.loads(arguments), dict):
            return arguments
    except orjson.JSONDecodeError:
        pass
    return written({"unreadable": arguments}) if arguments.strip() else "{}"


def _results(message: ToolMessage) -> Iterator[Wire]:
    for result in message.results:
        yield {"role": "tool", "tool_call_id": result.id, "content": _result(result)}


def _result(result: ToolResult) -> str:
    # The API cannot say that a result is an error, so the content does.
    content = {"error": result.content} if result.is_error else result.content
    return content if isinstance(content, str) else written(content)
