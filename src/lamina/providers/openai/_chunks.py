"""The chunks of a streamed response, turned into stream parts as they come.

The SDK's own accumulator stops at what several providers send (a usage chunk without choices, calls without index or
id), so the chunks are read here.
"""

from __future__ import annotations

from collections.abc import Iterator

from lamina.model import (
    Metadata,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamPart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from lamina.providers._wire import Object, count_in, error_in_message, object_in, objects_in, text_in
from lamina.providers.openai._calls import StreamedCalls
from lamina.providers.openai._finish import finish_of, metadata_of
from lamina.providers.openai._usage import usage_of

TEXT_ID = "text"
REASONING_ID = "reasoning"


class Chunks:
    """Follows one streamed response; the text is one part, whatever comes between its deltas.

    Example:
        >>> chunks = Chunks("gpt")
        >>> [*chunks.feed({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]})]
        [TextStart(id='text', metadata={}), TextDelta(id='text', text='Hi')]
        >>> [part.__class__.__name__ for part in chunks.end()]
        ['TextEnd', 'Finish']
    """

    __slots__ = ("_calls", "_metadata", "_model", "_reason", "_refused", "_text", "_thought", "_usage")

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls = StreamedCalls()
        self._text = False
        self._thought = False
        self._refused = False
        self._reason = ""
        self._usage: Usage | None = None
        self._metadata: Metadata = {}

    @property
    def complete(self) -> bool:
        """Whether the model said why it stopped: without that, the response was cut off."""
        return bool(self._reason)

    def feed(self, chunk: Object) -> Iterator[StreamPart]:
        """Take one chunk.

        Raises:
            Broken: The chunk is an error of the provider's.
        """
        error_in_message(chunk, self._model)
        self._metadata = self._metadata or metadata_of(chunk)
        # Some providers count up in every chunk, most count once in a last one that has no choices.
        self._usage = usage_of(chunk) or self._usage
        for choice in objects_in(chunk, "choices"):
            if (count_in(choice, "index") or 0) == 0:
                yield from self._delta(object_in(choice, "delta"))
                self._reason = text_in(choice, "finish_reason") or self._reason

    def end(self) -> Iterator[StreamPart]:
        """Close what is open and finish."""
        if self._thought:
            yield ReasoningEnd(REASONING_ID)
        if self._text:
            yield TextEnd(TEXT_ID)
        yield from self._calls.end()
        yield finish_of(
            self._reason,
            calls=self._calls.any,
            refused=self._refused,
            usage=self._usage,
            metadata=self._metadata,
        )

    def _delta(self, delta: Object) -> Iterator[StreamPart]:
        if thought := text_in(delta, "reasoning_content") or text_in(delta, "reasoning"):
            if not self._thought:
                self._thought = True
                yield ReasoningStart(REASONING_ID)
            yield ReasoningDelta(REASONING_ID, thought)
        refusal = text_in(delta, "refusal")
        self._refused = self._refused or bool(refusal)
        if text := text_in(delta, "content") + refusal:
            if not self._text:
                self._text = True
                yield TextStart(TEXT_ID)
            yield TextDelta(TEXT_ID, text)
        for call in objects_in(delta, "tool_calls"):
            yield from self._calls.feed(call, text_in(object_in(self._metadata, "openai"), "id"))
