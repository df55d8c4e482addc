"""Whole parts cut into the deltas that a provider would stream, the same way each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lamina.model import (
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponsePart,
    StreamPart,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
)


def in_deltas(parts: Iterable[ResponsePart | StreamPart], size: int) -> Iterator[StreamPart]:
    """Stream parts: texts, thoughts and arguments in deltas of `size` code points, everything else as it is.

    Example:
        >>> from lamina.model import Text
        >>> [part.text for part in in_deltas([Text("abcd")], 3) if isinstance(part, TextDelta)]
        ['abc', 'd']
    """
    for index, part in enumerate(parts):
        key = f"part-{index}"
        if isinstance(part, Text):
            yield TextStart(key)
            for piece in _cut(part.text, size):
                yield TextDelta(key, piece)
            yield TextEnd(key, part.metadata)
        elif isinstance(part, Reasoning):
            yield ReasoningStart(key)
            for piece in _cut(part.text, size):
                yield ReasoningDelta(key, piece)
            yield ReasoningEnd(key, part.metadata)
        elif isinstance(part, ToolCall):
            yield ToolParamsStart(part.id, part.name)
            for piece in _cut(part.arguments, size):
                yield ToolParamsDelta(part.id, piece)
            yield ToolParamsEnd(part.id)
            yield part
        else:
            yield part


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
