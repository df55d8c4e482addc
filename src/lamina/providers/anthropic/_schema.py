"""The JSON Schemas that Anthropic can hold an answer to, and what becomes of those that say more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from lamina.providers._wire import Object, Wire

_TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
_KEPT = ("description", "title", "enum", "const")
# Keywords that only narrow what else is said: without them the schema allows more, which the contract finds out.
_NARROWING = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"),
    *("format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "contentEncoding"),
    *("default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$id", "$comment", "discriminator"),
}
_SHAPE = {"$ref", "type", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "$defs"}

_Defs: TypeAlias = Mapping[str, object]


class _Inexpressible(Exception):
    """The schema says something that cannot be left out."""


def expressible(schema: Object) -> Wire | None:
    """Give the part of a schema that the API understands, or `None` where the rest would change what it means.

    Limits of numbers and lengths are left out; open objects, tuples and recursion cannot be.

    Example:
        >>> expressible({"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"],
        ...              "additionalProperties": False})["properties"]
        {'x': {'type': 'integer'}}
        >>> expressible({"type": "object", "additionalProperties": {"type": "integer"}})
    """
    try:
        _refuse_recursion(schema)
        return _node(schema)
    except (_Inexpressible, RecursionError):
        return None


def _node(given: object) -> Wire:
    if not isinstance(given, Mapping):
        raise _Inexpressible
    node = cast("Object", given)
    if not {*_SHAPE, *_KEPT, *_NARROWING}.issuperset(node):
        raise _Inexpressible
    defs = {"$defs": {name: _node(part) for name, part in _mapping(node["$defs"]).items()}} if "$defs" in node else {}
    if "$ref" in node:
        return {"$ref": node["$ref"], **defs}
    made: Wire = {**{key: node[key] for key in _KEPT if key in node}, **defs}
    kind = node.get("type")
    if kind is not None:
        if not isinstance(kind, str) or kind not in _TYPES:
            raise _Inexpressible
        made["type"] = kind
    if node.get("format") in _FORMATS:
        made["format"] = node["format"]
    if node.get("minItems") in (0, 1):
        made["minItems"] = node["minItems"]
    for key in ("anyOf", "oneOf"):
        if key in node:
            made["anyOf"] = [_node(part) for part in _list(node[key])]
    if "items" in node:
        made["items"] = _node(node["items"])
    if kind == "object":
        made |= _object(node)
    if not {"type", "anyOf", "enum", "const"} & set(made):
        raise _Inexpressible
    return made


def _object(node: Object) -> Wire:
    properties = _mapping(node.get("properties", {}))
    if node.get("additionalProperties", not properties) is not False:
        raise _Inexpressible
    made: Wire = {"properties": {name: _node(part) for name, part in properties.items()}}
    if "required" in node:
        made["required"] = list(_list(node["required"]))
    return {**made, "additionalProperties": False}


def _refuse_recursion(schema: Object) -> None:
    defs: _Defs = _mapping(schema.get("$defs", {}))
    reached = {name: _refs(part) for name, part in defs.items()}
    # A definition is done when all that it refers to is done; what never becomes so goes in a circle.
    done: set[str] = set()
    while ready := {name for name, refs in reached.items() if name not in done and refs <= done}:
        done |= ready
    if not _refs({**schema, "$defs": {}}) <= done or set(defs) - done:
        raise _Inexpressible


def _refs(node: object) -> set[str]:
    if isinstance(node, list):
        return {name for part in cast("list[object]", node) for name in _refs(part)}
    if not isinstance(node, Mapping):
        return set()
    found = {name for part in cast("Object", node).values() for name in _refs(part)}
    target = cast("Object", node).get("$ref")
    return found | {target.removeprefix("#/$defs/")} if isinstance(target, str) else found


def _mapping(value: object) -> Object:
    if not isinstance(value, Mapping):
        raise _Inexpressible
    return cast("Object", value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise _Inexpressible
    return [*cast("list[object]", value)]
