"""Unions: at most one member for each kind of JSON value, and any number of attrs classes, told apart by `_tag`."""

from __future__ import annotations

from typing import Any

from lamina.schema._choices import Choice
from lamina.schema._describe import Definitions
from lamina.schema._json import JsonValue
from lamina.schema._limits import Limit
from lamina.schema._mismatch import Bad, bad
from lamina.schema._objects import Object, tag_problem
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema, Undescribable, expected
from lamina.schema._wrapped import bare

_PYTHON: dict[type, tuple[Kind, ...]] = {
    type(None): ("null",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number", "integer"),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
}
_PLAIN = (str, int, float, bool, type(None))
_NUMBERS: set[frozenset[Kind]] = {frozenset({"integer"}), frozenset({"integer", "number"})}


class Union(Shape):
    """Members that JSON keeps apart; a value is read by the member that its kind, or its `_tag`, says."""

    def __init__(self, members: tuple[Shape, ...]) -> None:
        self.members = members
        self._bare = tuple(map(bare, members))
        self.tags = {one.tag: one for one in self._bare if isinstance(one, Object) and one.tag is not None}

    def kinds(self) -> frozenset[Kind]:
        return frozenset(kind for member in self.members for kind in member.kinds())

    def classes(self) -> tuple[type, ...]:
        return tuple(cls for member in self.members for cls in member.classes())

    def hashable(self) -> bool:
        return all(member.hashable() for member in self.members)

    def settle(self) -> None:
        """Check, once every member is known, that no JSON value could be two members.

        Raises:
            Undescribable: Two members look the same in JSON.
        """
        untagged = [one for one in self._bare if one not in self.tags.values()]
        choices = [one for one in untagged if isinstance(one, Choice)]
        others = [one for one in untagged if not isinstance(one, Choice)]
        if self.tags and any("object" in one.kinds() for one in others):
            raise Undescribable("classes and something else that is a JSON object cannot be told apart")
        for index, one in enumerate(others):
            for two in others[index + 1 :]:
                both = one.kinds() & two.kinds()
                if both and {one.kinds(), two.kinds()} != _NUMBERS:  # int | float are told apart by how they came
                    raise Undescribable(f"two members are a JSON {min(both)}; wrap one in an attrs class of its own")
        for choice in choices:
            for other in untagged:
                if other is not choice and other.kinds() & choice.kinds():
                    _check_choice(choice, other)

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        given: dict[Shape, list[Limit]] = {member: [] for member in self.members}
        for limit in limits:
            takers = [member for member in self.members if _takes(member, limit)]
            if not takers:
                raise Undescribable(f"{limit.name} has no meaning for any member")
            for member in takers:
                given[member].append(limit)
        return Union(tuple(member.limited(tuple(own)) if own else member for member, own in given.items()))

    def describe(self, defs: Definitions) -> Schema:
        told: list[JsonValue] = [member.describe(defs) for member in self.members]
        return {"oneOf": told} if len(self.tags) == len(self.members) else {"anyOf": told}

    def reader(self, detail: bool) -> Hook:
        table: dict[type, Hook] = {}
        for python, kinds in _PYTHON.items():
            if python is dict and self.tags:
                table[dict] = self._tagged(detail)
                continue
            # A choice comes last: what the general member says is more use when neither accepts.
            fitting = [one for kind in kinds for one in self._bare if kind in one.kinds()]
            ordered = sorted(dict.fromkeys(fitting), key=lambda one: isinstance(one, Choice))
            if ordered:
                table[python] = _first([one.reader(detail) for one in ordered])
        kinds_of = self.kinds

        def read(value: object, _: object = None) -> Any:
            hook = table.get(type(value))
            if hook is None:
                raise bad(expected(kinds_of()))
            return hook(value, None)

        return read

    def _tagged(self, detail: bool) -> Hook:
        hooks = {tag: member.reader(detail) for tag, member in self.tags.items()}
        tags = list(hooks)

        def read(value: Any, _: object = None) -> Any:
            given: dict[str, Any] = value
            tag = given.get("_tag")
            hook = hooks.get(tag) if type(tag) is str else None
            if hook is None:
                raise bad(tag_problem(given, tags))
            return hook(given, None)

        return read

    def writer(self, detail: bool) -> Hook:
        rest = [one.writer(detail) for one in self._bare if not one.classes()]
        exact: dict[type, list[Hook]] = {}
        for one in self._bare:
            for cls in one.classes():
                exact.setdefault(cls, []).append(one.writer(detail))
        table = {cls: _first(hooks + rest) for cls, hooks in exact.items()}
        otherwise = _first(rest) if rest else None
        why = f"expected {' or '.join('None' if cls is type(None) else cls.__name__ for cls in table)}"

        def write(value: object) -> JsonValue:
            hook = table.get(type(value), otherwise)
            if hook is None:
                raise bad(why)
            made: JsonValue = hook(value)
            return made

        return write


def _takes(member: Shape, limit: Limit) -> bool:
    try:
        member.limited((limit,))
    except Undescribable:
        return False
    return True


def _check_choice(choice: Choice, other: Shape) -> None:
    read = other.reader(False)
    for value, member in choice.members:
        try:
            made = read(value)
        except Exception:  # noqa: S112 - it is refused, so there is nothing to confuse
            continue
        if made != value or type(member) not in _PLAIN:
            raise Undescribable("a choice could also be read as another member")


def _first(hooks: list[Hook]) -> Hook:
    """Take the first hook that accepts; what the first one says is told when none does."""
    if len(hooks) == 1:
        return hooks[0]

    def first(value: Any, *rest: object) -> Any:
        said: Bad | None = None
        for hook in hooks:
            try:
                return hook(value, *rest)
            except RecursionError:
                raise
            except Exception as error:
                said = said or (error if isinstance(error, Bad) else bad("no member of the union fits"))
        assert said is not None, "there is at least one hook"
        raise said

    return first
