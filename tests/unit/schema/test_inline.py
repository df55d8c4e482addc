from __future__ import annotations

from typing import Any

import attrs
import jsonschema

from lamina.schema import codec, inline_defs


@attrs.frozen
class Leaf:
    text: str


@attrs.frozen
class Tree:
    leaf: Leaf
    children: tuple[Tree, ...] = ()


@attrs.frozen
class Wood:
    trees: tuple[Tree, ...]
    leaf: Leaf


def test_what_has_no_definitions_stays() -> None:
    assert inline_defs({"type": "object", "properties": {"a": {"$ref": "#/other"}}}) == {
        "type": "object",
        "properties": {"a": {"$ref": "#/other"}},
    }


def test_what_stands_beside_a_reference_is_kept() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"$ref": "#/$defs/N", "description": "Mine."}},
        "$defs": {"N": {"type": "integer", "description": "Theirs."}, "Unused": {"type": "null"}},
    }
    assert inline_defs(schema) == {"properties": {"a": {"type": "integer", "description": "Mine."}}}


def test_definitions_that_are_no_objects_are_kept() -> None:
    schema: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/Any"}, 5], "$defs": {"Any": True}}
    assert inline_defs(schema) == {"anyOf": [True, 5]}


def test_what_refers_to_itself_stays_and_still_holds() -> None:
    made = inline_defs(codec(Wood).json_schema)
    assert list(made["$defs"]) == ["Tree"]  # type: ignore[arg-type]
    leaf, tree = {"text": "x"}, {"leaf": {"text": "x"}, "children": [{"leaf": {"text": "y"}}]}
    jsonschema.Draft202012Validator(made).validate({"trees": [tree], "leaf": leaf})
    assert not jsonschema.Draft202012Validator(made).is_valid({"trees": [{"leaf": 5}], "leaf": leaf})


def test_a_root_that_is_a_reference() -> None:
    assert inline_defs({"$schema": "s", "$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}) == {
        "$schema": "s",
        "type": "string",
    }
    endless: dict[str, Any] = {"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}
    assert inline_defs(endless) == endless
