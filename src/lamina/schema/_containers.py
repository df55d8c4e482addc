"""Lists, tuples, sets and string-keyed mappings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from typing import Any, ClassVar, cast

import attrs

from lamina.schema._describe import Definitions
from lamina.schema._json import JsonValue, canonical_json
from lamina.schema._limits import ARRAY_KEYWORDS, OBJECT_KEYWORDS, Checks, Limit, limit_checks
from lamina.schema._mismatch import Bad, Gather, bad
from lamina.schema._shape import Hook, Kind, Schema, Shape

_NO_CHECKS = Checks({}, None)


def _each(hook: Hook, values: Iterable[object]) -> list[Any]:
    """Run a hook on every item and collect what is wrong with each."""
    gather = Gather()
    made: list[Any] = []
    for index, value in enumerate(values):
        try:
            made.append(hook(value))
        except Bad as part:
            gather.add(f"[{index}]", part)
    gather.done()
    return made


def _check_size(checks: Checks, value: Sized, rest: Callable[[], Any]) -> Any:
    """Tell of a wrong length together with what is wrong inside."""
    gather = Gather()
    if checks.check is not None:
        try:
            checks.check(value)
        except Bad as wrong:
            gather.add("", wrong)
    try:
        made = rest()
    except Bad as wrong:
        gather.add("", wrong)
        made = None
    gather.done()
    return made


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
    checks: Checks = _NO_CHECKS
    kinds: ClassVar[frozenset[Kind]] = frozenset({"array"})

    @property
    def hashable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return self.make in (tuple, frozenset) and self.item.hashable

    def describe(self, defs: Definitions) -> Schema:
        unique: Schema = {"uniqueItems": True} if self.unique else {}
        return {"type": "array", "items": self.item.describe(defs), **unique, **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        item, make, check, unique = self.item.reader(detail), self.make, self.checks.check, self.unique

        def read(value: Any, _: object = None) -> Any:
            if type(value) is not list:
                raise bad("expected array")
            values = cast("list[JsonValue]", value)
            if check is not None:
                check(values)
            made = make([item(one, None) for one in values])
            if unique and len(made) != len(values):
                _refuse_twice(values)
            return made

        def read_all(value: Any, _: object = None) -> Any:
            if type(value) is not list:
                raise bad("expected array")
            values = cast("list[JsonValue]", value)

            def rest() -> Any:
                made = make(_each(item, values))
                if unique and len(made) != len(values):
                    _refuse_twice(values)
                return made

            return _check_size(self.checks, values, rest)

        return read_all if detail else read

    def writer(self, detail: bool) -> Hook:
        item, accepts, checks, name = self.item.writer(detail), self.accepts, self.checks, self.name
        unique = self.unique

        def write(value: Any) -> list[JsonValue]:
            if not isinstance(value, accepts):
                raise bad(f"expected {name}")
            values = cast("Collection[object]", value)
            if checks.check is not None:
                checks.check(values)
            made = [item(one) for one in values]
            return sorted(made, key=canonical_json) if unique else made

        def write_all(value: Any) -> list[JsonValue]:
            if not isinstance(value, accepts):
                raise bad(f"expected {name}")
            values = cast("Collection[object]", value)
            made = _check_size(checks, values, lambda: _each(item, values))
            return sorted(made, key=canonical_json) if unique else made

        return write_all if detail else write

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return attrs.evolve(self, checks=limit_checks(limits, ARRAY_KEYWORDS))


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
    kinds: ClassVar[frozenset[Kind]] = frozenset({"array"})

    @property
    def hashable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return all(place.hashable for place in self.places)

    def describe(self, defs: Definitions) -> Schema:
        count = len(self.places)
        if not count:
            return {"type": "array", "maxItems": 0}
        places: list[JsonValue] = [place.describe(defs) for place in self.places]
        return {"type": "array", "prefixItems": places, "items": False, "minItems": count, "maxItems": count}

    def reader(self, detail: bool) -> Hook:
        hooks = tuple(place.reader(detail) for place in self.places)
        run = self._run(hooks, detail)

        def read(value: Any, _: object = None) -> tuple[Any, ...]:
            if type(value) is not list:
                raise bad("expected array")
            return tuple(run(cast("list[Any]", value)))

        return read

    def writer(self, detail: bool) -> Hook:
        hooks = tuple(place.writer(detail) for place in self.places)
        run = self._run(hooks, detail)

        def write(value: Any) -> list[JsonValue]:
            if not isinstance(value, tuple):
                raise bad("expected tuple")
            return run(cast("tuple[Any, ...]", value))

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
            return _each(lambda one: next(pairs)(one), values)

        return run


@attrs.frozen(eq=False)
class Table(Shape):
    """An object whose keys the sender chooses. A problem names such a key by its place, never by its text."""

    key: Shape
    plain_keys: bool
    item: Shape
    accepts: type
    checks: Checks = _NO_CHECKS
    kinds: ClassVar[frozenset[Kind]] = frozenset({"object"})
    hashable: ClassVar[bool] = False

    def describe(self, defs: Definitions) -> Schema:
        names: Schema = {} if self.plain_keys else {"propertyNames": self.key.describe(defs)}
        return {"type": "object", **names, "additionalProperties": self.item.describe(defs), **self.checks.schema}

    def reader(self, detail: bool) -> Hook:
        key, item, check = self.key.reader(detail), self.item.reader(detail), self.checks.check

        def read(value: Any, _: object = None) -> dict[Any, Any]:
            if type(value) is not dict:
                raise bad("expected object")
            members = cast("dict[Any, Any]", value)
            if detail:
                return cast("dict[Any, Any]", _check_size(self.checks, members, lambda: _members(key, item, members)))
            if check is not None:
                check(members)
            return {key(name): item(one, None) for name, one in members.items()}

        return read

    def writer(self, detail: bool) -> Hook:
        key, item, check = self.key.writer(detail), self.item.writer(detail), self.checks.check
        accepts = self.accepts

        def write(value: Any) -> dict[str, JsonValue]:
            if not isinstance(value, accepts):
                raise bad("expected mapping")
            members = cast("Mapping[Any, Any]", value)
            if detail:
                return cast("dict[str, Any]", _check_size(self.checks, members, lambda: _members(key, item, members)))
            if check is not None:
                check(members)
            return {key(name): item(one) for name, one in members.items()}

        return write

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return attrs.evolve(self, checks=limit_checks(limits, OBJECT_KEYWORDS))


def _members(key: Hook, item: Hook, members: Mapping[Any, Any]) -> dict[Any, Any]:
    gather = Gather()
    made: dict[Any, Any] = {}
    for place, (name, one) in enumerate(members.items(), 1):
        try:
            good = key(name)
        except Bad as wrong:
            gather.add(f"[key {place}]", Bad([(path, f"the key: {why}") for path, why in wrong.problems]))
            good = None
        try:
            made[good] = item(one)
        except Bad as wrong:
            gather.add(f"[key {place}]", wrong)
    gather.done()
    return made
