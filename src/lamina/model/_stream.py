"""The parts of a streamed response: texts that grow come as a start, deltas and an end of one id (MODEL-003).

Different ids may be open at once and interleave; the place of a part in the message is where it started.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from lamina.effect import Value
from lamina.model._parts import File, Finish, Metadata, Source, ToolCall, ToolResult, no_metadata


@attrs.frozen(eq=False, repr=False)
class TextStart(Value):
    """A text opens."""

    id: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class TextDelta(Value):
    """A text grows; a delta is cut between code points, never inside one."""

    id: str
    text: str


@attrs.frozen(eq=False, repr=False)
class TextEnd(Value):
    """A text is complete; its metadata is laid over the start's."""

    id: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class ReasoningStart(Value):
    """A thought opens."""

    id: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class ReasoningDelta(Value):
    """A thought grows."""

    id: str
    text: str


@attrs.frozen(eq=False, repr=False)
class ReasoningEnd(Value):
    """A thought is complete; a signature that arrived last is in its metadata."""

    id: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class ToolParamsStart(Value):
    """A call's arguments open; `id` is the id of the call that will be declared."""

    id: str
    name: str


@attrs.frozen(eq=False, repr=False)
class ToolParamsDelta(Value):
    """A call's arguments grow: a piece of the raw JSON text."""

    id: str
    text: str


@attrs.frozen(eq=False, repr=False)
class ToolParamsEnd(Value):
    """A call's arguments are complete; the `ToolCall` with the same text follows."""

    id: str


StreamPart: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolParamsStart
    | ToolParamsDelta
    | ToolParamsEnd
    | File
    | Source
    | ToolCall
    | ToolResult
    | Finish
)
"""What `LanguageModel.stream` emits."""
