from __future__ import annotations

import enum
from typing import Any, Literal, Never

import pytest
from returns.result import Failure, Success

from lamina.effect import ConstructionError
from lamina.schema import codec


class Colour(enum.Enum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


class Word(enum.StrEnum):
    A = "a"


class Level(enum.IntEnum):
    LOW = 1


class Pair(enum.Enum):
    ONE = (1, 2)


class Flags(enum.Flag):
    A = 1
    B = 2


class Empty(enum.Enum):
    pass


@pytest.mark.parametrize(
    ("described", "value", "read"),
    [
        (Literal["a", 1], "a", "a"),
        (Literal["a", 1], 1, 1),
        (Literal[1], 1.0, 1),
        (Literal[True], True, True),
        (Literal[None], None, None),
        (Colour, "red", Colour.RED),
        (Word, "a", Word.A),
        (Level, 1, Level.LOW),
        (Literal[Colour.RED], "red", Colour.RED),
    ],
)
def test_a_choice_is_read_by_value(described: Any, value: object, read: object) -> None:
    made = codec(described).decode(value)
    assert made == Success(read)
    assert type(made.unwrap()) is type(read)
    assert codec(described).encode(read).unwrap() == value


@pytest.mark.parametrize(
    ("described", "value"),
    [
        (Literal[1], True),
        (Literal[True], 1),
        (Literal[0], False),
        (Literal["1"], 1),
        (Colour, "RED"),
        (Colour, []),
        (Level, True),
        (Literal[Colour.RED], "blue"),
        (Never, None),
    ],
)
def test_what_is_no_choice_is_refused(described: Any, value: object) -> None:
    assert isinstance(codec(described).decode(value), Failure)


@pytest.mark.parametrize(
    ("described", "value"),
    [(Literal[1], True), (Literal[1], 1.0), (Colour, "red"), (Word, "a"), (Level, 1), (Colour, []), (Never, None)],
)
def test_what_is_no_choice_is_not_written(described: Any, value: object) -> None:
    assert isinstance(codec(described).encode(value), Failure)


def test_the_choices_are_told() -> None:
    assert codec(Colour).decode("x").failure().problems == ('$: expected one of "red", "blue"',)
    assert codec(Literal[True]).decode("x").failure().problems == ("$: expected true",)
    assert codec(Never).decode("x").failure().problems == ("$: expected nothing: no value fits",)


def test_choices_are_described() -> None:
    assert codec(Colour).json_schema["enum"] == ["red", "blue"]
    assert codec(Colour).json_schema["description"] == "What it looks like."
    assert codec(Literal["a"]).json_schema["const"] == "a"
    assert codec(Never).json_schema["not"] == {}


@pytest.mark.parametrize(
    ("described", "why"), [(Pair, "no JSON string"), (Flags, "flags combine"), (Empty, "no values")]
)
def test_enums_that_are_no_choice_are_refused(described: type, why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        codec(described)


def test_bytes_are_no_literal() -> None:
    with pytest.raises(ConstructionError, match="the choice bytes"):
        codec(Literal[b"a"])
