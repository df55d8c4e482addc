"""From a type to its shape: the one place that knows which Python types there are."""

from __future__ import annotations

import collections.abc as abc
import datetime as dt
import enum
import inspect
import sys
import types
import typing
from decimal import Decimal
from typing import Any, TypeVar, get_args, get_origin
from uuid import UUID

import attrs
import typing_extensions as te

from lamina.effect import Problem, where_of
from lamina.schema._choices import Choice
from lamina.schema._containers import Items, Row, Table
from lamina.schema._describe import summary
from lamina.schema._encoded import Converted, Encoded
from lamina.schema._generics import field_types
from lamina.schema._json import JsonValue
from lamina.schema._limits import limits_in
from lamina.schema._objects import Member, Object
from lamina.schema._scalars import Boolean, Integer, Null, Number, Text
from lamina.schema._shape import Shape, Undescribable
from lamina.schema._texts import BYTES, DATE, DATETIME, DECIMAL, TIME, TIMEDELTA, UUID_TEXT
from lamina.schema._unions import Union
from lamina.schema._wrapped import Anything, Described, Named

_PLAIN: dict[Any, Shape] = {
    str: Text(),
    int: Integer(),
    float: Number(),
    bool: Boolean(),
    None: Null(),
    type(None): Null(),
    dt.datetime: DATETIME,
    dt.date: DATE,
    dt.time: TIME,
    dt.timedelta: TIMEDELTA,
    UUID: UUID_TEXT,
    Decimal: DECIMAL,
    bytes: BYTES,
}
_ARRAYS: dict[Any, tuple[Any, tuple[type, ...], str, bool]] = {
    list: (list, (list,), "list", False),
    tuple: (tuple, (tuple,), "tuple", False),
    set: (set, (set,), "set", True),
    frozenset: (frozenset, (frozenset,), "frozenset", True),
    abc.Sequence: (tuple, (tuple, list), "list or tuple", False),
    abc.Collection: (tuple, (tuple, list), "list or tuple", False),
    abc.Iterable: (tuple, (tuple, list), "list or tuple", False),
    abc.MutableSequence: (list, (list,), "list", False),
    abc.Set: (frozenset, (frozenset, set), "set", True),
    abc.MutableSet: (set, (set,), "set", True),
}
_TABLES: dict[Any, type] = {dict: dict, abc.Mapping: abc.Mapping, abc.MutableMapping: abc.MutableMapping}
_UNIONS = (typing.Union, types.UnionType)
_ANYTHING = (Any, object, JsonValue)
_ALIASES = tuple({te.TypeAliasType, getattr(typing, "TypeAliasType", te.TypeAliasType)})
_NEVER = (typing.Never, typing.NoReturn)


