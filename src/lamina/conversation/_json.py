"""JSON as records hold it: canonical, bounded, and exactly the value that was given (behaviour §6).

The bounds on depth, members, names and texts are for values that the framework does not know the form of: results,
metadata, state. What a message says is bounded by the size of its record alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

import orjson

from lamina.schema import JsonValue

DEEPEST = 64
MOST_MEMBERS = 4_096
MOST_NODES = 65_536
LONGEST_NAME = 256
LONGEST_TEXT = 65_536
LARGEST_RECORD = 1 << 20

_SORTED = orjson.OPT_SORT_KEYS
_ALL_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_LONG_NUMBER = b"9" * 19
_LONG_NAME = re.compile(rb'"[^"]{257,}+":')
_CONTAINERS = frozenset({dict, list})


class Refused(Exception):
    """A value that no record can hold; its text says why and quotes nothing."""


class Malformed(Exception):
    """A stored text that is no record of the kind it says."""


def dump(value: object) -> bytes:
    """Write canonical JSON: keys in order, no spaces, every digit.

    Raises:
        Refused: It is no JSON.
    """
    try:
        return orjson.dumps(value, option=_SORTED)
    except TypeError:  # perhaps an integer beyond 64 bits
        return _dump_slowly(value, canonical=True)


def dump_as_given(value: object) -> bytes:
    """Write JSON whose members stay in the order that they have: what a model was told, it is told again alike.

    Raises:
        Refused: It is no JSON.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return _dump_slowly(value, canonical=False)


def _dump_slowly(value: object, *, canonical: bool) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=canonical, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError):
        raise Refused("it holds something that is no JSON") from None


def load(data: bytes) -> Any:  # Any: each reader says what it takes
    """Read what `dump` wrote, with every digit of every integer.

    Raises:
        Malformed: It is no JSON.
    """
    try:
        if _LONG_NUMBER in data.translate(_ALL_NINES):
            return json.loads(data)
        return orjson.loads(data)
    except (ValueError, RecursionError):
        raise Malformed from None


def opaque(value: JsonValue) -> JsonValue:
    """Pass a value through whose form is not known here, if it is JSON within the bounds.

    Raises:
        Refused: It is not.

    Example:
        >>> opaque({"n": [1, None]})
        {'n': [1, None]}
    """
    kind = type(value)
    if kind is str:
        if len(cast("str", value)) > LONGEST_TEXT:
            raise Refused(f"a text has more than {LONGEST_TEXT} characters")
        return value
    if value is None or kind is bool or kind is int:
        return value
    data = dump(value)
    # What cannot be read back as it was (NaN, a tuple, a date, too many levels) is no JSON, though it can be written.
    try:
        same = load(data) == value
    except (Malformed, RecursionError):
        same = False
    if not same:
        raise Refused("it holds something that is no JSON")
    if not _plainly_small(data):
        _measure(value, texts=len(data) > LONGEST_TEXT)
    return value


def _plainly_small(data: bytes) -> bool:
    """Whether no bound can be broken, as far as that shows without looking at each part: nearly always."""
    return (
        len(data) <= MOST_MEMBERS  # a member has two bytes or more
        and data.count(b"[") + data.count(b"{") <= DEEPEST
        and (len(data) <= LONGEST_NAME or (b"\\" not in data and _LONG_NAME.search(data) is None))
    )


def _measure(value: object, *, texts: bool) -> None:
    """Walk the lists and objects, without recursion; texts only where they may be too long."""
    nodes, todo = 1, [(value, 1)] if type(value) in _CONTAINERS else []
    while todo:
        item, depth = todo.pop()
        if depth > DEEPEST:
            raise Refused(f"it is nested more than {DEEPEST} deep")
        parts: Any = item
        if type(item) is dict:
            if parts and max(map(len, parts)) > LONGEST_NAME:
                raise Refused(f"a name has more than {LONGEST_NAME} characters")
            parts = parts.values()
        nodes += len(parts)
        if len(parts) > MOST_MEMBERS or nodes > MOST_NODES:
            raise Refused(f"it has more than {MOST_MEMBERS} members in one place, or {MOST_NODES} in all")
        if texts and any(type(part) is str and len(part) > LONGEST_TEXT for part in parts):
            raise Refused(f"a text has more than {LONGEST_TEXT} characters")
        todo += [(part, depth + 1) for part in parts if type(part) in _CONTAINERS]


# --- reading, strictly ----------------------------------------------------------------------------------------------


def members(value: object, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Take an object that has exactly these members.

    Raises:
        Malformed: It is another.
    """
    if type(value) is not dict:
        raise Malformed
    given = cast("dict[str, Any]", value)
    found = 0
    for name in required:
        if name not in given:
            raise Malformed
        found += 1
    for name in optional:
        found += name in given
    if found != len(given):
        raise Malformed
    return given


def text(value: object) -> str:
    """Take a text."""
    if type(value) is not str:
        raise Malformed
    return value


def texts(value: object) -> tuple[str, ...]:
    """Take a list of texts."""
    if type(value) is not list:
        raise Malformed
    return tuple([text(each) for each in cast("list[object]", value)])


def number(value: object) -> int:
    """Take a whole number."""
    if type(value) is not int:
        raise Malformed
    return value


def mapping(value: object) -> Mapping[str, JsonValue]:
    """Take an object of whatever members."""
    if type(value) is not dict:
        raise Malformed
    return cast("dict[str, JsonValue]", value)
