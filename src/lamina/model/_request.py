"""What a model is asked: messages, the tools it may call, and the shape of the answer (MODEL-002)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from lamina.effect import Value
from lamina.model._parts import ContentPart, File, Metadata, Text, ToolCall, ToolResult, no_metadata
from lamina.schema import JsonValue

ToolChoice: TypeAlias = Literal["auto", "none", "required"]
"""Whether the model may call tools, must not, or must."""


@attrs.frozen(eq=False, repr=False)
class SystemMessage(Value):
    """Instructions, or the framework's own directive."""

    text: str
    metadata: Metadata = attrs.field(factory=no_metadata, hash=False)


@attrs.frozen(eq=False, repr=False)
class UserMessage(Value):
    """What the person, or whoever stands in for one, says.

    Example:
        >>> UserMessage.of("hello").text
        'hello'
    """

    parts: tuple[Text | File, ...]

    @classmethod
    def of(cls, text: str) -> UserMessage:
        """Make a message of one text."""
        return cls((Text(text),))

    @property
    def text(self) -> str:
        """All texts, joined."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])


@attrs.frozen(eq=False, repr=False)
class AssistantMessage(Value):
    """What a model answered: its parts in the order in which they first appeared.

    Example:
        >>> AssistantMessage((Text("let me "), ToolCall("1", "add", "{}"), Text("see"))).text
        'let me see'
    """

    parts: tuple[ContentPart, ...]

    @property
    def text(self) -> str:
        """All texts, joined; reasoning is none."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that the application is to run, in declaration order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall) and part.executor == "application"])


@attrs.frozen(eq=False, repr=False)
class ToolMessage(Value):
    """The results of one batch of calls, in declaration order: all of them or none (RUN-005)."""

    results: tuple[ToolResult, ...]


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@attrs.frozen(eq=False, repr=False)
class ToolSpec(Value):
    """A tool, as a model is shown it.

    Attributes:
        name: What the model calls it by.
        description: When to use it.
        input_schema: JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    input_schema: Mapping[str, JsonValue] = attrs.field(hash=False)


@attrs.frozen(eq=False, repr=False)
class OutputSpec(Value):
    """The JSON that a final answer has to be, for providers that can hold a model to it.

    Attributes:
        name: A short name for the schema, which some providers ask for.
        json_schema: JSON Schema 2020-12.
    """

    name: str
    json_schema: Mapping[str, JsonValue] = attrs.field(hash=False)


@attrs.frozen(eq=False, repr=False)
class ModelRequest(Value):
    """One request: everything that the model will know.

    Attributes:
        messages: The conversation, oldest first.
        tools: What the model may call.
        tool_choice: Whether it may, must not or must.
        output: The shape of a final answer; `None` is plain text.

    Example:
        >>> ModelRequest((SystemMessage("Be brief."), UserMessage.of("Hello?"))).tool_choice
        'auto'
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    output: OutputSpec | None = None
