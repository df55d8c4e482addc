"""The JSON alias: what is JSON is accepted, what is not is refused, and `is_json` narrows."""

from __future__ import annotations

from lamina.schema import JsonValue, canonical_json, is_json

nested: JsonValue = {"a": [1, 2.5, None, {"b": [True, "x"]}]}
scalar: JsonValue = 1
nothing: JsonValue = None

pair: JsonValue = (1, 2)  # ERR
raw: JsonValue = b"x"  # ERR
keyed: JsonValue = {1: "a"}  # ERR
inside: JsonValue = {"a": [object()]}  # ERR


def digest(value: object) -> bytes:
    canonical_json(value)  # ERR
    if not is_json(value):
        return b""
    return canonical_json(value)


def kinds(value: JsonValue) -> int:
    if isinstance(value, dict):
        return len(value) + sum(kinds(item) for item in value.values())
    if isinstance(value, list):
        return sum(kinds(item) for item in value)
    value.append(1)  # ERR
    return 1
