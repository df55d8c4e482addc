"""Unions: at most one member for each kind of JSON value, and any number of attrs classes, told apart by `_tag`."""

from __future__ import annotations

from typing import Any, cast

from lamina.schema._choices import Choice
from lamina.schema._describe import Definitions
from lamina.schema._json import JsonValue
from lamina.schema._limits import Limit
from lamina.schema._mismatch import Bad, bad
from lamina.schema._objects import Object, tag_problem
from lamina.schema._shape import Hook, Kind, Schema, Shape, Undescribable, expected

_PYTHON: dict[type, tuple[Kind, ...]] = {
    type(None): ("null",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number", "integer"),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
}


class Union(Shape):
    """Members that JSON keeps apart; a value is read by the member that its kind, or its `_tag`, says."""

    def __init__(self, members: tuple[Shape, ...]) -> None:
        self.members = members
        self.tags = {member.tag: member for member in members if isinstance(member, Object) and member.tag is not None}
        self.hashable = True

    @property
    def kinds(self) -> frozenset[Kind]:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return frozenset(kind for member in self.members for kind in member.kinds)

    @property
    def classes(self) -> tuple[type, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return tuple(cls for member in self.members for cls in member.classes)

    def settle(self) -> None:
        """Check, once every member is known, that no JSON value could be two members.

        Raises:
            Undescribable: Two members look the same in JSON.
        """
        self.hashable = all(member.hashable for member in self.members)
        untagged = [member for member in self.members if not (isinstance(member, Object) and member.tag is not None)]
        others = [member for member in untagged if not isinstance(member, Choice)]
        if self.tags and any("object" in member.kinds for member in others):
            raise Undescribable("a union of classes and something else that is a JSON object cannot be told apart")
        for index, one in enumerate(others):
            for two in others[index + 1 :]:
                both = one.kinds & two.kinds - {"integer"} if _numbers(one, two) else one.kinds & two.kinds
                if both:
                    kind = sorted(both)[0]
                    raise Undescribable(f"two members are a JSON {kind}; wrap one in an attrs class of its own")
        for choice in untagged:
            if isinstance(choice, Choice):
                _check_choice(choice, [member for member in untagged if member is not choice])

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        members = list(self.members)
        for limit in limits:
            fits = False
            for place, member in enumerate(members):
                try:
                    members[place] = member.limited((limit,))
                    fits = True
                except Undescribable:
                    continue
            if not fits:
                raise Undescribable(f"{limit.name} has no meaning for any member")
        return Union(tuple(members))

    def describe(self, defs: Definitions) -> Schema:
        told: list[JsonValue] = [member.describe(defs) for member in self.members]
        return {"oneOf": told} if len(self.tags) == len(self.members) else {"anyOf": told}

    def reader(self, detail: bool) -> Hook:
        table: dict[type, Hook] = {}
        for python, kinds in _PYTHON.items():
            found: dict[int, Shape] = {}
            for kind in kinds:
                found |= {id(m): m for m in self.members if kind in m.kinds and not isinstance(m, Choice)}
            found |= {id(m): m for m in self.members if isinstance(m, Choice) and m.kinds & set(kinds)}
            if python is dict and self.tags:
                table[dict] = self._tagged(detail)
            elif found:
                table[python] = _first([member.reader(detail) for member in found.values()])

        def read(value: Any, _: object = None) -> Any:
            hook = table.get(type(value))
            if hook is None:
                raise bad(expected(self.kinds))
            return hook(value, None)

        return read

    def _tagged(self, detail: bool) -> Hook:
        hooks = {tag: member.reader(detail) for tag, member in self.tags.items()}
        tags = list(hooks)

        def read(value: Any, _: object = None) -> Any:
            tag = value.get("_tag")
            hook = hooks.get(tag) if type(tag) is str else None
            if hook is None:
                raise bad(tag_problem(value, tags))
            return hook(value, None)

        return read

    def writer(self, detail: bool) -> Hook:
        exact: dict[type, list[Hook]] = {}
        rest: list[Hook] = []
        for member in self.members:
            hook = member.writer(detail)
            for cls in member.classes:
                exact.setdefault(cls, []).append(hook)
            if not member.classes:
                rest.append(hook)
        for hooks in exact.values():
            hooks += rest
        table = {cls: _first(hooks) for cls, hooks in exact.items()}
        otherwise = _first(rest) if rest else None

        def write(value: Any) -> JsonValue:
            hook = table.get(type(value), otherwise)
            if hook is None:
                names = [cls.__name__ for cls in table]
                raise bad(f"expected {' or '.join(names)}")
            return cast("JsonValue", hook(value))

        return write


def _numbers(one: Shape, two: Shape) -> bool:
    """Whether these are `int` and `float`, which a value's own Python type keeps apart."""
    return {one.kinds, two.kinds} == {frozenset[Kind]({"integer"}), frozenset[Kind]({"integer", "number"})}


def _check_choice(choice: Choice, others: list[Shape]) -> None:
    for other in others:
        if not other.kinds & choice.kinds:
            continue
        read = other.reader(False)
        for value, member in choice.members:
            try:
                made = read(value)
            except Exception:  # noqa: S112 - refused, so there is nothing to confuse
                continue
            if made != value or type(member) not in (str, int, float, bool, type(None)):
                raise Undescribable("a choice could also be read as another member")


def _first(hooks: list[Hook]) -> Hook:
    """Take the first hook that accepts; what the first one says is told when none does."""
    if len(hooks) == 1:
        return hooks[0]

    def first(value: Any, *rest: object) -> Any:
        said: Exception | None = None
        for hook in hooks:
            try:
                return hook(value, *rest)
            except Exception as error:
                said = said or error
        assert said is not None, "there is at least one hook"
        raise said if isinstance(said, Bad) else bad("no member of the union fits")

    return first
