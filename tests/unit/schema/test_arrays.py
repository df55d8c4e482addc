from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any

import annotated_types as at
import attrs
import pytest
from returns.result import Failure, Success

from lamina.effect import ConstructionError
from lamina.schema import JsonValue, codec


@attrs.define
class Mutable:
    x: int


@attrs.frozen
class Point:
    x: int


@attrs.frozen
class Holder:
    xs: list[int]


@pytest.mark.parametrize(
    ("described", "read"),
    [
        (list[int], [1, 2]),
        (tuple[int, ...], (1, 2)),
        (tuple[int, int], (1, 2)),
        (set[int], {1, 2}),
        (frozenset[int], frozenset({1, 2})),
        (Sequence[int], (1, 2)),
        (Collection[int], (1, 2)),
        (Iterable[int], (1, 2)),
        (MutableSequence[int], [1, 2]),
        (AbstractSet[int], frozenset({1, 2})),
        (MutableSet[int], {1, 2}),
        (list, [1, 2]),
        (tuple, (1, 2)),
    ],
)
def test_arrays_are_read(described: Any, read: object) -> None:
    made = codec(described).decode([1, 2])
    assert made == Success(read)
    assert type(made.unwrap()) is type(read)
    assert codec(described).encode(read) == Success([1, 2])


@pytest.mark.parametrize("value", ["ab", (1, 2), {"a": 1}, {1, 2}, None, 5])
@pytest.mark.parametrize("described", [list[int], tuple[int, ...], tuple[int, int], set[int], Sequence[str]])
def test_nothing_else_is_an_array(described: Any, value: object) -> None:
    assert codec(described).decode(value).failure().problems == ("$: expected array",)


@pytest.mark.parametrize(
    ("described", "value"),
    [
        (list[int], (1,)),
        (list[str], "ab"),
        (tuple[int, ...], [1]),
        (tuple[int, int], (1,)),
        (set[int], [1]),
        (Sequence[str], "ab"),
    ],
)
def test_other_python_values_are_not_written(described: Any, value: object) -> None:
    assert isinstance(codec(described).encode(value), Failure)


def test_a_row_has_its_length() -> None:
    row = codec(tuple[int, str])
    assert row.decode([1]).failure().problems == ("$: expected exactly 2 items",)
    assert row.decode(["x", 1]).failure().problems == ("$[0]: expected integer", "$[1]: expected string")
    assert codec(tuple[()]).decode([]) == Success(())
    assert isinstance(codec(tuple[()]).decode([1]), Failure)


def test_a_set_has_every_item_once() -> None:
    numbers = codec(set[int])
    assert numbers.decode([1, 1]).failure().problems == ("$: expected every item once",)
    assert numbers.decode([1, 1.0]).failure().problems == ("$: expected every item once",)
    assert codec(frozenset[str]).encode(frozenset({"b", "a", "c"})) == Success(["a", "b", "c"])
    assert codec(set[Point]).decode([{"x": 1}, {"x": 1.0}]).failure().problems == ("$: expected every item once",)


def test_two_texts_of_one_member_are_one_member() -> None:
    read = codec(set[dt.datetime]).decode(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00+00:00"])
    assert len(read.unwrap()) == 1


@pytest.mark.parametrize(
    "item", [list[int], dict[str, int], JsonValue, Mutable, Holder, tuple[list[int], ...], set[int]]
)
def test_a_set_of_what_cannot_be_hashed_is_refused(item: Any) -> None:
    with pytest.raises(ConstructionError, match="must be hashable"):
        codec(frozenset[item])


def test_a_set_that_would_mix_true_and_one_is_refused() -> None:
    with pytest.raises(ConstructionError, match="True and 1"):
        codec(set[int | bool])


def test_a_wrong_length_and_wrong_items_are_told_together() -> None:
    few = codec(Annotated[list[int], at.MinLen(2), at.MaxLen(3)])
    assert few.decode(["x"]).failure().problems == ("$: expected at least 2 items", "$[0]: expected integer")
    assert few.decode([1, 2, 3, 4]).failure().problems == ("$: expected at most 3 items",)
    assert few.encode([1]).failure().problems == ("$: expected at least 2 items",)