class Shapes:
    """Reads one type with everything in it. Problems are collected, so that one report names them all."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.nested_freely = False
        self._trail: list[tuple[type, str]] = []
        self._objects: dict[tuple[Any, bool], Object] = {}
        self._named: dict[Any, Named] = {}
        self._open: set[Any] = set()
        self._unions: list[tuple[Union, list[tuple[type, str]], Any]] = []
        self._sets: list[tuple[Items, list[tuple[type, str]], Any]] = []

    def read(self, described: Any) -> Shape:
        """Give the shape of a whole type; look at `problems` before using it."""
        shape = self.shape(described)
        if not self.problems:  # what is judged here needs every part to be known
            for items, trail, hint in self._sets:
                if not items.item.hashable:
                    self._report(trail, hint, "the members of a set must be hashable")
            for union, trail, hint in self._unions:
                try:
                    union.settle()
                except Undescribable as wrong:
                    self._report(trail, hint, str(wrong))
        return shape

    def shape(self, hint: Any) -> Shape:
        """Give the shape of a part; a part that has none is reported, and stands as null."""
        try:
            return self._shape(hint)
        except Undescribable as wrong:
            self._report(self._trail, hint, str(wrong))
            return Null()

    def _report(self, trail: list[tuple[type, str]], hint: Any, why: str) -> None:
        cls, name = trail[-1] if trail else (None, "")
        subject = f"{cls.__name__}.{name}" if cls is not None else type_name(hint)
        place = f"  {where_of(cls)}" if cls is not None else f"  {where_of(hint)}" if isinstance(hint, type) else ""
        self.problems.append(Problem("SCHEMA", subject, (f"{type_name(hint)}: {why}{place}",)))

    def _shape(self, hint: Any) -> Shape:
        if (plain := _plain(hint)) is not None:
            return plain
        if any(hint is one for one in _ANYTHING):
            self.nested_freely = True
            return Anything(self._alias(JsonValue))
        if any(hint is one for one in _NEVER):
            return Choice(())
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (typing.Annotated, te.Annotated):
            return self._annotated(arguments[0], hint.__metadata__)
        if origin in (typing.Literal, te.Literal):
            return Choice(_literal(argument) for argument in arguments)
        if origin in _UNIONS:
            return self._union(hint)
        if isinstance(hint, _ALIASES):
            return self._alias(hint)
        if isinstance(hint, typing.NewType):
            return self._shape(hint.__supertype__)
        if origin in (typing.Final, typing.ClassVar):
            return self._shape(arguments[0])
        if (origin or hint) in _ARRAYS or (origin or hint) in _TABLES:
            return self._container(origin or hint, arguments, hint)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return _enum(hint)
        if isinstance(origin or hint, type) and attrs.has(origin or hint):
            return self._object(hint, tagged="__tag__" in vars(origin or hint))
        raise Undescribable(_why_not(hint))

    def _annotated(self, hint: Any, metadata: tuple[object, ...]) -> Shape:
        limits = tuple(limits_in(metadata))
        own = [item for item in metadata if isinstance(item, Encoded)]
        if own:
            if len(own) > 1 or limits:
                raise Undescribable("write the limits into the type that Encoded(...) names, and one Encoded only")
            shape: Shape = Converted(self.shape(own[0].encoded), own[0], get_origin(hint) or hint)
        else:
            shape = self._shape(hint)
        if limits:
            shape = shape.limited(limits)
        docs = [item.documentation for item in metadata if isinstance(item, te.Doc)]
        return Described(shape, docs[-1]) if docs else shape

    def _container(self, origin: Any, arguments: tuple[Any, ...], hint: Any) -> Shape:
        if origin in _TABLES:
            key_type, item_type = arguments or (str, JsonValue)
            key, item = self.shape(key_type), self.shape(item_type)
            if not _can_be_key(key):
                raise Undescribable("the keys of a JSON object are str, with or without limits, or a choice of str")
            return Table(key, isinstance(key, Text) and key.checks.check is None, item, _TABLES[origin])
        if origin is tuple and hint is not tuple and (len(arguments) != 2 or arguments[1] is not ...):
            return Row(tuple(self.shape(argument) for argument in arguments))
        make, accepts, name, unique = _ARRAYS[origin]
        items = Items(self.shape(arguments[0] if arguments else JsonValue), make, accepts, name, unique)
        if unique:
            self._sets.append((items, list(self._trail), hint))
        return items

    def _union(self, hint: Any) -> Shape:
        members = list(dict.fromkeys(self._flat(hint)))
        if any(member is one for member in members for one in _ANYTHING):
            members = [member for member in members if _plain(member) is None]
            if len(members) == 1:
                return self._shape(members[0])
        classes = [
            one for one in members if isinstance(get_origin(one) or one, type) and attrs.has(get_origin(one) or one)
        ]
        names = [(get_origin(one) or one).__name__ for one in classes]
        if len(set(names)) != len(names):
            raise Undescribable("two classes of one name would have the same _tag")
        tagged = len(classes) > 1
        shapes = [
            self._object(one, tagged or "__tag__" in vars(get_origin(one) or one))
            if one in classes
            else self.shape(one)
            for one in members
        ]
        union = Union(tuple(shapes))
        self._unions.append((union, list(self._trail), hint))
        return union if len(shapes) != 1 else shapes[0]

    def _flat(self, hint: Any) -> list[Any]:
        origin = get_origin(hint)
        if origin in _UNIONS:
            return [member for argument in get_args(hint) for member in self._flat(argument)]
        if isinstance(hint, _ALIASES) and hint is not JsonValue:
            if hint in self._open:
                raise Undescribable("an alias that is nothing but itself")
            self._open.add(hint)
            try:
                return self._flat(_alias_value(hint))
            finally:
                self._open.discard(hint)
        if isinstance(hint, typing.NewType):
            return self._flat(hint.__supertype__)
        if origin in (typing.Annotated, te.Annotated) and not any(isinstance(m, Encoded) for m in hint.__metadata__):
            inner = self._flat(get_args(hint)[0])
            if len(inner) > 1:
                if any(limits_in(hint.__metadata__)):
                    raise Undescribable("write limits on the member of the union that they are for")
                return inner
            if isinstance(get_origin(inner[0]) or inner[0], type) and attrs.has(get_origin(inner[0]) or inner[0]):
                return inner
        return [hint]

    def _alias(self, alias: Any) -> Shape:
        if alias in self._named:
            self.nested_freely = True
            return self._named[alias]
        named = self._named[alias] = Named(alias.__name__)
        named.target = self.shape(_alias_value(alias))
        if named.target is named:
            raise Undescribable("an alias that is nothing but itself")
        return named

    def _object(self, hint: Any, tagged: bool) -> Shape:
        cls: type = get_origin(hint) or hint
        known = self._objects.get((hint, tagged))
        if known is not None:
            self.nested_freely = True  # seen before, which may mean inside itself; a check of depth costs little
            return known
        if inspect.isabstract(cls):
            raise Undescribable("an abstract class has no values of its own; write the union of its subclasses")
        tag = cls.__name__ if tagged else None
        made = self._objects[hint, tagged] = Object(cls, type_name(hint), tag)
        hints = field_types(hint)
        members = [self._member(cls, field, hints) for field in attrs.fields(cls) if field.init]
        made.members = tuple(members)
        if tag is not None and any(member.key == "_tag" for member in members):
            raise Undescribable('its own field "_tag" and the tag of the union would be one key')
        return made

    def _member(self, cls: type, field: attrs.Attribute[Any], hints: dict[str, Any]) -> Member:
        hint: Any = hints.get(field.name, field.type)
        self._trail.append((cls, field.name))
        try:
            if hint is None and field.name not in hints:
                self._report(self._trail, None, "the field has no annotation")
                shape: Shape = Null()
            else:
                shape = self.shape(hint)
        finally:
            self._trail.pop()
        about = field.metadata.get("description")
        return Member(
            field,
            field.alias or field.name,
            shape,
            field.default is attrs.NOTHING,
            about if isinstance(about, str) else None,
        )


def _plain(hint: Any) -> Shape | None:
    try:
        return _PLAIN.get(hint)
    except TypeError:  # an Annotated whose metadata cannot be hashed
        return None


def _literal(value: Any) -> tuple[Any, object]:
    return (value.value, value) if isinstance(value, enum.Enum) else (value, value)


def _enum(cls: type[enum.Enum]) -> Choice:
    if issubclass(cls, enum.Flag):
        raise Undescribable("flags combine to values that are no member; use a set of an enum")
    if not list(cls):
        raise Undescribable("an enum without members has no values")
    about = summary(cls.__doc__)
    if about == "An enumeration.":  # what Python 3.11 gives every enum
        about = None
    return Choice(((member.value, member) for member in cls), about)


def _can_be_key(shape: Shape) -> bool:
    inner = shape.inner if isinstance(shape, Described) else shape
    return isinstance(inner, Text) or (isinstance(inner, Choice) and inner.kinds == {"string"})


def _alias_value(alias: Any) -> Any:
    """Resolve an alias in the module that made it."""
    namespace = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
    holder = types.SimpleNamespace(__annotations__={"value": alias.__value__})
    try:
        return typing.get_type_hints(
            holder, globalns=dict(namespace), localns={alias.__name__: alias}, include_extras=True
        )["value"]
    except NameError as error:
        raise Undescribable(f"the alias names {error.name}, which its module does not have") from None


def _why_not(hint: Any) -> str:
    if isinstance(hint, TypeVar):
        return "a type variable is open; write the generic class with its arguments, like Box[int]"
    if isinstance(hint, type):
        return "it has no JSON form; make it an attrs class, or use Annotated[..., Encoded(...)]"
    return "it has no JSON form"


def type_name(hint: Any) -> str:
    """Name a type as its author would: `Box[int]`, `list[Order]`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (typing.Annotated, te.Annotated):
        return type_name(arguments[0])
    if origin in _UNIONS:
        return " | ".join(map(type_name, arguments))
    if origin in (typing.Literal, te.Literal):
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if arguments and hasattr(origin, "__name__"):
        return f"{origin.__name__}[{', '.join('...' if one is ... else type_name(one) for one in arguments)}]"
    if hint is None or hint is type(None):
        return "None"
    return str(getattr(hint, "__name__", hint))
