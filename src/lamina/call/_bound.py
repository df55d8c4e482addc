"""Stage 11: no result is larger than its bound, once, before anything keeps it (RUN-022)."""

from __future__ import annotations

import attrs
import orjson

from lamina.call._outcome import Outcome, ToolFailure, ToolSuccess
from lamina.schema import JsonValue, canonical_json

DEFAULT_RESULT_BYTES = 51_200
SMALLEST_RESULT_BYTES = 256
_ENVELOPE = len(b'{"truncatedToolResult":true,"originalBytes":,"head":"","tail":""}') + 20


def bound(outcome: Outcome, limit: int = DEFAULT_RESULT_BYTES) -> Outcome:
    """Keep an outcome's value within a number of bytes of JSON.

    Within the bound the value is untouched. Over it, the value is replaced by
    `{"truncatedToolResult": true, "originalBytes": n, "head": "…", "tail": "…"}`, whose JSON is within the bound and
    whose texts never split a character.

    Args:
        outcome: What came of the call.
        limit: The bound in bytes, at least 256.

    Example:
        >>> bound(ToolSuccess("x" * 1000), 256).value["originalBytes"]
        1002
    """
    if isinstance(outcome, ToolSuccess | ToolFailure):
        data = _written(outcome.value)
        if len(data) > limit:
            return attrs.evolve(outcome, value=_truncated(data, limit))
    return outcome


def _written(value: JsonValue) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, which is JSON all the same
        return canonical_json(value)


def _truncated(data: bytes, limit: int) -> JsonValue:
    room = (limit - _ENVELOPE) // 2
    text = data.decode()
    head = _fit(text[:room], room)
    tail = _fit(text[-room:][::-1], room)[::-1] if room > 0 else ""
    return {"truncatedToolResult": True, "originalBytes": len(data), "head": head, "tail": tail}


def _fit(text: str, room: int) -> str:
    """Give the longest prefix whose JSON string body fits into `room` bytes; escapes make a text longer."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if len(orjson.dumps(text[:middle])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
