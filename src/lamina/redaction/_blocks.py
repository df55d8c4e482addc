"""Finding any number of texts in time that depends on the searched text alone.

A needle of 15 bytes or more holds, wherever it stands, a whole aligned block of 8 bytes that begins at one of its own
first 8 places. So a text is cut into blocks of 8, and each block is looked up once in a table of 8 entries a needle;
shorter needles have a table of blocks of 4. A hit is compared in full, so nothing is found that is not there; and all
occurrences of all needles are found, also those that overlap.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Literal

SHORTEST = 5
"""The shortest needle in bytes."""
_LONG = 15


class Blocks:
    """The tables of a set of needles."""

    __slots__ = ("_tables",)

    def __init__(self, needles: Iterable[bytes]) -> None:
        distinct = set(needles)
        long = {needle for needle in distinct if len(needle) >= _LONG}
        short = distinct - long
        self._tables = [_Table(long, 8, 8)] if long else []
        if short:
            self._tables.append(_Table(short, 4, 4 if min(map(len, short)) >= 7 else 2))

    def may_hold(self, data: bytes) -> bool:
        """Tell whether a block of a needle is in the data; where none is, no needle is."""
        for table in self._tables:  # noqa: SIM110 - no generator: this is all that is done for most texts
            if table.hit(data):
                return True
        return False

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Give the start and the end of each occurrence, in bytes and in no order."""
        return [span for table in self._tables for span in table.find(data)]


class _Table:
    """The needles of one kind: blocks of `width` bytes, one at every `stride` bytes of the text."""

    __slots__ = ("_blocks", "_entries", "_format", "_shifts", "_width")

    def __init__(self, needles: set[bytes], width: int, stride: int) -> None:
        assert all(len(needle) >= width + stride - 1 for needle in needles)
        self._width = width
        self._format: Literal["Q", "I"] = "Q" if width == 8 else "I"
        self._shifts = range(0, width, stride)
        entries: dict[int, list[tuple[bytes, int]]] = {}
        for needle in needles:
            for offset in range(stride):
                block = int.from_bytes(needle[offset : offset + width], sys.byteorder)
                entries.setdefault(block, []).append((needle, offset))
        self._entries = entries
        self._blocks = frozenset(entries)

    def _cut(self, data: bytes, shift: int) -> list[int]:
        length = max(0, len(data) - shift) // self._width * self._width
        return memoryview(data)[shift : shift + length].cast(self._format).tolist()

    def hit(self, data: bytes) -> bool:
        for shift in self._shifts:  # noqa: SIM110 - the same
            if not self._blocks.isdisjoint(self._cut(data, shift)):
                return True
        return False

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        for shift in self._shifts:
            for index, block in enumerate(self._cut(data, shift)):
                for needle, offset in self._entries.get(block, ()):
                    start = shift + index * self._width - offset
                    if start >= 0 and data.startswith(needle, start):
                        yield start, start + len(needle)
