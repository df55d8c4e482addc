"""The content blocks of a message, each turned into stream parts as it grows, and into whole parts once it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from lamina.model import (
    ContentPart,
    Executor,
    Metadata,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
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
)
from lamina.providers._wire import Object, object_in, text_in, written
from lamina.schema import JsonValue


class Block:
    """A block of a kind that has no part, and is passed over; the others derive from it."""

    __slots__ = ("key", "parts")

    def __init__(self, key: str) -> None:
        self.key = key
        self.parts: Sequence[ContentPart] = ()
        """The whole parts, once the block has ended."""

    def start(self, block: Object) -> Iterator[StreamPart]:
        """Take the block as it began; most begin empty."""
        return iter(())

    def delta(self, delta: Object) -> Iterator[StreamPart]:
        """Let it grow."""
        return iter(())

    def end(self) -> Iterator[StreamPart]:
        """Complete it."""
        return iter(())


class TextBlock(Block):
    """A text, and after it what it cites; a text without a character is none."""

    __slots__ = ("_pieces", "_sources")

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._pieces: list[str] = []
        self._sources: list[Source] = []

    def start(self, block: Object) -> Iterator[StreamPart]:
        """Take the text so far."""
        return self._grow(text_in(block, "text"))

    def delta(self, delta: Object) -> Iterator[StreamPart]:
        """Take more text, or a citation; one without an address has no part."""
        citation = object_in(delta, "citation")
        if address := text_in(citation, "url") or text_in(citation, "source"):
            self._sources.append(Source(address, text_in(citation, "title")))
        return self._grow(text_in(delta, "text"))

    def end(self) -> Iterator[StreamPart]:
        """Close the text and give its sources."""
        if self._pieces:
            yield TextEnd(self.key)
        yield from self._sources
        self.parts = (*([Text("".join(self._pieces))] if self._pieces else []), *self._sources)

    def _grow(self, text: str) -> Iterator[StreamPart]:
        if text:
            if not self._pieces:
                yield TextStart(self.key)
            self._pieces.append(text)
            yield TextDelta(self.key, text)


class ThinkingBlock(Block):
    """A thought, whose signature the provider wants back; where it may not be read, it is all signature."""

    __slots__ = ("_kept", "_pieces")

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._pieces: list[str] = []
        self._kept: dict[str, JsonValue] = {}

    def start(self, block: Object) -> Iterator[StreamPart]:
        """Open the thought."""
        yield ReasoningStart(self.key)
        if hidden := text_in(block, "data"):
            self._kept["redacted"] = hidden
        yield from self.delta(block)

    def delta(self, delta: Object) -> Iterator[StreamPart]:
        """Take more of the thought, or its signature."""
        if signature := text_in(delta, "signature"):
            self._kept["signature"] = signature
        if text := text_in(delta, "thinking"):
            self._pieces.append(text)
            yield ReasoningDelta(self.key, text)

    def end(self) -> Iterator[StreamPart]:
        """Close the thought, with its signature."""
        metadata: Metadata = {"anthropic": self._kept} if self._kept else {}
        yield ReasoningEnd(self.key, metadata)
        self.parts = (Reasoning("".join(self._pieces), metadata),)


class CallBlock(Block):
    """A call, of the application's tools or of one that the provider runs itself."""

    __slots__ = ("_executor", "_given", "_name", "_pieces")

    def __init__(self, key: str, name: str, executor: Executor = "application") -> None:
        super().__init__(key)
        self._name = name
        self._executor: Executor = executor
        self._given: Object = {}
        self._pieces: list[str] = []

    @property
    def is_ours(self) -> bool:
        """Whether the application is to run it."""
        return self._executor == "application"

    def start(self, block: Object) -> Iterator[StreamPart]:
        """Open the arguments; the provider shows an empty object until they come."""
        self._given = object_in(block, "input")
        yield ToolParamsStart(self.key, self._name)

    def delta(self, delta: Object) -> Iterator[StreamPart]:
        """Take more of the arguments' text."""
        if text := text_in(delta, "partial_json"):
            self._pieces.append(text)
            yield ToolParamsDelta(self.key, text)

    def end(self) -> Iterator[StreamPart]:
        """Complete the call; one without arguments never gets any text."""
        if not self._pieces:
            self._pieces.append(written(cast("JsonValue", self._given)))
            yield ToolParamsDelta(self.key, self._pieces[0])
        yield ToolParamsEnd(self.key)
        metadata: Metadata = {"anthropic": {"type": "server_tool_use"}} if self._executor == "provider" else {}
        call = ToolCall(self.key, self._name, "".join(self._pieces), self._executor, metadata)
        yield call
        self.parts = (call,)


class ResultBlock(Block):
    """What a tool that the provider ran came to; it arrives whole, and is kept as it is to be sent back."""

    __slots__ = ("_name",)

    def __init__(self, key: str, name: str) -> None:
        super().__init__(key)
        self._name = name

    def start(self, block: Object) -> Iterator[StreamPart]:
        """Give the result."""
        failed = text_in(object_in(block, "content"), "type").endswith("_error")
        result = ToolResult(
            self.key,
            self._name,
            cast("JsonValue", block.get("content")),
            is_error=failed,
            executor="provider",
            metadata={"anthropic": {"type": text_in(block, "type")}},
        )
        self.parts = (result,)
        yield result
