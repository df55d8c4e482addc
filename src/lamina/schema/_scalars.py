"""Strings, numbers, booleans and null: exact types only, nothing is coerced."""

from __future__ import annotations

from typing import Any

import attrs

from lamina.schema._describe import Definitions
from lamina.schema._json import LARGEST, is_text
from lamina.schema._limits import NO_CHECKS, NUMBER_KEYWORDS, TEXT_KEYWORDS, Checks, Limit, limit_checks
from lamina.schema._mismatch import bad
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema

_EXACT = float(1 << 53)


@attrs.frozen(eq=False)
class Scalar(Shape):
    """One kind of JSON scalar.

    Attributes:
        takes: The kinds of JSON value.
        python: The exact Python classes that may be written.
        schema: The schema without limits.
        read: Refuses what is not of the kind.
        write: The same for Python values.
        keywords: The limits that this kind may have, with their names in JSON Schema.
        checks: The limits. They are checked on the JSON side: rounding a number first could move it over one.
    """

    takes: frozenset[Kind]
    python: tuple[type, ...]
    schema: Schema
    read: Hook
    write: Hook
    keywords: dict[str, str] = attrs.field(factory=dict[str, str])
    checks: Checks = NO_CHECKS

    def kinds(self) -> frozenset[Kind]:
        return self.takes

    def classes(self) -> tuple[type, ...]:
        return self.python

    def describe(self, defs: Definitions) -> Schema:
        return {**self.schema, **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        check, read = self.checks.check, self.read
        if check is None:
            return read

        def read_limited(value: Any, _: object = None) -> Any:
            made = read(value)
            check(value)
            return made

        return read_limited

    def writer(self, detail: bool) -> Hook:
        check, write = self.checks.check, self.write
        if check is None:
            return write

        def write_limited(value: Any) -> Any:
            made = write(value)
            check(made)
            return made

        return write_limited

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return attrs.evolve(self, checks=limit_checks(self.checks.limits + limits, self.keywords))


def _text(value: Any, _: object = None) -> str:
    if type(value) is not str:
        raise bad("expected string")
    if not (value.isascii() or is_text(value)):
        raise bad("expected text without lone surrogates")
    return value


def _read_integer(value: Any, _: object = None) -> int:
    if type(value) is int:
        return _write_integer(value)
    if type(value) is float and value.is_integer():
        if -_EXACT <= value <= _EXACT:
            return int(value)
        raise bad("expected integer, written without fraction or exponent")
    raise bad("expected integer")


def _write_integer(value: Any) -> int:
    if type(value) is not int:
        raise bad("expected integer")
    if not -LARGEST <= value <= LARGEST:
        raise bad("expected number in the range of a double")
    return value


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


def _boolean(value: Any, _: object = None) -> bool:
    if type(value) is not bool:
        raise bad("expected boolean")
    return value


def _null(value: Any, _: object = None) -> None:
    if value is not None:
        raise bad("expected null")


TEXT = Scalar(frozenset({"string"}), (str,), {"type": "string"}, _text, _text, TEXT_KEYWORDS)
"""`str`; its length counts code points, as JSON Schema does."""
INTEGER = Scalar(frozenset({"integer"}), (int,), {"type": "integer"}, _read_integer, _write_integer, NUMBER_KEYWORDS)
"""`int`, exact up to what a double can hold, 309 digits: JSON texts beyond that are refused, so values are, too.

JSON Schema takes `3.0` for an integer, so it is one here, as far as doubles are exact (2**53).
"""
NUMBER = Scalar(
    frozenset({"integer", "number"}), (float, int), {"type": "number"}, _read_number, _write_number, NUMBER_KEYWORDS
)
"""`float`: every JSON number that a double can hold; never NaN or infinity, which JSON does not have."""
BOOLEAN = Scalar(frozenset({"boolean"}), (bool,), {"type": "boolean"}, _boolean, _boolean)
NULL = Scalar(frozenset({"null"}), (type(None),), {"type": "null"}, _null, _null)
