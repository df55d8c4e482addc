"""The packaged model as a `LanguageModel`: answers over the same HTTP path as any other, tools by likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from returns.result import Failure, Result, Success

from lamina.model import (
    Emit,
    Finish,
    LanguageModel,
    ModelError,
    ModelRequest,
    ResponsePart,
    StreamPart,
    ToolCall,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
    Usage,
)
from lamina.providers._wire import Broken
from lamina.providers.local._arguments import fill
from lamina.providers.local._config import LocalConfig
from lamina.providers.local._llama import Llama, add
from lamina.providers.local._prose import without_tools
from lamina.providers.local._router import choose
from lamina.providers.local._steps import steps_of
from lamina.providers.openai import OpenAIModel
from lamina.providers.openai._transport import Client


class LocalModel(LanguageModel):
    """A small model in this process; made by `local_model`.

    Each sentence of the user's message is a step: one that asks for a tool becomes a call, and once all of them have
    their results the model answers. Usage counts what choosing took as well.

    Attributes:
        config: How it is run; `config.context_tokens` is the longest request and answer together.
    """

    provider = "local"

    def __init__(self, served: OpenAIModel, client: Client, address: str, config: LocalConfig) -> None:
        self.model = served.model
        self.config = config
        self._served = served
        self._client = client
        self._address = address

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Answer whole."""
        llama = Llama(self._client, self._address)
        try:
            call = await _route(llama, request)
        except Broken as broken:
            return Failure(broken.error)
        if call is not None:
            return Success((call, Finish("tool-calls", llama.usage)))
        answered = await self._served.generate(without_tools(request))
        if isinstance(answered, Failure):
            return answered
        return Success([_charged(part, llama.usage) for part in answered.unwrap()])

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Answer in parts; a call comes at once, for its arguments are not written word by word."""
        llama = Llama(self._client, self._address)
        try:
            call = await _route(llama, request)
        except Broken as broken:
            return Failure(broken.error)
        if call is None:
            return await self._served.stream(without_tools(request), _charging(emit, llama.usage))
        emit(ToolParamsStart(call.id, call.name))
        emit(ToolParamsDelta(call.id, call.arguments))
        emit(ToolParamsEnd(call.id))
        emit(call)
        emit(Finish("tool-calls", llama.usage))
        return Success(None)


async def _route(llama: Llama, request: ModelRequest) -> ToolCall | None:
    """Give the next call; `None` where it is time to answer."""
    if not request.tools or request.tool_choice == "none":
        return None
    steps = steps_of(request.messages)
    left = steps.done
    for sentence in steps.sentences:
        tool = await choose(llama, sentence, request.tools, steps.known)
        if tool is None:
            continue
        # The calls of the sentences before it were made already; they are found again rather than remembered.
        if left == 0:
            return ToolCall(_id(steps.calls), tool.name, await fill(llama, sentence, tool, steps.known))
        left -= 1
    if request.tool_choice == "required":
        sentence = " ".join(steps.sentences)
        tool = await choose(llama, sentence, request.tools, steps.known, must=True)
        if tool is not None:
            return ToolCall(_id(steps.calls), tool.name, await fill(llama, sentence, tool, steps.known))
    return None


def _id(calls: int) -> str:
    return f"local-{calls + 1}"


def _charging(emit: Emit, chosen: Usage) -> Emit:
    """Add what choosing took to the usage of the answer."""

    def charge(part: StreamPart) -> None:
        emit(attrs.evolve(part, usage=add(chosen, part.usage)) if isinstance(part, Finish) and part.usage else part)

    return charge


def _charged(part: ResponsePart, chosen: Usage) -> ResponsePart:
    return attrs.evolve(part, usage=add(chosen, part.usage)) if isinstance(part, Finish) and part.usage else part
