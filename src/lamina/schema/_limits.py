"""Limits of `annotated_types`: one table gives the check and the JSON Schema keyword, so the two cannot part."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, cast

import annotated_types as at
import attrs

from lamina.effect import Value
from lamina.schema._mismatch import Bad
from lamina.schema._terms import Schema, Undescribable

NUMBER_KEYWORDS = {
    "Ge": "minimum",
    "Gt": "exclusiveMinimum",
    "Le": "maximum",
    "Lt": "exclusiveMaximum",
    "MultipleOf": "multipleOf",
}
_BOUNDS = {at.Ge: "ge", at.Gt: "gt", at.Le: "le", at.Lt: "lt", at.MultipleOf: "multiple_of"}
TEXT_KEYWORDS = {"MinLen": "minLength", "MaxLen": "maxLength"}
ARRAY_KEYWORDS = {"MinLen": "minItems", "MaxLen": "maxItems"}
OBJECT_KEYWORDS = {"MinLen": "minProperties", "MaxLen": "maxProperties"}
_UNITS = {
    "minLength": "character",
    "maxLength": "character",
    "minItems": "item",
    "maxItems": "item",
    "minProperties": "member",
    "maxProperties": "member",
}


@attrs.frozen(eq=False, repr=False)
class Limit(Value):
    """One limit as it was written: `Ge(0)` is `Limit("Ge", 0)`."""

    name: str
    bound: Any  # whatever the user wrote; `limit_checks` refuses what cannot be a bound


def limits_in(metadata: Iterable[object]) -> Iterator[Limit]:
    """Give the limits among the metadata of an `Annotated`; other metadata is somebody else's.

    Raises:
        Undescribable: A constraint that JSON Schema cannot say.
    """
    for item in metadata:
        if isinstance(item, at.GroupedMetadata):
            yield from limits_in(cast("Iterable[object]", item))
        elif isinstance(item, at.MinLen):
            yield Limit("MinLen", item.min_length)
        elif isinstance(item, at.MaxLen):
            yield Limit("MaxLen", item.max_length)
        elif isinstance(item, tuple(_BOUNDS)):
            yield Limit(type(item).__name__, getattr(item, _BOUNDS[type(item)]))
        elif isinstance(item, at.Unit):
            continue
        elif isinstance(item, at.BaseMetadata):
            raise Undescribable(
                f"JSON Schema cannot say {type(item).__name__}; use an attrs validator, or Encoded(...)"
            )


Check = Callable[[Any], None]  # a value whose kind was checked before


@attrs.frozen(eq=False, repr=False)
class Checks(Value):
    """Compiled limits of one shape: the schema keywords, the function that refuses, and what they were made from."""

    schema: Schema
    check: Check | None
    limits: tuple[Limit, ...] = ()


NO_CHECKS = Checks({}, None)


def limit_checks(limits: tuple[Limit, ...], keywords: dict[str, str]) -> Checks:
    """Compile limits for a kind of value whose keywords are given.

    Raises:
        Undescribable: A limit that this kind does not have, or a bound that is no number.
    """
    schema: Schema = {}
    tests: list[tuple[Callable[[Any], bool], str]] = []
    for limit in limits:
        keyword = keywords.get(limit.name)
        if keyword is None:
            raise Undescribable(f"{limit.name} has no meaning here")
        bound = _bound(limit, keyword)
        if keyword in schema:
            raise Undescribable(f"{limit.name} is given twice")
        schema[keyword] = bound
        tests.append((_test(limit.name, bound), _why(limit.name, keyword, bound)))
    if not tests:
        return Checks(schema, None)

    def check(value: Any) -> None:
        if failed := [("", why) for holds, why in tests if not holds(value)]:
            raise Bad(failed)

    return Checks(schema, check, limits)


def _bound(limit: Limit, keyword: str) -> int | float:
    bound = limit.bound
    length = keyword in _UNITS
    if type(bound) is int and (bound >= 0 or not length) and (bound > 0 or keyword != "multipleOf"):
        return bound
    if type(bound) is float and not length and math.isfinite(bound) and (bound > 0 or keyword != "multipleOf"):
        return bound
    raise Undescribable(f"{limit.name} takes a {'whole number of ' + _UNITS[keyword] + 's' if length else 'number'}")


def _test(name: str, bound: Any) -> Callable[[Any], bool]:
    match name:
        case "Ge":
            return partial(operator.le, bound)
        case "Gt":
            return partial(operator.lt, bound)
        case "Le":
            return partial(operator.ge, bound)
        case "Lt":
            return partial(operator.gt, bound)
        case "MinLen":
            return lambda value: len(value) >= bound
        case "MaxLen":
            return lambda value: len(value) <= bound
        case _:
            return partial(_is_multiple, bound)


def _is_multiple(of: int | float, value: int | float) -> bool:
    # A float step is compared in floats, as JSON Schema validators do: 0.3 is no multiple of 0.1.
    if isinstance(of, int):
        return value % of == 0
    try:
        quotient = value / of
    except OverflowError:
        quotient = math.inf
    if math.isinf(quotient):
        return (Fraction(value) / Fraction(of)).denominator == 1
    return quotient == int(quotient)


def _why(name: str, keyword: str, bound: int | float) -> str:
    if unit := _UNITS.get(keyword):
        return f"expected at {'least' if name == 'MinLen' else 'most'} {bound} {unit}{'' if bound == 1 else 's'}"
    sign = {"Ge": ">=", "Gt": ">", "Le": "<=", "Lt": "<", "MultipleOf": "a multiple of"}[name]
    return f"expected {sign} {bound}"
