"""The tool calls of a response, in the dialects in which providers stream them.

OpenAI sends an index with every piece, and the id and name with the first. Others send no index, no id, the whole
call in one piece, or one index for all calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from lamina.model import StreamPart, ToolCall, ToolParamsDelta, ToolParamsEnd, ToolParamsStart
from lamina.providers._wire import Broken, Object, count_in, object_in, text_in, written
from lamina.schema import JsonValue

LONGEST_ARGUMENTS = 8 * 1024 * 1024
"""The most characters of arguments that one response may stream: what the reducer allows a whole response."""


class _Call:
    __slots__ = ("arguments", "id", "name", "started")

    def __init__(self, key: str) -> None:
        self.id = key
        self.name = ""
        self.arguments: list[str] = []
        self.started = False


class StreamedCalls:
    """Gathers the pieces of each call.

    Example:
        >>> calls = StreamedCalls()
        >>> [*calls.feed({"index": 0, "id": "c1", "function": {"name": "add", "arguments": "{}"}}, "")]
        [ToolParamsStart(id='c1', name='add'), ToolParamsDelta(id='c1', text='{}')]
        >>> [*calls.end()][-1]
        ToolCall(id='c1', name='add', arguments='{}', executor='application', metadata={})
    """

    __slots__ = ("_calls", "_open", "_size")

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        # The call that a piece with this index belongs to; `None` is for pieces that have no index.
        self._open: dict[int | None, _Call] = {}
        self._size = 0

    @property
    def any(self) -> bool:
        """Whether there is at least one call."""
        return bool(self._calls)

    def feed(self, piece: Object, response: str) -> Iterator[StreamPart]:
        """Take one piece.

        Args:
            piece: One element of `delta.tool_calls`.
            response: The response's id, of which a missing call id is made.

        Raises:
            Broken: The arguments are too long.
        """
        function = object_in(piece, "function")
        call = self._call_of(piece, text_in(function, "name"), response)
        text = arguments_of(function)
        self._size += len(text)
        if self._size > LONGEST_ARGUMENTS:
            raise Broken.unreadable("the arguments of the calls are too long")
        if text:
            call.arguments.append(text)
        if call.started:
            if text:
                yield ToolParamsDelta(call.id, text)
        elif call.name:
            yield from _start(call)

    def end(self) -> Iterator[StreamPart]:
        """Complete every call, in the order in which they began."""
        for call in self._calls:
            if not call.started:
                yield from _start(call)
            yield ToolParamsEnd(call.id)
            yield ToolCall(call.id, call.name, "".join(call.arguments))

    def _call_of(self, piece: Object, name: str, response: str) -> _Call:
        index, key = count_in(piece, "index"), text_in(piece, "id")
        call = self._open.get(index)
        # A piece with a name and another id is a call of its own, even at an index that is taken. Some providers
        # repeat id and name with each piece. Without index and id, a name begins a call.
        another = call is not None and bool(name) and (key != call.id if key else index is None)
        if call is None or another:
            call = _Call(key or call_id(response, len(self._calls)))
            self._calls.append(call)
            self._open[index] = call
        call.name = call.name or name
        return call


def _start(call: _Call) -> Iterator[StreamPart]:
    call.started = True
    yield ToolParamsStart(call.id, call.name)
    if call.arguments:
        yield ToolParamsDelta(call.id, "".join(call.arguments))


def call_id(response: str, place: int) -> str:
    """Make an id for a call that came without one; it differs from those of other responses where those have ids.

    Example:
        >>> call_id("chatcmpl-123", 0)
        'call-chatcmpl-123-0'
    """
    return f"call-{response[-24:]}-{place}" if response else f"call-{place}"


def arguments_of(function: Object) -> str:
    """Give the raw text of arguments; a provider that sends an object instead gets it written as text."""
    value = function.get("arguments")
    if isinstance(value, str):
        return value
    return written(cast("JsonValue", value)) if isinstance(value, dict) else ""
