"""The events of a streamed message, turned into stream parts as they come, and into whole parts at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lamina.model import ConnectionLost, Finish, ModelError, ResponsePart, StreamPart
from lamina.providers._wire import Broken, Object, count_in, error_in_message, object_in, text_in
from lamina.providers.anthropic._blocks import Block, CallBlock, ResultBlock, TextBlock, ThinkingBlock
from lamina.providers.anthropic._finish import finish_of, metadata_of
from lamina.providers.anthropic._usage import later, usage_of

LONGEST_MESSAGE = 8 * 1024 * 1024
"""The most characters of a message: what the reducer allows a whole response."""

MOST_BLOCKS = 16_384
"""The most blocks of a message: as many parts as the reducer allows."""


class Events:
    """Follows one streamed message.

    Example:
        >>> events = Events("claude")
        >>> _ = [*events.feed({"type": "message_start", "message": {"id": "msg_1"}})]
        >>> [*events.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}})]
        [TextStart(id='text-0', metadata={}), TextDelta(id='text-0', text='Hi')]
        >>> _ = [*events.feed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})]
        >>> _ = [*events.feed({"type": "message_stop"})]
        >>> [part.__class__.__name__ for part in events.end()]
        ['TextEnd', 'Finish']
        >>> events.parts[0]
        Text(text='Hi', metadata={})
    """

    __slots__ = ("_blocks", "_counts", "_delta", "_finish", "_message", "_model", "_names", "_open", "_size", "stopped")

    def __init__(self, model: str) -> None:
        self._model = model
        self._message: Object = {}
        self._delta: Object = {}
        self._counts: Object = {}
        self._blocks: list[Block] = []
        self._open: dict[int, Block] = {}
        # The tools that the provider runs, by their calls: a result does not say whose it is.
        self._names: dict[str, str] = {}
        self._size = 0
        self._finish: Finish | None = None
        self.stopped = False
        """Whether the provider said that the message is over: without that, it was cut off."""

    @property
    def parts(self) -> Sequence[ResponsePart]:
        """The whole parts, `Finish` last; complete after `end`."""
        parts: list[ResponsePart] = [part for block in self._blocks for part in block.parts]
        return parts if self._finish is None else [*parts, self._finish]

    def feed(self, event: Object) -> Iterator[StreamPart]:
        """Take one event; of a kind that is not known, it says nothing.

        Raises:
            Broken: The event is an error of the provider's, or comes where none may.
        """
        error_in_message(event, self._model)
        kind = text_in(event, "type")
        if kind == "content_block_delta":
            delta = object_in(event, "delta")
            self._weigh(delta)
            yield from self._opened(event).delta(delta)
        elif kind == "content_block_start":
            yield from self._start(event)
        elif kind == "content_block_stop":
            yield from self._opened(event).end()
            del self._open[count_in(event, "index") or 0]
        elif kind == "message_start":
            self._message = object_in(event, "message")
            self._counts = later(self._counts, object_in(self._message, "usage"))
        elif kind == "message_delta":
            self._delta = later(self._delta, object_in(event, "delta"))
            self._counts = later(self._counts, object_in(event, "usage"))
        elif kind == "message_stop":
            self.stopped = True
        elif kind == "error":
            raise Broken.unreadable("the provider sent an error that says nothing")

    def end(self) -> Iterator[StreamPart]:
        """Close what is open and finish.

        Raises:
            Broken: The provider never said why the model stopped.
        """
        reason = text_in(self._delta, "stop_reason")
        if not reason:
            raise Broken(ModelError(ConnectionLost(), "the response ended before it was complete"))
        for block in self._open.values():
            yield from block.end()
        self._open.clear()
        calls = any(isinstance(block, CallBlock) and block.is_ours for block in self._blocks)
        metadata = metadata_of(self._message, self._delta)
        self._finish = finish_of(reason, calls=calls, usage=usage_of(self._counts), metadata=metadata)
        yield self._finish

    def _start(self, event: Object) -> Iterator[StreamPart]:
        index, given = count_in(event, "index") or 0, object_in(event, "content_block")
        if index in self._open:
            raise Broken.unreadable("a block of the message began twice")
        if len(self._blocks) == MOST_BLOCKS:
            raise Broken.unreadable("the message has too many blocks")
        self._weigh(given)
        block = self._open[index] = self._made(len(self._blocks), given)
        self._blocks.append(block)
        yield from block.start(given)

    def _made(self, place: int, given: Object) -> Block:
        kind, name = text_in(given, "type"), text_in(given, "name")
        if kind == "text":
            return TextBlock(f"text-{place}")
        if kind in ("thinking", "redacted_thinking"):
            return ThinkingBlock(f"thinking-{place}")
        if kind in ("tool_use", "server_tool_use"):
            key = text_in(given, "id") or f"call-{text_in(self._message, 'id')[-24:]}-{place}"
            if kind == "tool_use":
                return CallBlock(key, name)
            self._names[key] = name
            return CallBlock(key, name, "provider")
        answered = text_in(given, "tool_use_id")
        if kind.endswith("_tool_result") and answered in self._names:
            return ResultBlock(answered, self._names[answered])
        return Block(f"other-{place}")

    def _opened(self, event: Object) -> Block:
        block = self._open.get(count_in(event, "index") or 0)
        if block is None:
            raise Broken.unreadable("an event came for a block that is not open")
        return block

    def _weigh(self, given: Object) -> None:
        for fields in (given, object_in(given, "citation")):
            self._size += sum(len(value) for value in fields.values() if isinstance(value, str))
        if self._size > LONGEST_MESSAGE:
            raise Broken.unreadable("the message is too long")
