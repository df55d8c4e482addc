"""What tests of steering stand on: a model during whose requests somebody speaks, and short ways to look at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from returns.result import Result, Success

from lamina.conversation import History, InputRecorded
from lamina.model import AssistantMessage, Emit, LanguageModel, ModelError, ModelRequest, ResponsePart, UserMessage
from lamina.steering import Command, Receipt
from lamina.testing import ScriptedModel, Turn

Hook: TypeAlias = Callable[[], Awaitable[object]]


class Listener(LanguageModel):
    """A scripted model that does something during its requests: `during[n]` before the answer to the nth, from 1."""

    provider = "scripted"
    model = "scripted"

    def __init__(self, *turns: Turn, during: Mapping[int, Hook] | None = None) -> None:
        self.scripted = ScriptedModel(*turns)
        self.during: dict[int, Hook] = dict(during or {})

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        return self.scripted.requests

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        await self._speak()
        return await self.scripted.generate(request)

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        await self._speak()
        return await self.scripted.stream(request, emit)

    async def _speak(self) -> None:
        hook = self.during.pop(len(self.requests) + 1, None)
        if hook is not None:
            await hook()


def inputs(request: ModelRequest) -> list[str]:
    """Give what a request's user messages say."""
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


def said(history: History) -> list[str]:
    """Give what a history says, answers marked."""
    return [
        f"> {message.text}" if isinstance(message, AssistantMessage) else message.text
        for message in history.messages
        if isinstance(message, AssistantMessage | UserMessage)
    ]


def texts(commands: Sequence[Command]) -> list[str]:
    return [command.text for command in commands]


def admitted(answer: Result[Receipt, Any]) -> Receipt:
    assert isinstance(answer, Success), answer
    return answer.unwrap()


def recorded(records: Sequence[Any]) -> list[tuple[str, str, str | None, str]]:
    """Give the inputs among some records: id, kind, author and text."""
    found = [record for record in records if isinstance(record, InputRecorded)]
    return [(record.input_id, record.kind, record.author, record.text) for record in found]
