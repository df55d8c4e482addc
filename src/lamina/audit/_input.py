"""Keeping what a caller gave: a copy that nobody can change any more, with the named fields replaced, however deep."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

REDACTED = "[redacted]"
_COMPOUND: tuple[type, ...] = (Mapping, list, tuple)


def kept_input(given: object, redact: Collection[str] = ()) -> object:
    """Copy an input: plain objects, arrays and sets, cycles included; other values are kept as they are.

    Args:
        given: What a caller gave. What is neither object nor array is not kept.
        redact: Keys whose values are replaced, at any depth.

    Example:
        >>> kept_input({"id": 7, "auth": {"token": "s3cret"}}, {"token"})
        {'id': 7, 'auth': {'token': '[redacted]'}}
    """
    return _copy(given, frozenset(redact), {}) if isinstance(given, _COMPOUND) else None


def _copy(given: object, redact: frozenset[str], made: dict[int, object]) -> object:
    place = id(given)
    if place in made:
        return made[place]
    if isinstance(given, Mapping):
        fields: dict[object, object] = {}
        made[place] = fields
        for key, value in cast("Mapping[object, object]", given).items():
            fields[key] = REDACTED if key in redact else _copy(value, redact, made)
        return fields
    if isinstance(given, list):
        items: list[object] = []
        made[place] = items
        items.extend(_copy(item, redact, made) for item in cast("list[object]", given))
        return items
    if isinstance(given, tuple):
        return tuple([_copy(item, redact, made) for item in cast("tuple[object, ...]", given)])
    if isinstance(given, set | frozenset):
        return frozenset(cast("frozenset[object]", given))  # what is in it does not change
    return given
