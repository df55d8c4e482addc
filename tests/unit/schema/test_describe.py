from __future__ import annotations

import json
from typing import Annotated, Any

import attrs
from jsonschema import Draft202012Validator
from typing_extensions import Doc

from lamina.schema import JsonValue, codec
from lamina.schema._describe import field_summaries, summary


@attrs.frozen
class Item:
    name: str


@attrs.frozen
class Order:
    first: Item
    rest: list[Item] = attrs.field(factory=list)
    other: Any = None
    made: float = attrs.field(factory=float)


def same_name(**types: Any) -> Any:
    return attrs.make_class("Item", {name: attrs.field(type=described) for name, described in types.items()})


def test_a_class_at_the_top_is_written_out_and_others_are_referred_to() -> None:
    assert codec(Order).json_schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Order",
        "properties": {
            "first": {"$ref": "#/$defs/Item"},
            "rest": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "default": []},
            "other": {"default": None},
            "made": {"type": "number"},
        },
        "required": ["first"],
        "additionalProperties": False,
        "$defs": {
            "Item": {
                "type": "object",
                "title": "Item",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    }


def test_two_classes_of_one_name_have_two_definitions() -> None:
    pair = same_name(a=same_name(x=int), b=same_name(y=str), c=Item)
    schema: Any = codec(pair).json_schema
    assert list(schema["$defs"]) == ["Item", "Item_2", "Item_3"]
    assert [schema["properties"][key]["$ref"][-6:] for key in "abc"] == ["s/Item", "Item_2", "Item_3"]


def test_a_description_at_the_top_wins_over_the_docstring() -> None:
    schema: Any = codec(Annotated[Item, Doc("What is sold.")]).json_schema
    assert schema["description"] == "What is sold."
    assert schema["type"] == "object"


def test_every_schema_is_json_and_the_same_each_time() -> None:
    for described in (Order, JsonValue, list[Order], dict[str, Item | None]):
        schema = codec(described).json_schema
        Draft202012Validator.check_schema(schema)
        assert json.loads(json.dumps(schema)) == schema
        assert codec(described).json_schema is schema


def test_a_summary_is_the_first_paragraph() -> None:
    assert summary(None) is None
    assert summary("") is None
    assert summary("  One\n    two.\n\n    Three.") == "One two."


def test_fields_are_told_in_the_docstring() -> None:
    doc = """What it is.

    Attributes:
        one: First,
            and more: of it.
        two (int): Second.

    Example:
        three: no field.
    """
    assert field_summaries(doc) == {"one": "First, and more: of it.", "two": "Second."}
    assert field_summaries(None) == {}
