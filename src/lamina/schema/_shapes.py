"""From a type to its shape, with every part that cannot be described reported at once."""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, get_args, get_origin

import attrs
import typing_extensions as te

from lamina.effect import Problem, where_of
from lamina.schema._arrays import Items, Row
from lamina.schema._choices import Choice
from lamina.schema._describe import field_summaries
from lamina.schema._encoded import Converted, Encoded
from lamina.schema._generics import field_types
from lamina.schema._json import JsonValue
from lamina.schema._limits import limits_in
from lamina.schema._objects import Member, Object
from lamina.schema._scalars import NULL, TEXT, Scalar
from lamina.schema._shape import Shape
from lamina.schema._tables import Table
from lamina.schema._terms import Undescribable
from lamina.schema._types import (
    ALIASES,
    ANNOTATED,
    ANYTHING,
    ARRAYS,
    LITERALS,
    NEVER,
    TABLES,
    UNIONS,
    UNKNOWN,
    alias_value,
    attrs_class,
    enum_choice,
    hash_or_id,
    is_one_of,
    literal_choice,
    plain_shape,
    type_name,
    why_not,
)
from lamina.schema._unions import Union
from lamina.schema._wrapped import Anything, Described, Named, bare

Trail: TypeAlias = tuple[tuple[type, str], ...]  # the classes and fields on the way to a part, outermost first
_DEEPEST = 64


