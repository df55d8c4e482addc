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


def test_what_lies_between_two_circles_stays_and_what_leads_there_does_not() -> None:
    circle: dict[str, Any] = {"A": {"items": {"$ref": "#/$defs/A"}, "contains": {"$ref": "#/$defs/B"}}}
    between: dict[str, Any] = {"B": {"items": {"$ref": "#/$defs/C"}}, "C": {"items": {"$ref": "#/$defs/C"}}}
    schema = {"not": {"$ref": "#/$defs/D"}, "$defs": {**circle, **between, "D": {"items": {"$ref": "#/$defs/A"}}}}
    assert inline_defs(schema) == {"not": {"items": {"$ref": "#/$defs/A"}}, "$defs": {**circle, **between}}


def test_one_that_would_have_no_end_stays_whole() -> None:
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)}
    doubled: dict[str, Any] = {"$ref": "#/$defs/a0", "$defs": {**twice, "a60": {}}}
    line = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(5_000)}
    long: dict[str, Any] = {"$ref": "#/$defs/a0", "$defs": {**line, "a5000": {}}}
    assert inline_defs(doubled) == doubled
    assert inline_defs(long) == long


def test_a_root_that_is_a_reference() -> None:
    assert inline_defs({"$schema": "s", "$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}) == {
        "$schema": "s",
        "type": "string",
    }
    endless: dict[str, Any] = {"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}
    assert inline_defs(endless) == endless
