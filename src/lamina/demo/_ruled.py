"""What the demos' models share: each answers by rules, whole or in deltas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import anyio.lowlevel
from returns.result import Result, Success

from lamina.model import (
    Emit,
    Finish,
    LanguageModel,
    ModelError,
    ModelRequest,
    ResponsePart,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
)

_WIDTH = 12


class RuledModel(LanguageModel):
    """Answers by rules. Nothing about it is random, and it keeps nothing between requests."""

    provider = "lamina"
    model = "scripted"

    @abstractmethod
    def respond(self, request: ModelRequest) -> list[ResponsePart]:
        """Make the answer of what the request says: texts, calls, and a finish at the end."""

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Answer from what the request says."""
        await anyio.lowlevel.checkpoint()
        return Success(self.respond(request))

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Answer from what the request says, in deltas."""
        for index, part in enumerate(self.respond(request)):
            await anyio.lowlevel.checkpoint()
            if isinstance(part, Text):
                emit(TextStart(f"text-{index}"))
                for start in range(0, len(part.text), _WIDTH):
                    emit(TextDelta(f"text-{index}", part.text[start : start + _WIDTH]))
                emit(TextEnd(f"text-{index}"))
            elif isinstance(part, ToolCall):
                emit(ToolParamsStart(part.id, part.name))
                emit(ToolParamsDelta(part.id, part.arguments))
                emit(ToolParamsEnd(part.id))
                emit(part)
            elif isinstance(part, Finish):
                emit(part)
        return Success(None)
