"""What each kind of part does to a response that is being built (MODEL-003)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from lamina.model._calls import Calls
from lamina.model._growing import Growths
from lamina.model._ledger import Ledger, ResponseLimits
from lamina.model._measure import size_of_text
from lamina.model._parts import File, Finish, FinishReason, Reasoning, Source, Text, ToolCall, ToolResult
from lamina.model._protocol import Violation
from lamina.model._stream import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
)
from lamina.model._usage import Usage, usage_problem

_REASONS = frozenset(get_args(FinishReason))


class Building:
    """A response so far: its parts, what is open, its calls, and its finish once that came.

    Most responses are one text or one call, so what keeps track of the rest is made when it is first asked for.
    """

    __slots__ = ("_calls", "_texts", "_thoughts", "finish", "ledger")

    def __init__(self, limits: ResponseLimits) -> None:
        self.ledger = Ledger(limits)
        self.finish: Finish | None = None
        self._texts: Growths | None = None
        self._thoughts: Growths | None = None
        self._calls: Calls | None = None

    @property
    def texts(self) -> Growths:
        """The texts that are streamed."""
        texts = self._texts
        if texts is None:
            texts = self._texts = Growths(self.ledger, Text)
        return texts

    @property
    def thoughts(self) -> Growths:
        """The thoughts that are streamed."""
        thoughts = self._thoughts
        if thoughts is None:
            thoughts = self._thoughts = Growths(self.ledger, Reasoning)
        return thoughts

    @property
    def calls(self) -> Calls:
        """The calls, streamed or whole."""
        calls = self._calls
        if calls is None:
            calls = self._calls = Calls(self.ledger)
        return calls

    def close(self) -> None:
        """Refuse a finish while anything is open."""
        for tracked in (self._texts, self._thoughts, self._calls):
            if tracked is not None:
                tracked.close()


def _text(building: Building, part: Text | Reasoning) -> None:
    ledger = building.ledger
    ledger.grow(size_of_text(part.text))
    ledger.weigh(part.metadata)
    ledger.place(part)


def _file(building: Building, part: File) -> None:
    if (part.data is None) == (part.uri is None) or type(part.data) not in (bytes, type(None)):
        raise Violation("malformed-part", "a file has not exactly one of data and address")
    size = len(part.data or b"") if part.uri is None else size_of_text(part.uri)
    building.ledger.grow(size_of_text(part.media_type) + size)
    building.ledger.weigh(part.metadata)
    building.ledger.place(part)


def _source(building: Building, part: Source) -> None:
    building.ledger.grow(size_of_text(part.uri) + size_of_text(part.title))
    building.ledger.weigh(part.metadata)
    building.ledger.place(part)


def _finish(building: Building, part: Finish) -> None:
    building.close()
    if type(part.reason) is not str or part.reason not in _REASONS:
        raise Violation("malformed-part", "a finish has no known reason")
    if part.usage is not None:
        problem = usage_problem(part.usage) if type(part.usage) is Usage else "it is no usage"
        if problem is not None:
            raise Violation("usage", problem)
    building.ledger.weigh(part.metadata)
    building.finish = part


# A step takes the one class that it is filed under, which a table cannot say in its type.
STEPS: dict[type, Callable[[Building, Any], None]] = {
    Text: _text,
    Reasoning: _text,
    File: _file,
    Source: _source,
    ToolCall: lambda building, part: building.calls.declare(part),
    ToolResult: lambda building, part: building.calls.answer(part),
    Finish: _finish,
    TextStart: lambda building, part: building.texts.start(part),
    TextDelta: lambda building, part: building.texts.delta(part),
    TextEnd: lambda building, part: building.texts.end(part),
    ReasoningStart: lambda building, part: building.thoughts.start(part),
    ReasoningDelta: lambda building, part: building.thoughts.delta(part),
    ReasoningEnd: lambda building, part: building.thoughts.end(part),
    ToolParamsStart: lambda building, part: building.calls.start(part),
    ToolParamsDelta: lambda building, part: building.calls.delta(part),
    ToolParamsEnd: lambda building, part: building.calls.end(part),
}
