"""A request without tools, made of one with them: the model's template knows neither calls nor results."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from lamina.model import AssistantMessage, Message, ModelRequest, Text, ToolMessage, UserMessage
from lamina.providers.local._schema import capped
from lamina.providers.local._steps import text_of
from lamina.schema import JsonValue

LONGEST_RESULT = 1_500
"""How many characters of a result the model is shown; a longer one would leave no room for its answer."""


def without_tools(request: ModelRequest) -> ModelRequest:
    """Say a request's calls and results in plain words, and bound what an answer's schema leaves open.

    Example:
        >>> from lamina.model import ToolResult
        >>> request = ModelRequest((ToolMessage((ToolResult("1", "read_file", "It crashes."),)),))
        >>> without_tools(request).messages[0].text
        'Result of read_file: It crashes.'
    """
    output = request.output
    if output is not None:
        schema = capped(dict(output.json_schema))
        assert isinstance(schema, dict)
        output = attrs.evolve(output, json_schema=schema)
    messages = tuple(said for message in request.messages for said in _said(message))
    return ModelRequest(messages, output=output)


def _said(message: Message) -> Iterator[Message]:
    if isinstance(message, ToolMessage):
        for result in message.results:
            yield UserMessage.of(f"Result of {result.name}: {_short(result.content)}")
    elif not isinstance(message, AssistantMessage):
        yield message
    elif message.text:
        yield AssistantMessage((Text(message.text),))


def _short(content: JsonValue) -> str:
    text = text_of(content)
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]} ..."
