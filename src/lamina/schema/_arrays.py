"""Lists, tuples and sets."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import attrs

from lamina.schema._describe import Definitions
from lamina.schema._gather import each, sized
from lamina.schema._json import JsonValue, canonical_json, dump
from lamina.schema._limits import ARRAY_KEYWORDS, NO_CHECKS, Checks, Limit, limit_checks
from lamina.schema._mismatch import bad
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema, Undescribable


@attrs.frozen(eq=False)
class Items(Shape):
    """An array of any length of one kind of item.

    Attributes:
        make: Turns the list of items into the Python value.
        accepts: The Python classes that may be written.
        unique: Whether an item may stand in it only once.
    """

    item: Shape
    make: Callable[[list[Any]], Any]
    accepts: tuple[type, ...]
    name: str
    unique: bool = False
    checks: Checks = NO_CHECKS

    def kinds(self) -> frozenset[Kind]:
        return frozenset({"array"})

    def hashable(self) -> bool:
        return self.make in (tuple, frozenset) and self.item.hashable()

    def describe(self, defs: Definitions) -> Schema:
        unique: Schema = {"uniqueItems": True} if self.unique else {}
        return {"type": "array", "items": self.item.describe(defs), **unique, **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        item, make, check, unique = self.item.reader(detail), self.make, self.checks.check, self.unique

        def read(values: list[JsonValue], _: object = None) -> Any:
            if type(values) is not list:
                raise bad("expected array")
            if check is not None:
                check(values)
            made = make([item(one, None) for one in values])
            if unique and len(made) != len(values):
                _refuse_twice(values)
            return made

        def read_all(values: list[JsonValue], _: object = None) -> Any:
            if type(values) is not list:
                raise bad("expected array")

            def rest() -> Any:
                made = make(each(item, values))
                if unique and len(made) != len(values):
                    _refuse_twice(values)
                return made

            return sized(self.checks.check, values, rest)

        return read_all if detail else read

    def writer(self, detail: bool) -> Hook:
        item, checks, name = self.item.writer(detail), self.checks, self.name
        accepts: Any = self.accepts
        unique = self.unique

        def write(value: Any) -> list[JsonValue]:
            if not isinstance(value, accepts):
                raise bad(f"expected {name}")
            values: Collection[object] = value
            if checks.check is not None:
                checks.check(values)
            made = [item(one) for one in values]
            return sorted(made, key=dump) if unique else made

        def write_all(value: Any) -> list[JsonValue]:
            if not isinstance(value, accepts):
                raise bad(f"expected {name}")
            values: Collection[object] = value
            made = sized(checks.check, values, lambda: each(item, values))
            return sorted(made, key=dump) if unique else made

        return write_all if detail else write

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return attrs.evolve(self, checks=limit_checks(self.checks.limits + limits, ARRAY_KEYWORDS))

    def settle(self) -> None:
        """Check, once the item is known, that a set can hold it.

        Raises:
            Undescribable: The items cannot be hashed, or two JSON values would be one member.
        """
        if not self.item.hashable():
            raise Undescribable("the members of a set must be hashable")
        if "boolean" in self.item.kinds() and "integer" in self.item.kinds():
            raise Undescribable("Python sets take True and 1 for one member")


def _refuse_twice(values: list[JsonValue]) -> None:
    """Refuse items that are the same JSON value; two texts of one value (`1E1`, `10`) are one member, and pass."""
    if len({_same(value) for value in values}) != len(values):
        raise bad("expected every item once")


def _same(value: JsonValue) -> bytes:
    return canonical_json(_whole(value))


def _whole(value: JsonValue) -> JsonValue:
    """Write `1.0` as `1`, which JSON Schema takes for equal."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value


@attrs.frozen(eq=False)
class Row(Shape):
    """A tuple of fixed length, each place with a type of its own."""

    places: tuple[Shape, ...]

    def kinds(self) -> frozenset[Kind]:
        return frozenset({"array"})

    def hashable(self) -> bool:
        return all(place.hashable() for place in self.places)

    def describe(self, defs: Definitions) -> Schema:
        count = len(self.places)
        if not count:
            return {"type": "array", "maxItems": 0}
        places: list[JsonValue] = [place.describe(defs) for place in self.places]
        return {"type": "array", "prefixItems": places, "items": False, "minItems": count, "maxItems": count}

    def reader(self, detail: bool) -> Hook:
        hooks = tuple(place.reader(detail) for place in self.places)
        run = self._run(hooks, detail)

        def read(given: list[Any], _: object = None) -> tuple[Any, ...]:
            if type(given) is not list:
                raise bad("expected array")
            return tuple(run(given))

        return read

    def writer(self, detail: bool) -> Hook:
        hooks = tuple(place.writer(detail) for place in self.places)
        run = self._run(hooks, detail)

        accepts: Any = tuple

        def write(value: Any) -> list[JsonValue]:
            if not isinstance(value, accepts):
                raise bad("expected tuple")
            return run(value)

        return write

    def _run(self, hooks: tuple[Hook, ...], detail: bool) -> Callable[[Collection[Any]], list[Any]]:
        count = len(hooks)
        why = f"expected exactly {count} item{'' if count == 1 else 's'}"

        def run(values: Collection[Any]) -> list[Any]:
            if len(values) != count:
                raise bad(why)
            if not detail:
                return [hook(one) for hook, one in zip(hooks, values, strict=True)]
            pairs = iter(hooks)

            def one_by_one(value: Any) -> Any:
                return next(pairs)(value)

            return each(one_by_one, values)

        return run
