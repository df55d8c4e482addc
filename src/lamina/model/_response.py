"""A complete response, and what its finish reason allows (RUN-004, RUN-020)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs
from returns.result import Failure, Result, Success

from lamina.effect import Value
from lamina.model._parts import FinishReason, Metadata, ToolCall, no_metadata
from lamina.model._protocol import ModelProtocolError
from lamina.model._request import AssistantMessage, ToolChoice
from lamina.model._usage import Usage

Verdict: TypeAlias = Literal["answer", "calls"]


@attrs.frozen(eq=False, repr=False)
class ModelResponse(Value):
    """What a whole response came to; the same for streamed and whole parts.

    Attributes:
        message: What goes into the history.
        calls: The calls that the application is to run, in declaration order.
        text: All texts, joined; empty for an empty response.
        finish: Why the model stopped.
        usage: What it cost; `None` where the provider did not say.
        metadata: That of the finish part.
    """

    message: AssistantMessage
    calls: tuple[ToolCall, ...]
    text: str
    finish: FinishReason
    usage: Usage | None
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


def check_finish(response: ModelResponse, tool_choice: ToolChoice = "auto") -> Result[Verdict, ModelProtocolError]:
    """Say whether a complete response is a final answer or a batch of calls; anything else runs nothing.

    Calls need the finish reason `tool-calls`, and an answer needs `stop`. A response that was cut off may hold calls
    whose arguments are cut off too, so none of its calls runs. Providers that mark calls otherwise are translated by
    their adapters.

    Args:
        response: The complete response.
        tool_choice: What the request said; any call under `none` is refused.

    Returns:
        `answer` or `calls`; the rules that can be broken are `truncated`, `content-filter`, `finish-reason` and
        `tool-choice`.

    Example:
        >>> cut = ModelResponse(AssistantMessage(()), (ToolCall("1", "pay", '{"amount": 1'),), "", "length", None)
        >>> check_finish(cut).failure().rule
        'truncated'
    """
    finish = response.finish
    if response.calls:
        if tool_choice == "none":
            return Failure(ModelProtocolError("tool-choice", "the model called a tool although it must not"))
        if finish == "tool-calls":
            return _CALLS
    elif finish == "stop":
        return _ANSWER
    if finish == "length":
        return Failure(ModelProtocolError("truncated", "the response was cut off at its length limit"))
    if finish == "content-filter":
        return Failure(ModelProtocolError("content-filter", "a content filter cut the response off"))
    if finish == "stop":
        return Failure(ModelProtocolError("finish-reason", "the response holds calls but says that it is an answer"))
    if finish == "tool-calls":
        return Failure(ModelProtocolError("finish-reason", "the response says that it holds calls but has none"))
    return Failure(ModelProtocolError("finish-reason", "the response is neither an answer nor a batch of calls"))


_CALLS: Result[Verdict, ModelProtocolError] = Success("calls")
_ANSWER: Result[Verdict, ModelProtocolError] = Success("answer")
