"""A model that knows only what its request says, so that whatever the engine drops is missed (TEST-016)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import anyio.lowlevel
import attrs
import orjson
from returns.result import Failure, Result, Success

from lamina.model import (
    AssistantMessage,
    ContextOverflow,
    Emit,
    Finish,
    InvalidRequest,
    LanguageModel,
    ModelError,
    ModelRequest,
    ResponsePart,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from lamina.schema import JsonValue
from lamina.testing._deltas import in_deltas
from lamina.testing._valid import request_problem

# The engine's own note on what the run has used (RUN-024); it is no task.
_STATUS = "<run-status"


@attrs.frozen
class Seen:
    """What a request says, read the way a model would.

    Attributes:
        request: The request itself.
        task: The user's latest message, notes on the run's status left out: what is to be done now.
        results: The latest result of each tool since the task, by the tool's name.
    """

    request: ModelRequest
    task: str
    results: Mapping[str, ToolResult] = attrs.field(hash=False)

    def content(self, tool: str) -> JsonValue:
        """Give what a tool answered.

        Raises:
            KeyError: The request holds no result of it, or an error.
        """
        result = self.results[tool]
        if result.is_error:
            raise KeyError(tool)
        return result.content


@attrs.frozen
class Step:
    """One thing that the model knows how to do: call a tool, once a task.

    Attributes:
        tool: The tool's name; the step is left out where the request does not offer it.
        arguments: Makes the arguments from what is seen. A `KeyError` means that something is not there yet, and the
            step waits for it.
        when: Whether the task needs the step.
    """

    tool: str
    arguments: Callable[[Seen], JsonValue]
    when: Callable[[Seen], bool] = lambda _: True


Answer: TypeAlias = Callable[[Seen], JsonValue]


class LiveShapedModel(LanguageModel):
    """A model that plans each turn anew from its request, and refuses what a provider would refuse.

    Every step whose arguments can be made is called at once; with nothing left to call, it answers. A tool that is not
    offered, a result that was dropped or put with the wrong call, an instruction that was lost: each changes what it
    answers, so a test sees it. It keeps nothing between requests.

    Args:
        steps: What it knows how to do.
        answer: Makes the final answer; text as it is, anything else as JSON. A `KeyError` becomes a text that says
            what is missing.
        context: How many tokens a request may have, by its own count; `None` is any number.
        delta: How many code points a streamed delta holds.

    Example:
        >>> import asyncio
        >>> from lamina.model import ToolSpec, UserMessage
        >>> model = LiveShapedModel(
        ...     [Step("length", lambda seen: {"text": seen.task})],
        ...     answer=lambda seen: f"It has {seen.content('length')} letters.",
        ... )
        >>> request = ModelRequest((UserMessage.of("abc"),), (ToolSpec("length", "Count letters.", {}),))
        >>> asyncio.run(model.generate(request)).unwrap()[0].arguments
        '{"text":"abc"}'
        >>> asyncio.run(model.generate(ModelRequest(request.messages))).unwrap()[0].text
        'I miss length.'
    """

    provider = "live-shaped"
    model = "live-shaped"

    def __init__(self, steps: Sequence[Step], answer: Answer, *, context: int | None = None, delta: int = 8) -> None:
        self._steps = tuple(steps)
        self._answer = answer
        self._context = context
        self._delta = delta

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Answer from what the request says."""
        await anyio.lowlevel.checkpoint()
        return self._respond(request)

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Answer from what the request says, in deltas."""
        await anyio.lowlevel.checkpoint()
        answered = self._respond(request)
        if isinstance(answered, Failure):
            return Failure(answered.failure())
        *parts, finish = answered.unwrap()
        for part in in_deltas(parts, self._delta):
            emit(part)
            await anyio.lowlevel.checkpoint()
        if isinstance(finish, Finish):
            emit(finish)
        return Success(None)

    def _respond(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        if (problem := request_problem(request)) is not None:
            return Failure(ModelError(InvalidRequest(), problem))
        asked = _tokens(request)
        if self._context is not None and asked > self._context:
            return Failure(ModelError(ContextOverflow()))
        seen = see(request)
        calls = [] if request.tool_choice == "none" else self._calls(seen)
        parts: list[Text | ToolCall] = [*calls] or [Text(self._final(seen))]
        said = sum(len(part.text if isinstance(part, Text) else part.arguments) for part in parts)
        reason: Literal["tool-calls", "stop"] = "tool-calls" if calls else "stop"
        return Success([*parts, Finish(reason, Usage(asked, said // 4 + 1))])

    def _calls(self, seen: Seen) -> list[ToolCall]:
        offered = {tool.name for tool in seen.request.tools}
        calls: list[ToolCall] = []
        for step in self._steps:
            if step.tool in offered and step.tool not in seen.results and step.when(seen):
                try:
                    arguments = step.arguments(seen)
                except KeyError:
                    continue
                key = f"call-{len(seen.request.messages)}-{len(calls) + 1}"
                calls.append(ToolCall(key, step.tool, orjson.dumps(arguments).decode()))
        return calls

    def _final(self, seen: Seen) -> str:
        try:
            answer = self._answer(seen)
        except KeyError as missing:
            return f"I miss {missing.args[0]}."
        return answer if isinstance(answer, str) and seen.request.output is None else orjson.dumps(answer).decode()


def see(request: ModelRequest) -> Seen:
    """Read a request: its latest task, and the results that came since.

    Example:
        >>> see(ModelRequest((UserMessage.of("first"), UserMessage.of("second")))).task
        'second'
    """
    task = ""
    results: dict[str, ToolResult] = {}
    for message in request.messages:
        if isinstance(message, UserMessage):
            if not message.text.startswith(_STATUS):
                task, results = message.text, {}
        elif isinstance(message, ToolMessage):
            results.update((result.name, result) for result in message.results)
    return Seen(request, task, results)


def _tokens(request: ModelRequest) -> int:
    size = sum(len(tool.name) + len(tool.description) for tool in request.tools)
    for message in request.messages:
        if isinstance(message, SystemMessage | UserMessage):
            size += len(message.text)
        elif isinstance(message, AssistantMessage):
            size += len(message.text) + sum(len(call.name) + len(call.arguments) for call in message.calls)
        else:
            size += sum(len(orjson.dumps(result.content)) for result in message.results)
    return size // 4 + 1
