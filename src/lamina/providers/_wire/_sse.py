"""Server-sent events out of raw bytes, bounded: what the SDK's own decoder leaves to chance.

Bytes are cut into lines before they are decoded, so that a character split over two packets stays whole, and a line
without an end cannot fill the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lamina.model import ConnectionLost, ModelError
from lamina.providers._wire._broken import Broken

LONGEST_EVENT = 4 * 1024 * 1024
"""The most bytes that one event may have; a chunk of text has about 300."""

_FIELDS = (b"", b"data", b"event", b"id", b"retry")
_LINE_END = re.compile(rb"\r\n|\n|\r")


def _may_begin(line: bytes) -> bool:
    """Say whether a line that was cut off may have become a field or a comment."""
    name, colon, _ = line.partition(b":")
    return name in _FIELDS if colon else any(field.startswith(name) for field in _FIELDS)


class EventDecoder:
    """Takes bytes as they arrive and gives the `data` of each complete event.

    Example:
        >>> decoder = EventDecoder()
        >>> list(decoder.feed(b": hello\\n\\ndata: {\\"a\\"")), list(decoder.feed(b": 1}\\r\\n\\r\\n"))
        ([], ['{"a": 1}'])
    """

    __slots__ = ("_buffer", "_data", "_limit", "_scanned", "_size", "events", "strays")

    def __init__(self, limit: int = LONGEST_EVENT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        # How far the buffer is known to hold no line end: a long line is not read from its start for every packet.
        self._scanned = 0
        self._data: list[bytes] = []
        self._size = 0
        self.events = 0
        """How many events were complete."""
        self.strays = 0
        """How many lines were no field and no comment: an HTML page has many."""

    def feed(self, data: bytes) -> Iterator[str]:
        """Take some bytes.

        Raises:
            Broken: An event is too long, or no UTF-8.
        """
        self._buffer += data
        while (line := self._next_line()) is not None:
            if line:
                self._field(line)
            elif self._data:
                yield self._event()
        if len(self._buffer) > self._limit:
            raise Broken.unreadable("a line of the stream is too long")

    def cut_off(self) -> Broken:
        """Say what it means that the bytes ended too early: the connection broke, or this was no event stream."""
        if not self.events and (self.strays or not _may_begin(bytes(self._buffer))):
            return Broken.unreadable("the response is no event stream")
        return Broken(ModelError(ConnectionLost(), "the response ended before it was complete"))

    def _next_line(self) -> bytes | None:
        found = _LINE_END.search(self._buffer, self._scanned)
        # A carriage return at the very end may be half of a line end.
        if found is None or (found.group() == b"\r" and found.end() == len(self._buffer)):
            self._scanned = len(self._buffer) if found is None else found.start()
            return None
        line = bytes(self._buffer[: found.start()])
        del self._buffer[: found.end()]
        self._scanned = 0
        return line

    def _field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value)
            if self._size > self._limit:
                raise Broken.unreadable("an event of the stream is too long")
        elif name not in _FIELDS or not colon:
            self.strays += 1

    def _event(self) -> str:
        data = b"\n".join(self._data)
        self._data.clear()
        self._size = 0
        self.events += 1
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Broken.unreadable("an event of the stream is no UTF-8") from None
