"""Laws: a response streamed in any pieces, in any order that the protocol allows, is the response that came whole."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lamina.model import (
    ContentPart,
    File,
    Finish,
    FinishReason,
    ModelProtocolError,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Reducer,
    Source,
    StreamPart,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
    ToolResult,
    Usage,
    reduce,
)
from lamina.testing._deltas import in_deltas

texts = st.text(max_size=12)
words = st.text(min_size=1, max_size=6)
metadata = st.dictionaries(words, st.one_of(st.integers(), texts, st.lists(st.booleans(), max_size=2)), max_size=2)
reasons: st.SearchStrategy[FinishReason] = st.sampled_from(
    ["stop", "length", "content-filter", "tool-calls", "error", "pause", "other", "unknown"]
)


@st.composite
def contents(draw: st.DrawFn) -> list[ContentPart]:
    """Whole parts that keep every rule: unique ids, and a result after each call that the provider runs."""
    parts: list[ContentPart] = []
    for index in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["text", "reasoning", "call", "search", "file", "source"]))
        extra = draw(metadata)
        if kind == "text":
            parts.append(Text(draw(texts), extra))
        elif kind == "reasoning":
            parts.append(Reasoning(draw(texts), extra))
        elif kind == "call":
            parts.append(ToolCall(f"c{index}", draw(words), draw(texts), metadata=extra))
        elif kind == "search":
            name = draw(words)
            parts.append(ToolCall(f"s{index}", name, draw(texts), "provider", extra))
            parts.append(ToolResult(f"s{index}", name, draw(texts), draw(st.booleans()), "provider"))
        elif kind == "file":
            parts.append(File("image/png", draw(st.binary(max_size=8)), metadata=extra))
        else:
            parts.append(Source(draw(texts), draw(texts), extra))
    return parts


@st.composite
def finishes(draw: st.DrawFn) -> Finish:
    usage = draw(st.none() | st.builds(Usage, st.integers(10, 99), st.integers(5, 9), st.integers(0, 5)))
    return Finish(draw(reasons), usage, draw(metadata))


def cut(draw: st.DrawFn, text: str) -> list[str]:
    """Cut a text anywhere, with empty pieces among them."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def split(draw: st.DrawFn, extra: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Spread metadata over a start and an end; what both have is the end's."""
    keys = [key for key in extra if draw(st.booleans())]
    both = {key: "overwritten" for key in extra if draw(st.booleans())}
    return {**both, **{key: extra[key] for key in keys}}, {k: v for k, v in extra.items() if k not in keys or k in both}


def stream_of(draw: st.DrawFn, index: int, part: ContentPart) -> list[StreamPart]:
    key = f"p{index}"
    if isinstance(part, Text | Reasoning):
        start, end = split(draw, dict(part.metadata))
        pieces = cut(draw, part.text)
        if isinstance(part, Text):
            return [TextStart(key, start), *(TextDelta(key, piece) for piece in pieces), TextEnd(key, end)]
        return [ReasoningStart(key, start), *(ReasoningDelta(key, piece) for piece in pieces), ReasoningEnd(key, end)]
    if isinstance(part, ToolCall) and draw(st.booleans()):
        pieces = cut(draw, part.arguments)
        deltas = (ToolParamsDelta(part.id, piece) for piece in pieces)
        return [ToolParamsStart(part.id, part.name), *deltas, ToolParamsEnd(part.id), part]
    return [part]


@st.composite
def interleavings(draw: st.DrawFn, parts: list[ContentPart], finish: Finish) -> list[StreamPart]:
    """Any order in which the parts start one after the other, and then grow and end as they like."""
    waiting = [stream_of(draw, index, part) for index, part in enumerate(parts)]
    declared = {part.id for part in parts if isinstance(part, ToolCall)}
    open_: list[list[StreamPart]] = []
    order: list[StreamPart] = []
    said: set[str] = set()
    while waiting or open_:
        head = waiting[0][0] if waiting else None
        # A result may only come once its call was declared.
        can_start = head is not None and not (isinstance(head, ToolResult) and head.id in declared - said)
        if can_start and (not open_ or draw(st.booleans())):
            lane = waiting.pop(0)
        else:
            lane = open_.pop(draw(st.integers(0, len(open_) - 1)))
        part = lane.pop(0)
        if isinstance(part, ToolCall):
            said.add(part.id)
        order.append(part)
        if lane:
            open_.append(lane)
    return [*order, finish]


