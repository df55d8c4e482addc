"""A `ModelRequest` as the body of a Chat Completions request."""

from __future__ import annotations

from lamina.model import ModelRequest, OutputSpec, ToolSpec
from lamina.providers._wire import Wire
from lamina.providers.openai._config import OpenAIConfig
from lamina.providers.openai._messages import wire_messages
from lamina.providers.openai._schema import is_strict


def body_of(request: ModelRequest, config: OpenAIConfig, *, stream: bool) -> Wire:
    """Give the body; what is not asked for is not in it, for the providers that refuse what they do not know.

    Raises:
        Broken: The request holds something that the API has no place for.

    Example:
        >>> from lamina.model import UserMessage
        >>> body_of(ModelRequest((UserMessage.of("Hi"),)), OpenAIConfig("gpt"), stream=False)
        {'model': 'gpt', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    body: Wire = {
        "model": config.name,
        "messages": [wire for message in request.messages for wire in wire_messages(message)],
    }
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.max_output_tokens is not None:
        # The newer name is OpenAI's alone; other servers know the older one.
        body["max_completion_tokens" if config.is_openai else "max_tokens"] = config.max_output_tokens
    if request.tools:
        body["tools"] = [_tool(tool, config) for tool in request.tools]
        body["tool_choice"] = request.tool_choice
    if request.output is not None and config.structured_output:
        body["response_format"] = _output(request.output, config)
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return {**body, **config.extra}


def _tool(tool: ToolSpec, config: OpenAIConfig) -> Wire:
    function: Wire = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    if config.is_strict and is_strict(tool.input_schema):
        function["strict"] = True
    return {"type": "function", "function": function}


def _output(output: OutputSpec, config: OpenAIConfig) -> Wire:
    schema: Wire = {"name": output.name, "schema": output.json_schema}
    if config.is_strict and is_strict(output.json_schema):
        schema["strict"] = True
    return {"type": "json_schema", "json_schema": schema}
