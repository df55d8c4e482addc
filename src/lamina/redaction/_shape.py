"""The shape of a value without anything of what it says: for spans, logs and audit entries (SEC-008)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, cast

from lamina.redaction._walk import fields_of, kind_of
from lamina.schema import JsonValue

MOST_DEPTH = 16
MOST_NODES = 4_096
MOST_BYTES = 8_192
_KEY = "[REDACTED:key]"
_MORE = "[REDACTED:more]"
# What a value costs besides its text: quotes, a comma, a colon; and room for the brackets and "more" at each depth.
_PUNCTUATION = 6
_RESERVE = MOST_DEPTH * 64


def shape(value: object, *, names: Collection[str] = ()) -> JsonValue:
    """Give the shape of a value: what kinds of values stand where, and how many.

    Texts, numbers and truth values are named by their kind alone; keys are hidden, too, for a mapping's keys are data,
    unless `names` has them or they are the fields of an attrs class or a dataclass. Equal shapes that follow each
    other are counted. At most 16 deep, 4,096 values and 8 KiB of JSON; it never raises.

    Args:
        value: Anything.
        names: Keys that are no data, and are shown: the fields of a schema, say.

    Example:
        >>> shape({"path": "/etc/passwd", "lines": [1, 2, 3]}, names=("path",))
        {'path': '[REDACTED:string]', '[REDACTED:key]': ['[REDACTED:number]', '[REDACTED:2 more]']}
    """
    try:
        return _Shape(names).of(value, 1)
    except Exception:  # a foreign mapping or sequence that breaks when it is read
        return "[REDACTED:object]"


class _Shape:
    __slots__ = ("_bytes", "_names", "_nodes")

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._nodes = MOST_NODES
        self._bytes = MOST_BYTES - _RESERVE

    def of(self, value: Any, depth: int) -> JsonValue:
        scalar = _scalar(value)
        if scalar is not None:
            return self._spend(scalar)
        if value is None:
            return None if self._spend("null") == "null" else _MORE
        if depth > MOST_DEPTH:
            return self._spend("[REDACTED:depth]")
        kind = kind_of(value)
        if issubclass(kind, Mapping):
            return self._object(((key, one, False) for key, one in value.items()), len(value), depth)
        if issubclass(kind, Sequence | Set):
            return self._array(value, depth)
        if (fields := fields_of(kind)) is None:
            return self._spend("[REDACTED:object]")
        return self._object(((name, getattr(value, name, None), True) for name in fields), len(fields), depth)

    def _spend(self, text: str) -> str:
        self._nodes -= 1
        self._bytes -= len(text.encode("utf-8", "replace")) + _PUNCTUATION
        return text if self._nodes >= 0 and self._bytes >= 0 else _MORE

    def _spent(self) -> bool:
        return self._nodes <= 0 or self._bytes <= 0

    def _object(self, members: Iterable[tuple[Any, Any, bool]], count: int, depth: int) -> JsonValue:
        made: dict[str, JsonValue] = {}
        for done, (key, member, known) in enumerate(members):
            if self._spent():
                made[_MORE] = count - done
                break
            shown = key if known or (type(key) is str and key in self._names) else self._hidden(made)
            if (name := self._spend(shown)) == shown:
                made[name] = self.of(member, depth + 1)
            else:
                made[_MORE] = count - done
                break
        return cast("JsonValue", made)

    @staticmethod
    def _hidden(taken: Mapping[str, JsonValue]) -> str:
        return _KEY if _KEY not in taken else f"[REDACTED:key {len(taken) + 1}]"

    def _array(self, items: Collection[Any], depth: int) -> JsonValue:
        made: list[JsonValue] = []
        last, repeated = object(), 0
        for done, item in enumerate(items):
            if self._spent():
                made.append(f"[REDACTED:{len(items) - done + repeated} more]")
                return made
            left = self._bytes
            one = self.of(item, depth + 1)
            if made and one == last:
                repeated += 1
                self._bytes = left  # what is only counted takes no room
                continue
            self._close(made, repeated)
            last, repeated = one, 0
            made.append(one)
        self._close(made, repeated)
        return made

    def _close(self, made: list[JsonValue], repeated: int) -> None:
        if repeated:
            made.append(self._spend(f"[REDACTED:{repeated} more]"))


def _scalar(value: object) -> str | None:
    if isinstance(value, bool):
        return "[REDACTED:boolean]"
    if isinstance(value, int | float):
        return "[REDACTED:number]"
    if isinstance(value, str):
        return "[REDACTED:string]"
    if isinstance(value, bytes | bytearray | memoryview):
        return "[REDACTED:bytes]"
    return None
