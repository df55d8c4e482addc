"""Which Python types there are, and the small questions about one of them."""

from __future__ import annotations

import datetime as dt
import enum
import sys
import types
import typing
from collections import abc
from decimal import Decimal
from typing import Any, TypeVar, get_args, get_origin
from uuid import UUID

import attrs
import typing_extensions as te

from lamina.schema._choices import Choice
from lamina.schema._describe import summary
from lamina.schema._encoded import Encoded
from lamina.schema._generics import fill
from lamina.schema._json import JsonValue
from lamina.schema._scalars import BOOLEAN, INTEGER, NULL, NUMBER, TEXT
from lamina.schema._shape import Shape
from lamina.schema._terms import Undescribable
from lamina.schema._texts import BYTES, DATE, DATETIME, DECIMAL, TIME, TIMEDELTA, UUID_TEXT

PLAIN: dict[Any, Shape] = {
    str: TEXT,
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    None: NULL,
    type(None): NULL,
    dt.datetime: DATETIME,
    dt.date: DATE,
    dt.time: TIME,
    dt.timedelta: TIMEDELTA,
    UUID: UUID_TEXT,
    Decimal: DECIMAL,
    bytes: BYTES,
}
ARRAYS: dict[Any, tuple[Any, tuple[type, ...], str, bool]] = {
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
TABLES: dict[Any, type] = {dict: dict, abc.Mapping: abc.Mapping, abc.MutableMapping: abc.MutableMapping}
UNIONS = (typing.Union, types.UnionType)
ANYTHING = (Any, object, JsonValue)
ALIASES = tuple({te.TypeAliasType, getattr(typing, "TypeAliasType", te.TypeAliasType)})
NEVER = (typing.Never, typing.NoReturn)


UNKNOWN = object()
"""Stands for the annotation of a field that has none."""
ANNOTATED = (typing.Annotated, te.Annotated)
LITERALS = (typing.Literal, te.Literal)


def plain_shape(hint: Any) -> Shape | None:
    """Give the shape of a type that needs no further reading."""
    try:
        return PLAIN.get(hint)
    except TypeError:  # an Annotated whose metadata cannot be hashed
        return None


def is_one_of(hint: Any, forms: tuple[Any, ...]) -> bool:
    """Compare by identity: special forms of `typing` compare in surprising ways."""
    return any(hint is form for form in forms)


def hash_or_id(hint: Any) -> Any:
    """Give a key for a type, also where its metadata cannot be hashed."""
    try:
        hash(hint)
    except TypeError:
        return id(hint)
    return hint


def attrs_class(hint: Any) -> type | None:
    """Give the attrs class that a type is, also when it is annotated or generic; a codec of its own hides it."""
    while get_origin(hint) in ANNOTATED:
        if any(isinstance(item, Encoded) for item in hint.__metadata__):
            return None
        hint = get_args(hint)[0]
    cls: object = get_origin(hint) or hint
    return cls if isinstance(cls, type) and attrs.has(cls) else None


def literal_choice(value: Any) -> tuple[Any, object]:
    """Give a member of a `Literal` with its JSON value."""
    return (value.value, value) if isinstance(value, enum.Enum) else (value, value)


def enum_choice(cls: type[enum.Enum]) -> Choice:
    """Give the shape of an enum, which travels by value.

    Raises:
        Undescribable: The enum has no members, or its members combine.
    """
    if issubclass(cls, enum.Flag):
        raise Undescribable("flags combine to values that are no member; use a set of an enum")
    if not list(cls):
        raise Undescribable("an enum without members has no values")
    about = None if cls.__doc__ == "An enumeration." else summary(cls.__doc__)  # what Python 3.11 gives every enum
    return Choice(((member.value, member) for member in cls), about)


def alias_value(hint: Any) -> Any:
    """Resolve an alias in the module that made it, with its arguments filled in.

    Raises:
        Undescribable: It names something that its module does not have.
    """
    alias = get_origin(hint) or hint
    namespace = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
    holder = types.SimpleNamespace(__annotations__={"value": alias.__value__})
    local = {alias.__name__: alias}
    try:
        value = typing.get_type_hints(holder, globalns=dict(namespace), localns=local, include_extras=True)["value"]
    except NameError as error:
        raise Undescribable(f"the alias names {error.name}, which its module does not have") from None
    return fill(value, dict(zip(alias.__type_params__, get_args(hint), strict=False)))


def why_not(hint: Any) -> str:
    """Say why a type has no shape, and what to do."""
    if hint is UNKNOWN:
        return "write its type"
    if isinstance(hint, TypeVar):
        return "a type variable is open; write the generic class with its arguments, like Box[int]"
    if isinstance(hint, type):
        return "it has no JSON form; make it an attrs class, or use Annotated[..., Encoded(...)]"
    return "it has no JSON form"


def type_name(hint: Any) -> str:
    """Name a type as its author would: `Box[int]`, `list[Order]`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in ANNOTATED:
        return type_name(arguments[0])
    if origin in UNIONS:
        return " | ".join(map(type_name, arguments))
    if origin in LITERALS:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if arguments and hasattr(origin, "__name__"):
        return f"{origin.__name__}[{', '.join('...' if one is ... else type_name(one) for one in arguments)}]"
    if hint is UNKNOWN:
        return "no annotation"
    if hint is None or hint is type(None):
        return "None"
    return str(getattr(hint, "__name__", hint))
