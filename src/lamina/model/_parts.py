"""What messages and responses are made of: whole parts, each with its provider's metadata attached (MODEL-001).

Metadata is opaque: an adapter puts there what its provider wants back (a signature, an item id), under its own name,
and nobody else reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from lamina.effect import Value
from lamina.model._usage import Usage
from lamina.schema import JsonValue

Executor: TypeAlias = Literal["application", "provider"]
"""Who runs a tool: the application, through the pipeline, or the provider, before it answers."""

FinishReason: TypeAlias = Literal[
    "stop", "length", "content-filter", "tool-calls", "error", "pause", "other", "unknown"
]
"""Why a model stopped; the vocabulary is closed, and what an adapter does not know is `unknown`."""

Metadata: TypeAlias = Mapping[str, JsonValue]


def no_metadata() -> Metadata:
    """Give a part of its own the empty metadata: a shared one could be written to."""
    return {}


@attrs.frozen(eq=False, repr=False)
class Text(Value):
    """Plain text, from whoever speaks.

    Example:
        >>> Text("hello")
        Text(text='hello', metadata={})
    """

    text: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class Reasoning(Value):
    """What a model thought aloud; kept so that providers who sign it get it back."""

    text: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class File(Value):
    """A file or image: its bytes, or where to find it; one of the two is given.

    Attributes:
        media_type: `image/png` and the like.
        data: The content itself.
        uri: Where the provider may fetch it.
        metadata: The provider's own, opaque.
    """

    media_type: str
    data: bytes | None = None
    uri: str | None = None
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class Source(Value):
    """Something that a model cites.

    Attributes:
        uri: The address of what is cited.
        title: What a person would call it; may be empty.
        metadata: The provider's own, opaque.
    """

    uri: str
    title: str = ""
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class ToolCall(Value):
    """A model asks for a tool.

    Attributes:
        id: Unique within its response.
        name: The tool, as the model spelled it.
        arguments: The raw JSON text, exactly as the model wrote it; it may be no JSON at all.
        executor: Who runs it.
        metadata: The provider's own, opaque.

    Example:
        >>> ToolCall("call-1", "add", '{"x": 1}').executor
        'application'
    """

    id: str
    name: str
    arguments: str
    executor: Executor = "application"
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class ToolResult(Value):
    """What a call came to, as the model is told.

    Attributes:
        id: The call's id.
        name: The call's tool.
        content: What the tool answered.
        is_error: Whether it is a refusal or a failure.
        executor: Who ran it; in a response only the provider may have.
        metadata: The provider's own, opaque.
    """

    id: str
    name: str
    content: JsonValue = attrs.field(hash=False)
    is_error: bool = False
    executor: Executor = "application"
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class Finish(Value):
    """The last part of every response.

    Attributes:
        reason: Why the model stopped.
        usage: What it cost; `None` where the provider did not say, and then a run fails rather than guess.
        metadata: The provider's own, opaque: a response id, the model's exact name.
    """

    reason: FinishReason
    usage: Usage | None = None
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


ContentPart: TypeAlias = Text | Reasoning | File | Source | ToolCall | ToolResult
"""What an assistant's message can hold."""

ResponsePart: TypeAlias = Text | Reasoning | File | Source | ToolCall | ToolResult | Finish
"""What `LanguageModel.generate` answers with: whole parts, `Finish` last."""
