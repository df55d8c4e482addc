from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

import attrs
import pytest
from returns.result import Failure, Success
from typing_extensions import Doc

from lamina.effect import tagged
from lamina.schema import codec


@attrs.frozen
class Card:
    """Pay by card.

    Only credit cards are taken.

    Attributes:
        number: The number on the front,
            without spaces.
        holder (str): Whose it is.
    """

    number: str
    holder: str = "me"
    limit: Annotated[int, Doc("In euros.")] = 5
    note: str = attrs.field(default="", metadata={"description": "For us only."})


@attrs.frozen
class Private:
    _secret: int
    shown: int = attrs.field(alias="displayed")
    made: int = attrs.field(init=False, default=3)


@attrs.frozen
class Checked:
    low: int = attrs.field(validator=attrs.validators.gt(3))
    high: int = attrs.field(default=9, converter=int)

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise RuntimeError(f"SECRET {self.low}")


@attrs.frozen
class Tree:
    name: str
    left: Tree | None = None


@attrs.define
class Slots:
    x: int


@tagged("Not {x}.")
class Refused:
    x: int


class Derived(Refused):
    pass


@attrs.frozen
class Empty:
    pass


def test_undeclared_and_missing_keys_are_named() -> None:
    assert codec(Card).decode({"numbr": "1"}).failure().problems == (
        "$.number: missing",
        "$: an undeclared key; perhaps number was meant",
    )


@pytest.mark.parametrize("value", [[], "x", None, 1, MappingProxyType({"number": "1"}), Card("1")])
def test_only_a_dict_is_an_object(value: object) -> None:
    assert codec(Card).decode(value).failure().problems == ("$: expected object",)


def test_keys_that_are_no_strings_are_refused() -> None:
    assert isinstance(codec(Empty).decode({1: 2, None: 3}), Failure)


def test_a_private_attribute_travels_by_its_alias() -> None:
    private = codec(Private)
    assert private.decode({"secret": 1, "displayed": 2}) == Success(Private(secret=1, displayed=2))
    assert private.encode(Private(1, 2)) == Success({"secret": 1, "displayed": 2})
    assert private.decode({"_secret": 1, "displayed": 2}).failure().problems[0] == "$.secret: missing"


def test_defaults_are_used_and_described() -> None:
    card = codec(Card)
    assert card.decode({"number": "1"}) == Success(Card("1"))
    assert card.encode(Card("1")) == Success({"number": "1", "holder": "me", "limit": 5, "note": ""})
    assert card.json_schema["required"] == ["number"]


def test_the_schema_speaks_of_class_and_fields() -> None:
    schema: Any = codec(Card).json_schema
    assert schema["title"] == "Card"
    assert schema["description"] == "Pay by card."
    assert schema["additionalProperties"] is False
    assert {key: told.get("description") for key, told in schema["properties"].items()} == {
        "number": "The number on the front, without spaces.",
        "holder": "Whose it is.",
        "limit": "In euros.",
        "note": "For us only.",
    }


def test_validators_and_converters_of_the_class_have_the_last_word() -> None:
    checked = codec(Checked)
    assert checked.decode({"low": 4}) == Success(Checked(4))
    assert checked.decode({"low": 1}).failure().problems == ("$: not a valid Checked",)
    assert checked.decode({"low": 10}).failure().problems == ("$: not a valid Checked",)
    assert codec(list[Checked]).decode([{"low": 4}, {"low": 1}]).failure().problems == ("$[1]: not a valid Checked",)


def test_a_class_may_hold_itself() -> None:
    tree = codec(Tree)
    read = tree.decode({"name": "a", "left": {"name": "b", "left": {"name": 3}}})
    assert read.failure().problems == ("$.left.left.name: expected string",)
    schema: Any = tree.json_schema
    assert schema["type"] == "object"
    assert schema["properties"]["left"]["anyOf"][0] == {"$ref": "#/$defs/Tree"}


def test_a_tower_of_objects_is_too_deep_and_no_crash() -> None:
    tower: Tree | None = None
    plain: Any = None
    for _ in range(50_000):
        tower = Tree("x", tower)
        plain = {"name": "x", "left": plain}
    assert codec(Tree).encode(tower).failure().problems == ("$: nested too deeply",)  # type: ignore[arg-type]  # never None
    assert codec(Tree).decode(plain).failure().problems == ("$: nested too deeply",)
    while tower is not None:  # taken down from the outside in, so that nothing recurses when it is freed
        tower = tower.left
    while plain is not None:
        plain = plain["left"]


def test_only_the_class_itself_is_written() -> None:
    assert codec(Refused).encode(Derived(1)).failure().problems == ("$: expected Refused",)
    assert codec(Card).encode(Empty()).failure().problems == ("$: expected Card",)  # type: ignore[arg-type]  # that is the point
    assert codec(list[Card]).encode([Card(5), Card("1", 3)]).failure().problems == (  # type: ignore[arg-type]  # that is the point
        "$[0].number: expected string",
        "$[1].holder: expected string",
    )


def test_an_attribute_that_was_never_set_is_missing() -> None:
    assert codec(Slots).encode(Slots.__new__(Slots)).failure().problems == ("$.x: missing",)


@pytest.mark.parametrize("name", ["cl", "converter", "attrs", "typevar_map", "o", "res", "instance", "cls", "value"])
def test_a_field_may_have_any_name(name: str) -> None:
    for fields in ({name: attrs.field(type=int)}, {name: attrs.field(type=int, default=2, kw_only=True)}):
        cls = attrs.make_class("Named", fields)
        assert codec(cls).decode({name: 1}) == Success(cls(**{name: 1}))
        assert codec(cls).encode(cls(**{name: 1})) == Success({name: 1})


def test_a_field_named_tag_is_a_field_like_any_other() -> None:
    cls = attrs.make_class("Labelled", {"tag": attrs.field(type=int, alias="_tag")})
    assert codec(cls).decode({"_tag": 1}) == Success(cls(1))
