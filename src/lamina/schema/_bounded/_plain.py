"""The keywords that look at a value alone: its type, its size, its equals, its text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeGuard

from lamina.schema._bounded._node import Check
from lamina.schema._bounded._work import Path, Work
from lamina.schema._json import JsonValue

_CHARACTERS_A_STEP = 64


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether it is a number of JSON, which no bool is."""
    return type(value) is int or type(value) is float


def is_whole(value: object) -> bool:
    """Tell whether it is a number without a fraction."""
    return type(value) is int or (type(value) is float and value.is_integer())


TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: value is True or value is False,
    "string": lambda value: type(value) is str,
    "number": is_number,
    "integer": is_whole,
    "array": lambda value: type(value) is list,
    "object": lambda value: type(value) is dict,
}


def type_check(names: list[str], *, strict_integers: bool) -> Check:
    """Hold a value to one of several types; before draft 6 `1.0` is no integer."""
    wanted = [TYPES[name] for name in names]
    if strict_integers and "integer" in names:
        wanted[names.index("integer")] = lambda value: type(value) is int
    if len(wanted) == 1:
        one = wanted[0]
        return lambda value, path, work: one(value)
    return lambda value, path, work: any(each(value) for each in wanted)


def token(value: JsonValue, work: Work) -> str:
    """Write a value so that equal ones are written alike, and no others: `1` and `1.0` are equal.

    It is a text, since what hashes numbers can be made to hash many of them alike.
    """
    work.spend(1)
    if isinstance(value, str):
        work.spend(len(value) // _CHARACTERS_A_STEP)
        return repr(value)
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, float):
        return hex(int(value)) if value.is_integer() else value.hex()
    if isinstance(value, list):
        return f"[{','.join([token(item, work) for item in value])}]"
    work.spend(sum(map(len, value)) // _CHARACTERS_A_STEP)
    return f"{{{','.join([f'{name!r}:{token(value[name], work)}' for name in sorted(value)])}}}"


def equals(choices: list[JsonValue]) -> Check:
    """Hold a value to one of several."""
    if all(type(choice) is str for choice in choices):
        texts = frozenset(choice for choice in choices if isinstance(choice, str))
        return lambda value, path, work: type(value) is str and value in texts
    made = Work(1 << 30)  # they are part of the schema, whose size is bounded
    tokens = frozenset(token(choice, made) for choice in choices)
    return lambda value, path, work: token(value, work) in tokens


def multiple_of(step: int | float) -> Check:
    """Hold a number to the multiples of another, both as they are written in decimals."""
    exact = Fraction(str(step))

    def check(value: JsonValue, path: Path, work: Work) -> bool:
        if type(value) is int and type(step) is int:
            return value % step == 0
        if not is_number(value):
            return True
        work.spend(16)
        return Fraction(str(value)) % exact == 0

    return check


def bound(keyword: str, limit: Any) -> Check:  # Any: a number, or a count
    """Hold a number, or the size of something, to one limit."""
    match keyword:
        case "minimum":
            return lambda value, path, work: not is_number(value) or value >= limit
        case "maximum":
            return lambda value, path, work: not is_number(value) or value <= limit
        case "exclusiveMinimum":
            return lambda value, path, work: not is_number(value) or value > limit
        case "exclusiveMaximum":
            return lambda value, path, work: not is_number(value) or value < limit
        case "minLength":
            return lambda value, path, work: not isinstance(value, str) or len(value) >= limit
        case "maxLength":
            return lambda value, path, work: not isinstance(value, str) or len(value) <= limit
        case "minItems":
            return lambda value, path, work: not isinstance(value, list) or len(value) >= limit
        case "maxItems":
            return lambda value, path, work: not isinstance(value, list) or len(value) <= limit
        case "minProperties":
            return lambda value, path, work: not isinstance(value, dict) or len(value) >= limit
        case _:
            return lambda value, path, work: not isinstance(value, dict) or len(value) <= limit


def unique(value: JsonValue, path: Path, work: Work) -> bool:
    """Hold a list to items that all differ."""
    return not isinstance(value, list) or len({token(item, work) for item in value}) == len(value)


def required(names: list[str]) -> Check:
    """Hold an object to the members that it must have."""

    def check(value: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(value, dict):
            return True
        work.spend(len(names))
        return all(name in value for name in names)

    return check


def dependent(needs: dict[str, list[str]]) -> Check:
    """Hold an object to the members that others call for."""
    cost = sum(map(len, needs.values())) + len(needs)

    def check(value: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(value, dict):
            return True
        work.spend(cost)
        return all(name in value for one, names in needs.items() if one in value for name in names)

    return check
