"""The terms that all shapes share: kinds of JSON value, schemas, hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from lamina.schema._json import JsonValue

Hook: TypeAlias = Callable[..., Any]  # cattrs calls a reader with (value, type) and a writer with (value)
Schema: TypeAlias = dict[str, JsonValue]
Kind: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

KIND_ORDER: tuple[Kind, ...] = ("object", "array", "string", "integer", "number", "boolean", "null")


class Undescribable(Exception):
    """Raised while a type is read; its text becomes one line of the `ConstructionError`."""


def expected(kinds: frozenset[Kind]) -> str:
    """Say which kinds of value would have been right."""
    names = [kind for kind in KIND_ORDER if kind in kinds]
    if len(names) >= len(KIND_ORDER) - 1:
        return "expected JSON value"
    if not names:
        return "expected nothing: no value fits"
    return "expected " + (" or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0])
