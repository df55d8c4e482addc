from __future__ import annotations

import enum
from typing import Any

import pytest
from returns.result import Failure, Success

from lamina.schema import codec


class Text(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("described", "value"),
    [
        *[(str, value) for value in (5, None, True, ["a"], {}, b"a", Text("a"), "\ud800")],
        *[(int, value) for value in ("12", None, True, 1.5, [1], 1e300, float("nan"), Level.LOW)],
        *[(float, value) for value in ("1.5", None, True, float("nan"), float("inf"), 10**400, [1.0])],
        *[(bool, value) for value in (0, 1, "true", None)],
        *[(None, value) for value in (0, "", False, [])],
    ],
)
def test_nothing_is_coerced(described: Any, value: object) -> None:
    assert isinstance(codec(described).decode(value), Failure)


@pytest.mark.parametrize(
    ("described", "value", "read"),
    [
        (str, "", ""),
        (str, "\U0001f600", "\U0001f600"),
        (int, 10**30, 10**30),
        (int, 3.0, 3),
        (int, -(2.0**53), -(2**53)),
        (float, 1, 1.0),
        (float, 1.5, 1.5),
        (bool, True, True),
        (None, None, None),
    ],
)
def test_what_json_schema_takes_for_the_type_is_taken(described: Any, value: object, read: object) -> None:
    made = codec(described).decode(value)
    assert made == Success(read)
    assert type(made.unwrap()) is type(read)


def test_a_float_that_is_not_exact_is_no_integer() -> None:
    assert codec(int).decode(2.0**53 + 2).failure().problems == (
        "$: expected integer, written without fraction or exponent",
    )


@pytest.mark.parametrize(
    ("described", "value"),
    [
        (str, Text("a")),
        (str, "\ud800"),
        (int, True),
        (int, 1.0),
        (int, Level.LOW),
        (float, float("nan")),
        (float, True),
        (bool, 1),
    ],
)
def test_what_is_written_is_checked_as_strictly(described: Any, value: object) -> None:
    assert isinstance(codec(described).encode(value), Failure)


def test_an_int_may_stand_for_a_float() -> None:
    assert codec(float).encode(1) == Success(1)
