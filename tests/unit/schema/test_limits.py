from __future__ import annotations

from typing import Annotated, Any, NewType

import annotated_types as at
import pytest
from jsonschema import Draft202012Validator
from returns.result import Failure, Success

from lamina.effect import ConstructionError
from lamina.schema import codec

Natural = NewType("Natural", Annotated[int, at.Ge(0)])  # type: ignore[valid-newtype]  # mypy wants a class, Python takes any type


@pytest.mark.parametrize(
    ("described", "good", "wrong", "why"),
    [
        (Annotated[int, at.Ge(2)], 2, 1, ">= 2"),
        (Annotated[int, at.Gt(2)], 3, 2, "> 2"),
        (Annotated[int, at.Le(2)], 2, 3, "<= 2"),
        (Annotated[float, at.Lt(2.5)], 2, 2.5, "< 2.5"),
        (Annotated[float, at.Gt(2**53)], 2**53 + 2, 2**53, "> 9007199254740992"),
        (Annotated[int, at.MultipleOf(3)], 9, 10, "a multiple of 3"),
        (Annotated[float, at.MultipleOf(0.5)], 1.5, 1.6, "a multiple of 0.5"),
        (Annotated[float, at.MultipleOf(0.1)], 0.2, 0.3, "a multiple of 0.1"),
        (Annotated[float, at.MultipleOf(2.0**-1000)], 2.0**1000, 2.0**-1001, f"a multiple of {2.0**-1000}"),
        (Annotated[str, at.MinLen(1)], "a", "", "at least 1 character"),
        (Annotated[str, at.Len(1, 2)], "\U0001f600" * 2, "abc", "at most 2 characters"),
        (Annotated[list[int], at.MaxLen(1)], [1], [1, 2], "at most 1 item"),
        (Annotated[dict[str, int], at.MaxLen(0)], {}, {"a": 1}, "at most 0 members"),
        (Annotated[frozenset[int], at.MinLen(2)], [1, 2], [1], "at least 2 items"),
        (Annotated[Natural, at.Lt(5)], 4, 5, "< 5"),
        (Natural, 0, -1, ">= 0"),
    ],
)
def test_limits_are_enforced_and_described(described: Any, good: Any, wrong: Any, why: str) -> None:
    made = codec(described)
    assert isinstance(made.decode(good), Success)
    assert made.decode(wrong).failure().problems == (f"$: expected {why}",)
    validator = Draft202012Validator(made.json_schema)
    assert validator.is_valid(good)
    assert not validator.is_valid(wrong)


def test_written_values_are_limited_too() -> None:
    assert isinstance(codec(Annotated[int, at.Ge(2)]).encode(1), Failure)
    assert isinstance(codec(Annotated[str, at.MaxLen(1)]).encode("ab"), Failure)


def test_all_broken_limits_are_told() -> None:
    odd = codec(Annotated[int, at.Interval(ge=10, lt=20), at.MultipleOf(7)])
    assert odd.decode(3).failure().problems == ("$: expected >= 10", "$: expected a multiple of 7")


@pytest.mark.parametrize(
    ("described", "why"),
    [
        (Annotated[str, at.Ge(1)], "Ge has no meaning here"),
        (Annotated[int, at.MinLen(1)], "MinLen has no meaning here"),
        (Annotated[bytes, at.MaxLen(3)], "MaxLen has no meaning here"),
        (Annotated[Any, at.Ge(3)], "Ge has no meaning"),
        (Annotated[tuple[int, int], at.MinLen(1)], "MinLen has no meaning here"),
        (Annotated[int, at.Ge("a")], "Ge takes a number"),  # type: ignore[arg-type, unused-ignore]  # that is the point
        (Annotated[int, at.Ge(float("nan"))], "Ge takes a number"),
        (Annotated[int, at.Ge(True)], "Ge takes a number"),
        (Annotated[int, at.MultipleOf(0)], "MultipleOf takes a number"),
        (Annotated[str, at.MinLen(-1)], "MinLen takes a whole number of characters"),
        (Annotated[str, at.Predicate(str.islower)], "JSON Schema cannot say Predicate"),
        (Annotated[int, at.Ge(1), at.Ge(2)], "Ge is given twice"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(described: Any, why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        codec(described)


def test_metadata_of_others_is_left_alone() -> None:
    assert codec(Annotated[int, "a note", at.Unit("m"), object]).decode(1) == Success(1)
