"""JSON itself: the value alias, strict parsing with bounds, and writing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection
from typing import Any, NoReturn, TypeGuard, cast

import attrs
import orjson
from typing_extensions import TypeAliasType

from lamina.effect import Value
from lamina.schema._mismatch import Bad, bad

JsonValue = TypeAliasType("JsonValue", "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None")
"""Whatever JSON can say, as plain Python values."""

_NESTED = (dict, list)
_MAX_NODES = 1 << 20
"""More values than this are in no text of the default size; it bounds values that share their parts many times over."""
LARGEST = int(sys.float_info.max)
"""The largest integer that a JSON text may hold: the parser refuses what is infinite as a double."""
_ALL_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_LONG_NUMBER = b"9" * 19
_SHORT = 4096
_WHY = {
    "depth limit exceeded": "nested too deeply",
    "number is infinity when parsed as double": "a number is out of range",
    "unexpected end of data": "it ends too early",
    "unexpected content after document": "something follows the value",
    "no low surrogate in string": "a surrogate without its pair",
    "str is not valid UTF-8": "it is not UTF-8",
    "UTF-8 byte order mark (BOM) is not supported": "it starts with a byte order mark",
}


@attrs.frozen(eq=False, repr=False)
class JsonLimits(Value):
    """How much JSON is read before it is refused.

    Attributes:
        max_bytes: The longest text, in bytes of UTF-8.
        max_depth: How deep lists and objects may stand in each other, at most 200.

    Example:
        >>> JsonLimits(max_bytes=2_000)
        JsonLimits(max_bytes=2000, max_depth=64)
    """

    max_bytes: int = attrs.field(default=1 << 20, validator=attrs.validators.ge(1))
    max_depth: int = attrs.field(default=64, validator=[attrs.validators.ge(1), attrs.validators.le(200)])


DEFAULT_LIMITS = JsonLimits()


def check_depth(value: object, max_depth: int) -> None:
    """Refuse a value that is nested too deeply or has too many parts, without recursion (a cycle is too deep)."""
    stack: list[tuple[object, int]] = [(value, 1)]
    nodes = 0
    while stack:
        current, depth = stack.pop()
        if isinstance(current, dict):
            parts: Collection[object] = cast("dict[object, object]", current).values()
        elif isinstance(current, list):
            parts = cast("list[object]", current)
        else:
            continue
        if depth > max_depth:
            raise bad("nested too deeply")
        nodes += len(parts) + 1
        if nodes > _MAX_NODES:
            raise bad("too large")
        stack += [(part, depth + 1) for part in parts if isinstance(part, _NESTED)]


def parse(text: str | bytes, limits: JsonLimits) -> JsonValue:
    """Read a JSON text strictly: RFC 8259, no duplicate keys, every integer exact.

    Raises:
        Bad: The text is too long, or no JSON.
    """
    if len(text) > limits.max_bytes:
        raise bad(f"too large: more than {limits.max_bytes} bytes")
    try:
        data = text.encode() if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise bad("not JSON: a surrogate without its pair") from None
    if len(data) > limits.max_bytes:
        raise bad(f"too large: more than {limits.max_bytes} bytes")
    try:
        value = cast("JsonValue", orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise bad(_why_not(data, error)) from None
    # orjson keeps the last of duplicate keys and rounds integers beyond 64 bits, both silently. Each is seen cheaply:
    # a dropped member leaves fewer colons than the text has, and such an integer has 19 digits or more.
    if data.count(b":") != _colons(value) or _LONG_NUMBER in data.translate(_ALL_NINES):
        check_depth(value, limits.max_depth)
        return _parse_slowly(data)
    return value


def _colons(value: JsonValue) -> int:
    try:
        return orjson.dumps(value).count(b":")
    except TypeError:  # its own depth limit for writing
        raise bad("nested too deeply") from None


def _parse_slowly(data: bytes) -> JsonValue:
    try:
        return cast(
            "JsonValue",
            json.loads(data, object_pairs_hook=_members, parse_float=_finite, parse_constant=_finite),
        )
    except RecursionError:
        raise bad("nested too deeply") from None
    except ValueError:  # an integer of more digits than Python reads at once
        raise bad("not JSON: a number is out of range") from None


def _members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise bad("not JSON: an object has the same key twice")
    return members


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise bad("not JSON: a number is out of range")
    return number


def _why_not(data: bytes, error: orjson.JSONDecodeError) -> str:
    if not data.strip():
        return "not JSON: the text is empty"
    why = _WHY.get(error.msg.split(":")[0])
    if why is None and re.match(r"-?(NaN|Infinity)", error.doc[error.pos : error.pos + 9]):
        why = "NaN and Infinity are no JSON numbers"
    return f"not JSON: {why or 'unexpected character'}, at line {error.lineno} column {error.colno}"


def dump(value: JsonValue) -> bytes:
    """Write a JSON value as UTF-8 text; integers keep every digit."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _fault(value: object) -> str | None:
    """Say why something that holds no list or object is no JSON value."""
    if value is None or type(value) is bool:
        return None
    if type(value) is int:
        return None if -LARGEST <= value <= LARGEST else "expected number in the range of a double"
    if type(value) is float:
        return None if value - value == 0 else "expected finite number"
    if type(value) is str:
        return None if is_text(value) else "expected text without lone surrogates"
    return "expected JSON value"


