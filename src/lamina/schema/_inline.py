"""A JSON Schema without references, for readers that do not follow them."""

from __future__ import annotations

from collections.abc import Mapping

from lamina.schema._json import JsonValue

_PREFIX = "#/$defs/"


def inline_defs(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Put every definition of `$defs` where it is referred to.

    When to use: for a reader that drops `$defs` or refuses `$ref`, as some clients of the Model Context Protocol do.
    A definition that refers to itself cannot be written out: it, and what it refers to, stay as they are.

    Example:
        >>> inline_defs({"$ref": "#/$defs/N", "$defs": {"N": {"type": "integer"}}})
        {'type': 'integer'}
    """
    defs = schema.get("$defs")
    bodies: dict[str, JsonValue] = defs if isinstance(defs, dict) else {}
    kept: set[str] = set()
    endless = {name for name in bodies if _reaches(name, bodies)}

    def walk(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [walk(one) for one in value]
        if not isinstance(value, dict):
            return value
        name = _referred(value)
        if name is None or name not in bodies:
            return {key: walk(one) for key, one in value.items()}
        if name in endless:
            kept.add(name)
            return value
        body = walk(bodies[name])
        beside: dict[str, JsonValue] = {key: walk(one) for key, one in value.items() if key != "$ref"}
        return {**body, **beside} if isinstance(body, dict) else body

    made = {key: walk(value) for key, value in schema.items() if key not in ("$defs", "$ref")}
    if _referred(schema) is not None:
        top = walk({key: value for key, value in schema.items() if key != "$defs"})
        made = top if isinstance(top, dict) else made
    written: dict[str, JsonValue] = {}
    while missing := sorted(kept - written.keys()):
        for name in missing:
            body = bodies[name]
            written[name] = {key: walk(one) for key, one in body.items()} if isinstance(body, dict) else body
    return {**made, "$defs": written} if written else made


def _referred(value: Mapping[str, JsonValue]) -> str | None:
    ref = value.get("$ref")
    return ref.removeprefix(_PREFIX) if isinstance(ref, str) and ref.startswith(_PREFIX) else None


def _reaches(name: str, bodies: Mapping[str, JsonValue]) -> bool:
    """Tell whether a definition leads back to itself."""
    seen: set[str] = set()
    todo = list(_named(bodies[name]))
    while todo:
        one = todo.pop()
        if one == name:
            return True
        if one not in seen and one in bodies:
            seen.add(one)
            todo += _named(bodies[one])
    return False


def _named(value: JsonValue) -> list[str]:
    """List the definitions that a value refers to."""
    if isinstance(value, list):
        return [name for one in value for name in _named(one)]
    if not isinstance(value, dict):
        return []
    own = _referred(value)
    return [*([] if own is None else [own]), *(name for one in value.values() for name in _named(one))]
