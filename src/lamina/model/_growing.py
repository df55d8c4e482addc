"""Texts that come as a start, deltas and an end; several may be open at once (MODEL-003)."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from lamina.model._ledger import Ledger
from lamina.model._measure import size_of_identifier, size_of_text
from lamina.model._parts import Metadata, Reasoning, Text
from lamina.model._protocol import Violation
from lamina.model._stream import ReasoningDelta, ReasoningEnd, ReasoningStart, TextDelta, TextEnd, TextStart


class _Growing:
    __slots__ = ("metadata", "place", "text")

    def __init__(self, place: int, metadata: Metadata) -> None:
        self.place = place
        self.metadata = metadata
        # Unlike a list of deltas, a buffer holds a million tiny ones in little more than their text.
        self.text = StringIO(newline="")


class Growths:
    """The open parts of one kind; an id is used once in a response.

    Args:
        ledger: Where the parts have their places.
        whole: Makes the part of its text and its metadata.
    """

    __slots__ = ("_growing", "_ledger", "_open", "_whole")

    def __init__(self, ledger: Ledger, whole: Callable[[str, Metadata], Text | Reasoning]) -> None:
        self._ledger = ledger
        self._whole = whole
        # None is a part that has ended.
        self._growing: dict[str, _Growing | None] = {}
        self._open = 0

    def start(self, part: TextStart | ReasoningStart) -> None:
        """Open a part and give it its place in the message."""
        self._ledger.grow(size_of_identifier(part.id))
        if part.id in self._growing:
            raise Violation("pairing", "a part started twice")
        self._ledger.weigh(part.metadata)
        self._growing[part.id] = _Growing(self._ledger.place(None), part.metadata)
        self._open += 1

    def delta(self, part: TextDelta | ReasoningDelta) -> None:
        """Let an open part grow."""
        growing = self._find(part.id)
        self._ledger.grow(size_of_text(part.text))
        growing.text.write(part.text)

    def end(self, part: TextEnd | ReasoningEnd) -> None:
        """Complete a part, with the end's metadata laid over the start's."""
        growing = self._find(part.id)
        self._ledger.weigh(part.metadata)
        metadata = {**growing.metadata, **part.metadata}
        self._ledger.parts[growing.place] = self._whole(growing.text.getvalue(), metadata)
        self._growing[part.id] = None
        self._open -= 1

    def close(self) -> None:
        """Refuse a finish while anything is open."""
        if self._open:
            raise Violation("pairing", "a text or a thought was still open at the finish")

    def _find(self, key: str) -> _Growing:
        growing = self._growing.get(key) if type(key) is str else None
        if growing is None:
            raise Violation("pairing", "a delta or an end came for a part that is not open")
        return growing
