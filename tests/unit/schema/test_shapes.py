from __future__ import annotations

import abc
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

import annotated_types as at
import attrs
import pytest
from returns.result import Success
from typing_extensions import TypeAliasType

from lamina.effect import ConstructionError, Problem
from lamina.schema import codec

if TYPE_CHECKING:
    from decimal import Decimal as Hidden


@attrs.frozen
class Inner:
    where: Path


@attrs.frozen
class Wrong:
    plane: complex
    inner: Inner
    again: Inner
    call: Callable[[int], int]
    since: Annotated[dt.datetime, at.Ge(dt.datetime(2020, 1, 1))]
    good: int


@attrs.frozen
class Unseen:
    amount: Hidden


class Row(TypedDict):
    x: int


class Point(NamedTuple):
    x: int


class Abstract(abc.ABC):
    @abc.abstractmethod
    def act(self) -> None: ...


@attrs.frozen
class Half(Abstract):
    x: int


Loop = TypeAliasType("Loop", "Loop")
LoopOrNone = TypeAliasType("LoopOrNone", "LoopOrNone | None")
Lost = TypeAliasType("Lost", "list[Nowhere]")  # noqa: F821 - that is the point
Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | int")
Outer = TypeAliasType("Outer", "list[Between]")
Between = TypeAliasType("Between", "dict[str, Outer] | None")
Name = TypeAliasType("Name", str)


def refused(described: Any) -> tuple[Problem, ...]:
    with pytest.raises(ConstructionError) as raised:
        codec(described)
    return raised.value.problems


def test_every_field_that_cannot_be_described_is_named_with_its_place() -> None:
    problems = refused(Wrong)
    assert [problem.subject for problem in problems] == ["Wrong.plane", "Inner.where", "Wrong.call", "Wrong.since"]
    assert all(problem.kind == "SCHEMA" for problem in problems)
    assert all("test_shapes.py" in problem.lines[0] for problem in problems)
    assert "make it an attrs class, or use Annotated[..., Encoded(...)]" in problems[0].lines[0]


@pytest.mark.parametrize(
    ("described", "why"),
    [
        (Unseen, "cannot be resolved (Hidden): it must not be imported under TYPE_CHECKING"),
        (Row, "make it an attrs class"),
        (Point, "make it an attrs class"),
        (Half, "an abstract class has no values"),
        (Abstract, "make it an attrs class"),
        ("Inner", "no JSON form"),
        (attrs.make_class("Bare", ["x"]), "no annotation: write its type"),
        (Loop, "nothing but itself"),
        (LoopOrNone, "nothing but itself"),
        (list[LoopOrNone], "nothing but itself"),
        (Lost, "names Nowhere"),
        (..., "no JSON form"),
    ],
)
def test_what_has_no_json_form_is_refused_with_a_reason(described: Any, why: str) -> None:
    (problem,) = refused(described)
    assert why in problem.lines[0]


def test_a_refused_type_is_refused_again() -> None:
    assert refused(Wrong) == refused(Wrong)


def test_a_class_made_in_a_function_may_hold_itself() -> None:
    @attrs.frozen
    class Local:
        kids: list[Local]

    assert codec(Local).decode({"kids": [{"kids": []}]}) == Success(Local([Local([])]))


def test_aliases_may_hold_themselves_and_each_other() -> None:
    assert codec(Json).decode({"a": [1, {}]}) == Success({"a": [1, {}]})
    assert codec(Json).decode({"a": [1, "x"]}).failure().problems == ("$[key 1][1]: expected object, array or integer",)
    assert codec(Outer).decode([None, {"a": []}]) == Success([None, {"a": []}])
    schema: Any = codec(Json).json_schema
    assert schema["$ref"] == "#/$defs/Json"
    assert schema["$defs"]["Json"]["anyOf"][1] == {"type": "array", "items": {"$ref": "#/$defs/Json"}}


def test_an_alias_that_does_not_hold_itself_leaves_no_trace() -> None:
    assert codec(Name).json_schema == codec(str).json_schema
