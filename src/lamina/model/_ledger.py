"""The parts of one response so far, in the order in which they first appeared, and what they weigh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from lamina.effect import Value
from lamina.model._measure import size_of_json
from lamina.model._parts import ContentPart, Metadata
from lamina.model._protocol import Violation


@attrs.frozen(eq=False, repr=False)
class ResponseLimits(Value):
    """What one response may hold at most.

    Attributes:
        parts: How many parts its message has; a text that came in a thousand deltas is one.
        bytes: The size of all texts, arguments, names, results, files and metadata together, in UTF-8.
    """

    parts: int = 16_384
    bytes: int = 8 * 1024 * 1024


class Ledger:
    """Counts and keeps parts; a part that has started holds its place with `None` until it is complete."""

    __slots__ = ("_bytes", "_most_bytes", "_most_parts", "parts")

    def __init__(self, limits: ResponseLimits) -> None:
        self.parts: list[ContentPart | None] = []
        self._bytes = 0
        self._most_bytes = limits.bytes
        self._most_parts = limits.parts

    def grow(self, size: int) -> None:
        """Count bytes."""
        self._bytes += size
        if self._bytes > self._most_bytes:
            raise Violation("too-large", "the response is larger than its limit")

    def weigh(self, metadata: Metadata) -> None:
        """Count a part's metadata, which is opaque, but has to be a JSON object."""
        if metadata:
            if not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - adapters may err
                raise Violation("malformed-part", "metadata is no mapping")
            self.grow(size_of_json(metadata))

    def place(self, part: ContentPart | None) -> int:
        """Keep a part, or keep its place."""
        place = len(self.parts)
        if place >= self._most_parts:
            raise Violation("too-many-parts", "the response has more parts than its limit")
        self.parts.append(part)
        return place

    def complete(self) -> tuple[ContentPart, ...]:
        """Give all parts; once a finish was taken, no place is empty."""
        return tuple(cast("list[ContentPart]", self.parts))
