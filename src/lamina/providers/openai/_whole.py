"""A response that came in one piece, turned into whole parts: the same parts that its stream would come to."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.model import Reasoning, ResponsePart, Text, ToolCall
from lamina.providers._wire import Broken, Object, error_in_message, object_in, objects_in, text_in
from lamina.providers.openai._calls import arguments_of, call_id
from lamina.providers.openai._finish import finish_of, metadata_of
from lamina.providers.openai._usage import usage_of


def parts_of(response: Object, model: str) -> Sequence[ResponsePart]:
    """Give the parts of a response, `Finish` last.

    Raises:
        Broken: It is an error of the provider's, or no response.

    Example:
        >>> parts_of({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}, "gpt")[0]
        Text(text='Hi', metadata={})
    """
    error_in_message(response, model)
    choices = objects_in(response, "choices")
    if not choices:
        raise Broken.unreadable("the response has no choice")
    message = object_in(choices[0], "message")
    thought = text_in(message, "reasoning_content") or text_in(message, "reasoning")
    refusal = text_in(message, "refusal")
    text = text_in(message, "content") + refusal
    calls = _calls(message, text_in(response, "id"))
    finish = finish_of(
        text_in(choices[0], "finish_reason"),
        calls=bool(calls),
        refused=bool(refusal),
        usage=usage_of(response),
        metadata=metadata_of(response),
    )
    thoughts = [Reasoning(thought)] if thought else []
    return [*thoughts, *([Text(text)] if text else []), *calls, finish]


def _calls(message: Object, response: str) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for given in objects_in(message, "tool_calls"):
        function = object_in(given, "function")
        key = text_in(given, "id") or call_id(response, len(calls))
        calls.append(ToolCall(key, text_in(function, "name"), arguments_of(function)))
    return calls
