"""Strings, numbers, booleans and null: exact types only, nothing is coerced."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from lamina.schema._describe import Definitions
from lamina.schema._json import is_text
from lamina.schema._limits import NUMBER_KEYWORDS, TEXT_KEYWORDS, Checks, Limit, limit_checks
from lamina.schema._mismatch import bad
from lamina.schema._shape import Hook, Kind, Schema, Shape

_EXACT = float(1 << 53)
_NO_CHECKS = Checks({}, None)


def _checked(read: Hook, checks: Checks) -> Hook:
    check = checks.check
    if check is None:
        return read

    def read_checked(value: Any, _: object = None) -> Any:
        made = read(value)
        check(made)
        return made

    return read_checked


@attrs.frozen(eq=False)
class Text(Shape):
    """`str`; its length counts code points, as JSON Schema does."""

    checks: Checks = _NO_CHECKS
    kinds: ClassVar[frozenset[Kind]] = frozenset({"string"})
    classes: ClassVar[tuple[type, ...]] = (str,)

    def describe(self, defs: Definitions) -> Schema:
        return {"type": "string", **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        return _checked(_read_text, self.checks)

    def writer(self, detail: bool) -> Hook:
        return _checked(_read_text, self.checks)

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return Text(limit_checks(limits, TEXT_KEYWORDS))


def _read_text(value: Any, _: object = None) -> str:
    if type(value) is not str:
        raise bad("expected string")
    if not (value.isascii() or is_text(value)):
        raise bad("expected text without lone surrogates")
    return value


@attrs.frozen(eq=False)
class Integer(Shape):
    """`int` of any size. `3.0` is an integer to JSON Schema, so it is one here, up to 2**53, where floats are exact."""

    checks: Checks = _NO_CHECKS
    kinds: ClassVar[frozenset[Kind]] = frozenset({"integer"})
    classes: ClassVar[tuple[type, ...]] = (int,)

    def describe(self, defs: Definitions) -> Schema:
        return {"type": "integer", **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        return _checked(_read_integer, self.checks)

    def writer(self, detail: bool) -> Hook:
        return _checked(_write_integer, self.checks)

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return Integer(limit_checks(limits, NUMBER_KEYWORDS))


def _read_integer(value: Any, _: object = None) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        if -_EXACT <= value <= _EXACT:
            return int(value)
        raise bad("expected integer, written without fraction or exponent")
    raise bad("expected integer")


def _write_integer(value: Any) -> int:
    if type(value) is not int:
        raise bad("expected integer")
    return value


@attrs.frozen(eq=False)
class Number(Shape):
    """`float`: every JSON number, and never NaN or infinity, which JSON does not have."""

    checks: Checks = _NO_CHECKS
    kinds: ClassVar[frozenset[Kind]] = frozenset({"integer", "number"})
    classes: ClassVar[tuple[type, ...]] = (float, int)

    def describe(self, defs: Definitions) -> Schema:
        return {"type": "number", **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        # The limits are checked on the number as it came: rounding it first could move it over one.
        check = self.checks.check
        if check is None:
            return _read_number

        def read_limited(value: Any, _: object = None) -> float:
            made = _read_number(value)
            check(value)
            return made

        return read_limited

    def writer(self, detail: bool) -> Hook:
        return _checked(_write_number, self.checks)

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return Number(limit_checks(limits, NUMBER_KEYWORDS))


def _read_number(value: Any, _: object = None) -> float:
    if type(value) is float:
        if value - value != 0:
            raise bad("expected finite number")
        return value
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise bad("expected number in the range of a double") from None
    raise bad("expected number")


def _write_number(value: Any) -> float | int:
    _read_number(value)
    number: float | int = value
    return number


@attrs.frozen(eq=False)
class Boolean(Shape):
    """`bool`."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({"boolean"})
    classes: ClassVar[tuple[type, ...]] = (bool,)

    def describe(self, defs: Definitions) -> Schema:
        return {"type": "boolean"}

    def reader(self, detail: bool) -> Hook:
        return _read_boolean

    def writer(self, detail: bool) -> Hook:
        return _read_boolean


def _read_boolean(value: Any, _: object = None) -> bool:
    if type(value) is not bool:
        raise bad("expected boolean")
    return value


@attrs.frozen(eq=False)
class Null(Shape):
    """`None`."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({"null"})
    classes: ClassVar[tuple[type, ...]] = (type(None),)

    def describe(self, defs: Definitions) -> Schema:
        return {"type": "null"}

    def reader(self, detail: bool) -> Hook:
        return _read_null

    def writer(self, detail: bool) -> Hook:
        return _read_null


def _read_null(value: Any, _: object = None) -> None:
    if value is not None:
        raise bad("expected null")
