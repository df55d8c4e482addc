"""Looking through a whole value: JSON, and the attrs values and containers that the framework passes on."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import attrs

from lamina.redaction._matcher import MASK, Matcher

TOO_DEEP = "[REDACTED:too-deep]"
TOO_LARGE = "[REDACTED:too-large]"


@attrs.frozen
class RedactionLimits:
    """How far a value is looked through; what lies beyond is not let out (SEC-013).

    They hold only where there is something to look for. What is replaced says `[REDACTED:too-deep]` or
    `[REDACTED:too-large]`.

    Attributes:
        depth: How deep values may stand in each other.
        nodes: How many values there may be.
        bytes: How many characters all texts may have together; of a JSON text, how many bytes.
    """

    depth: int = attrs.field(default=64, validator=[attrs.validators.ge(1), attrs.validators.le(200)])
    nodes: int = attrs.field(default=1 << 20, validator=attrs.validators.ge(1))
    bytes: int = attrs.field(default=1 << 24, validator=attrs.validators.ge(1))


class Walk:
    """One pass over one value. Whatever holds no secret is kept as the object that it is."""

    __slots__ = ("_depth", "_left", "_matcher", "_nodes")

    def __init__(self, matcher: Matcher, limits: RedactionLimits) -> None:
        self._matcher = matcher
        self._depth = limits.depth
        self._nodes = limits.nodes
        self._left = limits.bytes

    def value(self, value: Any, depth: int = 1) -> Any:  # Any: whatever the framework passes on
        """Give a value without secrets."""
        self._nodes -= 1
        if self._nodes < 0:
            return TOO_LARGE
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float):
            return self._number(value)
        if isinstance(value, bytes | bytearray):
            redacted = self._bytes(bytes(value))
            return value if redacted is None else redacted
        if depth > self._depth:
            return TOO_DEEP
        return self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> Any:
        kind = kind_of(value)
        if issubclass(kind, Mapping):
            return self._mapping(value, depth)
        if issubclass(kind, list | tuple | set | frozenset):
            return self._items(value, depth)
        if (fields := fields_of(kind)) is not None:
            return self._fields(value, fields, depth)
        return value  # an object of the application's own, which nobody can look into

    def _text(self, value: str) -> str:
        self._left -= len(value)
        return TOO_LARGE if self._left < 0 else self._matcher.redacted(value)

    def _number(self, value: float) -> float | str:
        if not self._matcher.numeric:
            return value
        try:
            written = repr(value)
        except ValueError:  # more digits than Python writes
            return TOO_LARGE
        return MASK if self._matcher.spans(written) else value

    def _bytes(self, value: bytes) -> bytes | None:
        # Latin-1 gives each byte a character of its own, so nothing is lost; what is not ASCII is found in UTF-8 only.
        for encoding in ("utf-8", "latin-1"):
            try:
                text = value.decode(encoding)
            except UnicodeDecodeError:
                continue
            redacted = self._text(text)
            return None if redacted is text else redacted.encode(encoding)
        raise AssertionError("every byte has a character in Latin-1")

    def _items(self, value: Any, depth: int) -> Any:
        items = [self.value(item, depth) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        kind = kind_of(value)
        named: Any = getattr(kind, "_make", None)
        if issubclass(kind, tuple):
            return tuple(items) if named is None else named(items)
        return items if issubclass(kind, list) else set(items) if issubclass(kind, set) else frozenset(items)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Mapping[Any, Any]:
        made: dict[Any, Any] = {}
        changed = False
        for key, member in value.items():
            new_key, new = self.value(key, depth), self.value(member, depth)
            changed = changed or new_key is not key or new is not member
            made[_free(new_key, made)] = new
        return made if changed else value

    def _fields(self, value: Any, names: tuple[str, ...], depth: int) -> Any:
        changed: dict[str, Any] = {}
        for name in names:
            old = getattr(value, name, None)
            new = self.value(old, depth)
            if new is not old:
                changed[name] = new
        if not changed:
            return value
        # Past the constructor: a validator would refuse the mask, and what is not redacted must not go on.
        made = copy.copy(value)
        for name, new in changed.items():
            object.__setattr__(made, name, new)
        return made


def kind_of(value: object) -> type[Any]:
    """Give a value's class."""
    return type(value)


def fields_of(kind: type[Any]) -> tuple[str, ...] | None:
    """Give the names of the fields of an attrs class or a dataclass; None for any other class."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def _free(key: Any, taken: Mapping[Any, Any]) -> Any:
    """Give a key that is not taken: two members whose keys are hidden both stay."""
    free, count = key, 1
    while free in taken:
        count += 1
        free = f"{key} {count}"
    return free
