"""A JSON Schema without references, for readers that do not follow them."""

from __future__ import annotations

from collections.abc import Mapping

from lamina.schema._json import JsonValue

_PREFIX = "#/$defs/"
_MOST_PARTS = 50_000


def inline_defs(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Put every definition of `$defs` where it is referred to.

    When to use: for a reader that drops `$defs` or refuses `$ref`, as some clients of the Model Context Protocol do.
    A definition that refers to itself cannot be written out: it, and what it refers to, stay as they are. So does the
    whole schema where it would become too large to be read, of more than 50,000 parts say.

    Example:
        >>> inline_defs({"$ref": "#/$defs/N", "$defs": {"N": {"type": "integer"}}})
        {'type': 'integer'}
    """
    try:
        return _Inlining(schema).whole()
    except (_TooLarge, RecursionError):
        return dict(schema)


class _TooLarge(Exception):
    """Definitions that name each other twice double with each step."""


class _Inlining:
    """One schema on its way."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        defs = schema.get("$defs")
        self._schema = schema
        self._bodies: dict[str, JsonValue] = defs if isinstance(defs, dict) else {}
        self._endless = _endless(self._bodies)
        self._kept: set[str] = set()
        self._left = _MOST_PARTS

    def whole(self) -> dict[str, JsonValue]:
        """Write it out.

        Raises:
            _TooLarge: It has no end that anybody would read.
        """
        schema, bodies, walk = self._schema, self._bodies, self._walk
        made = {key: walk(value) for key, value in schema.items() if key not in ("$defs", "$ref")}
        if _referred(schema) is not None:
            top = walk({key: value for key, value in schema.items() if key != "$defs"})
            made = top if isinstance(top, dict) else made
        written: dict[str, JsonValue] = {}
        while missing := sorted(self._kept - written.keys()):
            for name in missing:
                body = bodies[name]
                written[name] = {key: walk(one) for key, one in body.items()} if isinstance(body, dict) else body
        return {**made, "$defs": written} if written else made

    def _walk(self, value: JsonValue) -> JsonValue:
        self._left -= 1
        if self._left < 0:
            raise _TooLarge
        if isinstance(value, list):
            return [self._walk(one) for one in value]
        if not isinstance(value, dict):
            return value
        name = _referred(value)
        if name is None or name not in self._bodies:
            return {key: self._walk(one) for key, one in value.items()}
        if name in self._endless:
            self._kept.add(name)
            return value
        body = self._walk(self._bodies[name])
        beside: dict[str, JsonValue] = {key: self._walk(one) for key, one in value.items() if key != "$ref"}
        return {**body, **beside} if isinstance(body, dict) else body


def _referred(value: Mapping[str, JsonValue]) -> str | None:
    ref = value.get("$ref")
    return ref.removeprefix(_PREFIX) if isinstance(ref, str) and ref.startswith(_PREFIX) else None


def _endless(bodies: Mapping[str, JsonValue]) -> set[str]:
    """Find the definitions that lead back to themselves, and those that lie between such."""
    leads = {name: {one for one in _named(body) if one in bodies} for name, body in bodies.items()}
    led: dict[str, set[str]] = {name: set() for name in bodies}
    for name, ones in leads.items():
        for one in ones:
            led[one].add(name)
    left = set(bodies)
    # Who leads nowhere, or is led to from nowhere, is in no circle; without it the same may hold of others.
    for onward, back in ((leads, led), (led, leads)):
        todo = [name for name in left if not onward[name]]
        while todo:
            gone = todo.pop()
            left.discard(gone)
            for name in back[gone]:
                onward[name].discard(gone)
                if not onward[name]:
                    todo.append(name)
    return left


def _named(value: JsonValue) -> list[str]:
    """List the definitions that a value refers to."""
    if isinstance(value, list):
        return [name for one in value for name in _named(one)]
    if not isinstance(value, dict):
        return []
    own = _referred(value)
    return [*([] if own is None else [own]), *(name for one in value.values() for name in _named(one))]
