"""Equality, hash and text that many value classes share, so that importing them does not compile each its own."""

from __future__ import annotations

from typing import cast

import attrs


class Value:
    """The base of attrs classes made with `eq=False, repr=False`: they compare, hash and print by their fields.

    When to use: a module with many small value classes that are made often and compared seldom. attrs compiles methods
    for each class when its module is imported, and that is most of what importing such a module costs.

    Example:
        >>> @attrs.frozen(eq=False, repr=False)
        ... class Point(Value):
        ...     x: int
        ...     y: int = attrs.field(default=0, eq=False)
        >>> Point(1), Point(1) == Point(1, 5), Point(1) == Point(2)
        (Point(x=1, y=0), True, False)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _compared(self) == _compared(other)

    def __hash__(self) -> int:
        fields = (field for field in _fields(self) if (field.eq if field.hash is None else field.hash))
        return hash((type(self), *(getattr(self, field.name) for field in fields)))

    def __repr__(self) -> str:
        shown = (f"{field.name}={_shown(self, field)}" for field in _fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _fields(value: object) -> tuple[attrs.Attribute[object], ...]:
    fields: tuple[attrs.Attribute[object], ...] = attrs.fields(cast("type[attrs.AttrsInstance]", type(value)))
    return fields


def _compared(value: object) -> tuple[object, ...]:
    return tuple([getattr(value, field.name) for field in _fields(value) if field.eq])


def _shown(value: object, field: attrs.Attribute[object]) -> str:
    part: object = getattr(value, field.name)
    return field.repr(part) if callable(field.repr) else repr(part)
