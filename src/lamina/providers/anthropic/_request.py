"""A `ModelRequest` as the body of a request to the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lamina.model import ModelRequest, ToolSpec
from lamina.providers._wire import Wire
from lamina.providers.anthropic._config import AnthropicConfig
from lamina.providers.anthropic._messages import system_of, turns_of
from lamina.providers.anthropic._schema import expressible

_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def body_of(request: ModelRequest, config: AnthropicConfig) -> Wire:
    """Give the body; what is not asked for is not in it, for the providers that refuse what they do not know.

    Raises:
        Broken: The request holds something that the API has no place for.

    Example:
        >>> from lamina.model import UserMessage
        >>> body = body_of(ModelRequest((UserMessage.of("Hi"),)), AnthropicConfig("claude"))
        >>> body["messages"], sorted(body)
        ([{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi'}]}], ['max_tokens', 'messages', 'model', 'stream'])
    """
    body: Wire = {
        "model": config.name,
        "max_tokens": config.max_output_tokens,
        "messages": turns_of(request.messages),
    }
    if system := system_of(request.messages):
        body["system"] = system
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = {"type": _CHOICES[request.tool_choice]}
    elif called := _called(body["messages"]):
        # The API refuses a conversation with calls of tools that are not declared, even if none may be called now.
        body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in called]
        body["tool_choice"] = {"type": "none"}
    schema = expressible(request.output.json_schema) if request.output is not None and config.holds_output else None
    if schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return {**_with(body, config.extra), "stream": True}


def _tool(tool: ToolSpec) -> Wire:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": tool.input_schema}


def _called(turns: list[Wire]) -> list[str]:
    blocks: list[Wire] = [block for turn in turns for block in turn["content"]]
    return list(dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use"))


def _with(body: Wire, extra: Mapping[str, Any]) -> Wire:  # Any: JSON of the application's
    """Add what the configuration says: to objects and lists, and otherwise instead."""
    added: Wire = dict(body)
    for key, value in extra.items():
        own = body.get(key)
        if isinstance(own, dict) and isinstance(value, Mapping):
            added[key] = {**cast("Wire", own), **cast("Wire", value)}
        elif isinstance(own, list) and isinstance(value, list | tuple):
            added[key] = [*cast("list[object]", own), *cast("list[object]", value)]
        else:
            added[key] = value
    return added
