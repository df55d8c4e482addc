"""JSON of a provider's, read with suspicion: what has another type than it should counts as absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import orjson

from lamina.providers._wire._broken import Broken
from lamina.schema import JsonValue

Object: TypeAlias = Mapping[str, object]
"""A JSON object whose members nobody has looked at yet."""

Wire: TypeAlias = dict[str, Any]  # Any: JSON on its way out, which the SDKs type part by part

_NOTHING: Object = {}


def parse(data: str | bytes) -> Object:
    """Read a JSON object.

    Raises:
        Broken: It is none.
    """
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Broken.unreadable("a message of the provider is no JSON") from None
    if not isinstance(value, dict):
        raise Broken.unreadable("a message of the provider is no JSON object")
    return cast("Object", value)


def object_in(parent: Object, key: str) -> Object:
    """Give a member that is an object, else an empty one."""
    value = parent.get(key)
    return cast("Object", value) if isinstance(value, dict) else _NOTHING


def objects_in(parent: Object, key: str) -> list[Object]:
    """Give the objects of a member that is a list."""
    value = parent.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Object", item) for item in items if isinstance(item, dict)]


def text_in(parent: Object, key: str) -> str:
    """Give a member that is a text, else an empty one."""
    value = parent.get(key)
    return value if isinstance(value, str) else ""


def count_in(parent: Object, key: str) -> int | None:
    """Give a member that is a whole number."""
    value = parent.get(key)
    return value if type(value) is int else None


def written(value: JsonValue) -> str:
    """Write JSON; what orjson refuses, integers beyond 64 bits and lone surrogates, is written in ASCII.

    Example:
        >>> written({"a": [1, "é"]}), written(1 << 70)
        ('{"a":[1,"é"]}', '1180591620717411303424')
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value)