@st.composite
def both_ways(draw: st.DrawFn) -> tuple[list[Any], list[StreamPart]]:
    parts, finish = draw(contents()), draw(finishes())
    return [*parts, finish], draw(interleavings(parts, finish))


@given(both_ways())
def test_streaming_is_not_streaming(sequences: tuple[list[Any], list[StreamPart]]) -> None:
    whole, streamed = sequences

    assert reduce(streamed).unwrap() == reduce(whole).unwrap()
    assert list(reduce(streamed).unwrap().message.parts) == whole[:-1]


@given(contents(), finishes(), st.integers(1, 5))
def test_the_scripted_models_cut_is_one_of_the_orders(parts: list[ContentPart], finish: Finish, size: int) -> None:
    assert reduce([*in_deltas(parts, size), finish]) == reduce([*parts, finish])


@given(both_ways(), st.data())
def test_a_stream_that_lost_a_part_never_passes_for_another_one(sequences: Any, data: st.DataObject) -> None:
    """Lose any one part: a rule is broken, unless it was a whole part, an empty delta or a piece of text."""
    _, streamed = sequences
    place = data.draw(st.integers(0, len(streamed) - 1))
    lost = streamed[place]

    reduced = reduce([*streamed[:place], *streamed[place + 1 :]])

    if isinstance(lost, ToolParamsStart | ToolParamsEnd | TextStart | TextEnd | ReasoningStart | ReasoningEnd | Finish):
        assert reduced.failure().rule in ("pairing", "params-incomplete", "params-mismatch", "no-finish")
    elif isinstance(lost, ToolParamsDelta) and lost.text:
        assert reduced.failure().rule == "params-mismatch"
    elif isinstance(lost, ToolCall) and lost.executor == "provider":
        assert isinstance(reduced.failure(), ModelProtocolError)


@given(both_ways(), st.data())
def test_a_stream_that_repeats_a_part_is_refused(sequences: Any, data: st.DataObject) -> None:
    _, streamed = sequences
    place = data.draw(st.integers(0, len(streamed) - 1))
    twice = streamed[place]

    reduced = reduce([*streamed[: place + 1], twice, *streamed[place + 1 :]])

    if not isinstance(twice, TextDelta | ReasoningDelta | File | Source) and getattr(twice, "text", "x"):
        assert isinstance(reduced.failure(), ModelProtocolError)


@given(both_ways())
def test_every_prefix_lacks_its_finish_or_more(sequences: tuple[list[Any], list[StreamPart]]) -> None:
    _, streamed = sequences
    for end in range(len(streamed)):
        assert reduce(streamed[:end]).failure().rule == "no-finish"


@given(both_ways())
def test_reducing_changes_no_part(sequences: tuple[list[Any], list[StreamPart]]) -> None:
    _, streamed = sequences
    before = copy.deepcopy(streamed)

    reduce(streamed)

    assert streamed == before


@given(st.lists(st.one_of(contents(), st.just([Finish("stop")])), max_size=4), st.permutations(range(8)))
def test_any_sequence_at_all_gives_a_value(groups: list[list[Any]], order: list[int]) -> None:
    """Shuffled, doubled, without end: never an exception, and the same answer however often it is asked for."""
    parts = [part for group in groups for part in group]
    shuffled = [parts[place % len(parts)] for place in order] if parts else []
    reducer = Reducer()
    broken = [reducer.feed(part) for part in shuffled]

    first = [error for error in broken if error is not None]
    assert reducer.finish() == reducer.finish()
    assert all(error is first[0] for error in first)