def is_text(value: str) -> bool:
    """Whether a string can be written as UTF-8: it holds no lone surrogate."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_json(value: object) -> TypeGuard[JsonValue]:
    """Whether a Python value is JSON as it stands: plain types, string keys, finite numbers, nested at most 64 deep.

    Example:
        >>> is_json({"a": [1, None]}), is_json({"a": (1, 2)}), is_json(float("nan"))
        (True, False, False)
    """
    nodes = 0
    stack = [(value, 1)]
    while stack:
        current, depth = stack.pop()
        if type(current) is dict:
            members = cast("dict[object, object]", current)
            for key in members:
                if type(key) is not str or not is_text(key):
                    return False
            parts: Collection[object] = members.values()
        elif type(current) is list:
            parts = cast("list[object]", current)
        elif _fault(current) is None:
            continue
        else:
            return False
        nodes += len(parts) + 1
        if depth > DEFAULT_LIMITS.max_depth or nodes > _MAX_NODES:
            return False
        stack += [(part, depth + 1) for part in parts]
    return True


def canonical_json(value: JsonValue) -> bytes:
    """Write a JSON value so that equal values give equal bytes: sorted keys, no spaces; for digests.

    `1` and `1.0` are written as they are, so they differ.

    Raises:
        ValueError: The value is no JSON (see `is_json`).

    Example:
        >>> canonical_json({"b": 1, "a": [None, "é"]}).decode()
        '{"a":[null,"é"],"b":1}'
    """
    if not is_json(value):
        _refuse()
    return _in_order(value)


def canonical_text(text: str) -> bytes | None:
    """Give the canonical form of a JSON text (see `canonical_json`), read once; None where it is none.

    Example:
        >>> canonical_text('{"b": 1, "a": 2}'), canonical_text("{")
        (b'{"a":2,"b":1}', None)
    """
    try:
        data = text.encode()
        if len(data) <= _SHORT and data.count(b"{") + data.count(b"[") <= DEFAULT_LIMITS.max_depth:
            # Nearly always. What `parse` sees by its colons and long numbers is seen here by the text that is given.
            made = orjson.dumps(orjson.loads(data), option=orjson.OPT_SORT_KEYS)
            if data.count(b":") == made.count(b":") and _LONG_NUMBER not in data.translate(_ALL_NINES):
                return made
    except (ValueError, TypeError):
        pass
    try:
        value = parse(text, DEFAULT_LIMITS)
    except Bad:
        return None
    return _in_order(value) if is_json(value) else None


def _in_order(value: JsonValue) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits
        options: dict[str, Any] = {"ensure_ascii": False, "sort_keys": True, "separators": (",", ":")}
        return json.dumps(value, **options).encode()


def _refuse() -> NoReturn:
    raise ValueError("canonical_json takes JSON values only")
