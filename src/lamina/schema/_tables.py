"""Mappings from strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from lamina.schema._describe import Definitions
from lamina.schema._gather import each_member, sized
from lamina.schema._json import JsonValue
from lamina.schema._limits import NO_CHECKS, OBJECT_KEYWORDS, Checks, Limit, limit_checks
from lamina.schema._mismatch import bad
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema


@attrs.frozen(eq=False)
class Table(Shape):
    """An object whose keys the sender chooses. A problem names such a key by its place, never by its text."""

    key: Shape
    plain_keys: bool
    item: Shape
    accepts: type
    checks: Checks = NO_CHECKS

    def kinds(self) -> frozenset[Kind]:
        return frozenset({"object"})

    def hashable(self) -> bool:
        return False

    def describe(self, defs: Definitions) -> Schema:
        names: Schema = {} if self.plain_keys else {"propertyNames": self.key.describe(defs)}
        return {"type": "object", **names, "additionalProperties": self.item.describe(defs), **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        key, item, check = self.key.reader(detail), self.item.reader(detail), self.checks.check

        def read(members: dict[str, Any], _: object = None) -> dict[Any, Any]:
            if type(members) is not dict:
                raise bad("expected object")
            if detail:
                made: dict[Any, Any] = sized(check, members, lambda: each_member(key, item, members))
                return made
            if check is not None:
                check(members)
            return {key(name): item(one, None) for name, one in members.items()}

        return read

    def writer(self, detail: bool) -> Hook:
        key, item, check = self.key.writer(detail), self.item.writer(detail), self.checks.check
        accepts: Any = self.accepts

        def write(value: Any) -> dict[str, JsonValue]:
            if not isinstance(value, accepts):
                raise bad("expected mapping")
            members: Mapping[Any, Any] = value
            if detail:
                made: dict[Any, Any] = sized(check, members, lambda: each_member(key, item, members))
                return made
            if check is not None:
                check(members)
            return {key(name): item(one) for name, one in members.items()}

        return write

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return attrs.evolve(self, checks=limit_checks(self.checks.limits + limits, OBJECT_KEYWORDS))
