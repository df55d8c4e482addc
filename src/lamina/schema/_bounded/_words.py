"""The keywords whose values are no schemas: each reads its value, and adds a check of `_plain`."""

from __future__ import annotations

from typing import Any, Final, cast

from lamina.schema._bounded._plain import (
    TYPES,
    bound,
    dependent,
    equals,
    is_number,
    is_whole,
    multiple_of,
    required,
    type_check,
    unique,
)
from lamina.schema._bounded._read import Broken, Keyword, Part, Read, Reader
from lamina.schema._bounded._work import Path
from lamina.schema._json import JsonValue


def _type(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    names: list[Any] = value if isinstance(value, list) else [value]  # Any: what stands there, told apart below
    if not names or any(not isinstance(name, str) or name not in TYPES for name in names):
        raise Broken
    part.add("type", type_check(names, strict_integers=reader.dialect == 4))


def _limit(keyword: str) -> Read:
    exclusive = f"exclusive{keyword[0].upper()}{keyword[1:]}"

    def read(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
        if reader.dialect == 4 and keyword.startswith("exclusive"):
            if not isinstance(value, bool):
                raise Broken
            return  # it belongs to its limit
        if not is_number(value):
            raise Broken
        strict = reader.dialect == 4 and part.schema.get(exclusive) is True
        part.add(keyword, bound(exclusive if strict else keyword, value))

    return read


def _multiple(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise Broken
    part.add("multipleOf", multiple_of(value))


def _size(keyword: str) -> Read:
    def read(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
        part.add(keyword, bound(keyword, count_of(value)))

    return read


def count_of(value: JsonValue) -> int:
    """Read a number of things.

    Raises:
        Broken: It is none.
    """
    if not isinstance(value, int | float) or not is_whole(value) or value < 0:
        raise Broken
    return int(value)


def _pattern(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    found = reader.expression(value, at, exact=part.exact)
    if found is not None:
        part.add("pattern", lambda text, path, work: not isinstance(text, str) or found.found(text, work))


def _unique(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if not isinstance(value, bool):
        raise Broken
    if value:
        part.add("uniqueItems", unique)


def names_of(value: JsonValue) -> list[str]:
    """Read a list of names.

    Raises:
        Broken: It is none.
    """
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Broken
    return cast("list[str]", value)


def _required(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if isinstance(value, bool) and reader.dialect == 4:
        raise Broken
    part.add("required", required(names_of(value)))


def _dependent(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if not isinstance(value, dict):
        raise Broken
    part.add("dependentRequired", dependent({name: names_of(names) for name, names in value.items()}))


def _enum(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if not isinstance(value, list):
        raise Broken
    part.add("enum", equals(value))


def _const(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    part.add("const", equals([value]))


_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SIZES: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
WORDS: Final = {
    "type": Keyword(_type),
    "enum": Keyword(_enum),
    "const": Keyword(_const, since=6),
    "multipleOf": Keyword(_multiple),
    "pattern": Keyword(_pattern),
    "uniqueItems": Keyword(_unique),
    "required": Keyword(_required),
    "dependentRequired": Keyword(_dependent, since=2019),
    **{name: Keyword(_limit(name)) for name in _LIMITS},
    **{name: Keyword(_size(name)) for name in _SIZES},
}
