# ruff: noqa: UP007, UP045 - both spellings of a union are tested
from __future__ import annotations

import datetime as dt
import enum
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

import annotated_types as at
import attrs
import pytest
from returns.result import Failure, Success
from typing_extensions import Doc, TypeAliasType

from lamina.effect import ConstructionError, tagged
from lamina.schema import Encoded, JsonValue, codec


@attrs.frozen
class Card:
    number: str


@attrs.frozen
class Cash:
    given: int


@attrs.frozen
class Order:
    pay: Card | Cash
    tip: Card | Cash | None = None


@tagged("Out of {sku}.")
class OutOfStock:
    sku: str


@tagged("No.")
class Denied:
    pass


@attrs.frozen
class Leaf:
    pass


@attrs.frozen
class Fork:
    left: Fork | Leaf
    right: Fork | Leaf


@attrs.frozen
class Labelled:
    tag: str = attrs.field(alias="_tag")


class Colour(enum.Enum):
    RED = "red"


Payment = TypeAliasType("Payment", "Card | Cash")


def test_classes_are_told_apart_by_their_tag() -> None:
    assert codec(Card | Cash).decode({"_tag": "Cash", "given": 1}) == Success(Cash(1))
    assert codec(Card | Cash).encode(Cash(1)) == Success({"_tag": "Cash", "given": 1})
    assert codec(Optional[Payment]).decode(None) == Success(None)
    assert codec(Union[Card, Cash]).decode({"_tag": "Card", "number": "1"}) == Success(Card("1"))
    assert codec(OutOfStock | Denied).encode(Denied()) == Success({"_tag": "Denied"})


@pytest.mark.parametrize("tag", ["SECRET", 5, None, ["Card"], {}, "card"])
def test_an_unknown_tag_is_told_honestly(tag: object) -> None:
    read = codec(Order).decode({"pay": {"_tag": tag, "given": 1}})
    assert read.failure().problems == ("$.pay: unknown _tag; expected one of Card, Cash",)


def test_a_missing_tag_and_another_kind() -> None:
    order = codec(Order)
    assert order.decode({"pay": {"given": 1}}).failure().problems == (
        "$.pay: missing _tag; expected one of Card, Cash",
    )
    assert order.decode({"pay": 3}).failure().problems == ("$.pay: expected object",)
    assert order.decode({"pay": None, "tip": 3}).failure().problems == (
        "$.pay: expected object",
        "$.tip: expected object or null",
    )
    assert order.decode({"pay": {"_tag": "Cash", "given": "x"}}).failure().problems == (
        "$.pay.given: expected integer",
    )


def test_one_class_needs_no_tag_and_takes_none() -> None:
    maybe = codec(Optional[Card])
    assert maybe.decode({"number": "1"}) == Success(Card("1"))
    assert isinstance(maybe.decode({"_tag": "Card", "number": "1"}), Failure)


def test_recursive_unions() -> None:
    tree = codec(Fork)
    plain = {"left": {"_tag": "Leaf"}, "right": {"_tag": "Fork", "left": {"_tag": "Leaf"}, "right": {"_tag": "Leaf"}}}
    assert tree.encode(Fork(Leaf(), Fork(Leaf(), Leaf()))) == Success(plain)
    assert tree.decode(plain) == Success(Fork(Leaf(), Fork(Leaf(), Leaf())))
    assert tree.decode({"left": {"_tag": "Leaf"}, "right": {"_tag": "Fork", "left": 1}}).failure().problems == (
        "$.right.left: expected object",
        "$.right.right: missing",
    )


def test_unions_are_described_with_constant_tags() -> None:
    schema: Any = codec(Card | Cash).json_schema
    assert schema["oneOf"] == [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}]
    assert schema["$defs"]["Card"]["properties"]["_tag"] == {"type": "string", "const": "Card"}
    assert schema["$defs"]["Card"]["required"] == ["_tag", "number"]
    mixed: Any = codec(Annotated[Card, Doc("By card.")] | Cash | None).json_schema
    assert mixed["anyOf"] == [
        {"$ref": "#/$defs/Card", "description": "By card."},
        {"$ref": "#/$defs/Cash"},
        {"type": "null"},
    ]


@pytest.mark.parametrize(
    ("described", "value"),
    [
        (int | float, 1),
        (int | float, 1.5),
        (int | float, 1.0),
        (int | str | None, "a"),
        (Literal["auto"] | int, "auto"),
        (Literal["auto"] | str, "auto"),
        (Colour | int, Colour.RED),
        (str | list[int], [1]),
        (dict[str, int] | list[int] | None, {"a": 1}),
        (Optional[JsonValue], {"a": [1]}),
        (dt.date | None, dt.date(2020, 1, 1)),
        (Literal["a"] | UUID, "a"),
    ],
)
def test_other_unions(described: Any, value: object) -> None:
    plain = codec(described).encode(value).unwrap()
    read = codec(described).decode(plain).unwrap()
    assert read == value
    assert type(read) is type(value)


def test_limits_count_for_the_members_that_have_them() -> None:
    maybe = codec(Annotated[int | None, at.Ge(0), at.Le(9)])
    assert maybe.decode(None) == Success(None)
    assert maybe.decode(-1).failure().problems == ("$: expected >= 0",)
    assert maybe.json_schema["anyOf"] == [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "null"}]
    with pytest.raises(ConstructionError, match="MinLen has no meaning for any member"):
        codec(Annotated[int | None, at.MinLen(1)])


def test_nothing_but_a_member_is_written() -> None:
    assert codec(Card | Cash).encode(Leaf()).failure().problems == ("$: expected Card or Cash",)
    assert codec(int | None).encode("x").failure().problems == ("$: expected int or None",)
    assert codec(int | None).encode(True).failure().problems == ("$: expected int or None",)


Other: Any = attrs.make_class("Card", {"x": attrs.field(type=int)})
Path = Annotated[complex, Encoded(str, decode=complex, encode=str)]


@pytest.mark.parametrize(
    ("described", "why"),
    [
        (str | UUID, "two members are a JSON string"),
        (dt.date | dt.datetime, "two members are a JSON string"),
        (list[int] | tuple[int, ...], "two members are a JSON array"),
        (Card | dict[str, int], "two members are a JSON object"),
        (Card | Cash | dict[str, int], "cannot be told apart"),
        (JsonValue | Card, "two members are a JSON"),
        (Colour | str, "a choice could also be read as another member"),
        (Union[str, Path], "two members are a JSON string"),
        (Card | Other, "two classes of one name"),
        (Card | Labelled, 'its own field "_tag"'),
        (Annotated[int | str, at.Ge(1)] | None, "the member of the union that it is for"),
    ],
)  # fmt: skip
def test_unions_that_json_cannot_tell_apart_are_refused(described: Any, why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        codec(described)
