"""Whether a JSON Schema may be sent as strict: the subset that OpenAI compiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

_SHAPE = {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"}
_LIMITS = {"description", "title", "pattern", "format", "minimum", "maximum", "multipleOf", "minItems", "maxItems"}


def is_strict(schema: object) -> bool:
    """Say whether every object in a schema is closed, with all its members required, and nothing else is in the way.

    Example:
        >>> is_strict({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
        ...            "additionalProperties": False})
        True
        >>> is_strict({"type": "object"})
        False
    """
    if not isinstance(schema, Mapping):
        return False
    node = cast("Mapping[str, object]", schema)
    if not (_SHAPE | _LIMITS).issuperset(node):
        return False
    properties = _mapping(node.get("properties"))
    if "properties" in node or node.get("type") == "object":
        required = node.get("required", [])
        if node.get("additionalProperties") is not False or not isinstance(required, list | tuple):
            return False
        if set(properties) != set(cast("list[object]", required)):
            return False
    inner = [*properties.values(), *_mapping(node.get("$defs")).values(), *_list(node.get("anyOf"))]
    return all(is_strict(part) for part in (*inner, *([node["items"]] if "items" in node else [])))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