class Shapes:
    """Reads one type with everything in it. Problems are collected, so that one report names them all.

    Attributes:
        problems: What cannot be described, each with its field and place.
        endless: Whether values may be nested without end: a class or an alias that holds itself, or any JSON.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.endless = False
        self._trail: list[tuple[type, str]] = []
        self._known: dict[Any, Shape] = {}
        self._open: set[Any] = set()  # what is being read right now, further out
        self._checks: list[tuple[Callable[[], None], Trail, Any]] = []

    def read(self, described: Any) -> Shape:
        """Give the shape of a whole type; look at `problems` before using it."""
        shape = self.shape(described)
        if not self.problems:  # these checks need every part to be known
            for check, trail, hint in self._checks:
                try:
                    check()
                except Undescribable as wrong:
                    self._report(trail, hint, str(wrong))
        return shape

    def shape(self, hint: Any) -> Shape:
        """Give the shape of a part; a part that has none is reported, and stands as null."""
        try:
            return self._shape(hint)
        except Undescribable as wrong:
            self._report(tuple(self._trail), hint, str(wrong))
            return NULL

    def _report(self, trail: Trail, hint: Any, why: str) -> None:
        named = type_name(hint)
        named = named if len(named) <= 80 else f"{named[:79]}…"
        if trail:
            cls, name = trail[-1]
            subject, place = f"{cls.__name__}.{name}", f"  {where_of(cls)}"
        else:
            subject, place = named, f"  {where_of(hint)}" if isinstance(hint, type) else ""
        self.problems.append(Problem("SCHEMA", subject, (f"{named}: {why}{place}",)))

    def _later(self, check: Callable[[], None], hint: Any) -> None:
        self._checks.append((check, tuple(self._trail), hint))

    def _shape(self, hint: Any, tagged: bool = False) -> Shape:
        if (plain := plain_shape(hint)) is not None:
            return plain
        if is_one_of(hint, ANYTHING):
            self.endless = True
            return Anything(self._alias(JsonValue))
        if is_one_of(hint, NEVER):
            return Choice(())
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in ANNOTATED:
            return self._annotated(arguments[0], hint.__metadata__, tagged)
        if origin in LITERALS:
            return Choice(literal_choice(argument) for argument in arguments)
        if origin in UNIONS:
            return self._union(hint)
        if isinstance(origin or hint, ALIASES):
            return self._alias(hint)
        if isinstance(hint, typing.NewType):
            return self._shape(hint.__supertype__, tagged)
        if origin is typing.Final:
            return self._shape(arguments[0])
        if (origin or hint) in TABLES:
            return self._table(origin or hint, *(arguments or (str, JsonValue)))
        if (origin or hint) in ARRAYS:
            return self._array(origin or hint, arguments, hint)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return enum_choice(hint)
        if attrs_class(hint) is not None:
            return self._object(hint, tagged)
        raise Undescribable(why_not(hint))

    def _annotated(self, hint: Any, metadata: tuple[object, ...], tagged: bool) -> Shape:
        limits = tuple(limits_in(metadata))
        own: list[Encoded[Any, Any]] = [item for item in metadata if isinstance(item, Encoded)]
        if own:
            if len(own) > 1 or limits:
                raise Undescribable("write the limits as Encoded(..., limits=(...)), and one Encoded only")
            inner, inner_limits = self._shape(own[0].encoded), tuple(limits_in(own[0].limits))
            inner = inner.limited(inner_limits) if inner_limits else inner
            shape: Shape = Converted(inner, own[0], get_origin(hint) or hint)
        else:
            shape = self._shape(hint, tagged)
        if limits:
            shape = shape.limited(limits)
        docs = [item.documentation for item in metadata if isinstance(item, te.Doc)]
        return Described(shape, docs[-1]) if docs else shape

    def _table(self, origin: Any, key_type: Any, item_type: Any) -> Shape:
        key = self.shape(key_type)
        simple = bare(key)
        if not isinstance(simple, Scalar | Choice) or simple.kinds() != TEXT.takes:
            raise Undescribable("the keys of a JSON object are str, with or without limits, or a choice of str")
        return Table(key, simple is TEXT, self.shape(item_type), TABLES[origin])

    def _array(self, origin: Any, arguments: tuple[Any, ...], hint: Any) -> Shape:
        if origin is tuple and hint is not tuple and (len(arguments) != 2 or arguments[1] is not ...):
            return Row(tuple(self.shape(argument) for argument in arguments))
        make, accepts, name, unique = ARRAYS[origin]
        items = Items(self.shape(arguments[0] if arguments else JsonValue), make, accepts, name, unique)
        if unique:
            self._later(items.settle, hint)
        return items

    def _union(self, hint: Any) -> Shape:
        members = self._members(hint)
        if any(is_one_of(member, ANYTHING) for member in members):  # JSON has str, int, ... in it already
            members = [member for member in members if plain_shape(member) is None]
        classes = [cls for member in members if (cls := attrs_class(member)) is not None]
        if len({cls.__name__ for cls in classes}) < len(classes):
            raise Undescribable("two classes of one name would have the same _tag")
        tagged = len(classes) > 1
        shapes = [self._shape(member, tagged) for member in members]
        if len(shapes) == 1:
            return shapes[0]
        union = Union(tuple(shapes))
        self._later(union.settle, hint)
        return union

    def _members(self, hint: Any) -> list[Any]:
        """Give the members of a union with the unions in it, through aliases too, each once."""
        found: list[Any] = []
        for member in self._flat(hint):
            if member not in found:
                found.append(member)
        return found

    def _flat(self, hint: Any) -> Iterator[Any]:
        origin = get_origin(hint)
        if origin in UNIONS:
            for argument in get_args(hint):
                yield from self._flat(argument)
        elif isinstance(origin or hint, ALIASES) and hint is not JsonValue:
            if ("flat", hint) in self._open:
                raise Undescribable("the alias is nothing but itself")
            self._open.add(("flat", hint))
            try:
                yield from list(self._flat(alias_value(hint)))
            finally:
                self._open.discard(("flat", hint))
        elif isinstance(hint, typing.NewType):
            yield from self._flat(hint.__supertype__)
        elif origin in ANNOTATED and not any(isinstance(item, Encoded) for item in hint.__metadata__):
            inner = list(self._flat(get_args(hint)[0]))
            if len(inner) > 1 and any(True for _ in limits_in(hint.__metadata__)):
                raise Undescribable("write a limit on the member of the union that it is for")
            yield from inner if len(inner) > 1 else [hint]
        else:
            yield hint

    def _alias(self, hint: Any) -> Shape:
        known = self._known.get(hint)
        if known is None:
            self._check_growth()
            named = self._known[hint] = known = Named(type_name(hint))
            self._open.add(hint)
            named.target = self._shape(alias_value(hint))
            self._open.discard(hint)
            if named.target is named:
                named.target = NULL
                raise Undescribable("the alias is nothing but itself")
            if not named.holds_itself:
                self._known[hint] = known = named.target
        elif hint in self._open and isinstance(known, Named):
            self.endless = known.holds_itself = True
        return known

    def _check_growth(self) -> None:
        """Refuse a generic type whose own parts are ever larger arguments of it."""
        if len(self._open) > _DEEPEST:
            raise Undescribable("the type grows without end")

    def _object(self, hint: Any, tagged: bool) -> Shape:
        cls: type = get_origin(hint) or hint
        tag = cls.__name__ if tagged or "__tag__" in vars(cls) else None
        place = (hash_or_id(hint), tag)
        if (known := self._known.get(place)) is not None:
            self.endless = self.endless or place in self._open
            return known
        if inspect.isabstract(cls):
            raise Undescribable("an abstract class has no values of its own; write the union of its subclasses")
        self._check_growth()
        made = self._known[place] = Object(cls, type_name(hint), tag)
        self._open.add(place)
        hints, about = field_types(hint), field_summaries(cls.__doc__)
        made.members = tuple(self._member(cls, field, hints, about) for field in attrs.fields(cls) if field.init)
        self._open.discard(place)
        if tag is not None and any(member.key == "_tag" for member in made.members):
            raise Undescribable('its own field "_tag" and the tag would be one key')
        return made

    def _member(self, cls: type, field: attrs.Attribute[Any], hints: dict[str, Any], about: dict[str, str]) -> Member:
        told = field.metadata.get("description", about.get(field.name))
        self._trail.append((cls, field.name))
        try:
            shape = self.shape(hints.get(field.name, UNKNOWN if field.type is None else field.type))
        finally:
            self._trail.pop()
        description = told if isinstance(told, str) else None
        if isinstance(shape, Described) and "description" not in field.metadata:
            description = None  # the annotation is nearer than the docstring
        return Member(field, field.alias or field.name, shape, field.default is attrs.NOTHING, description)
