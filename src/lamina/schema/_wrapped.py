"""Shapes that stand for another one: a description, a recursive alias, and any JSON value."""

from __future__ import annotations

from lamina.schema._describe import Definitions
from lamina.schema._json import DEFAULT_LIMITS, JsonValue, check_depth
from lamina.schema._limits import Limit
from lamina.schema._shape import Later, Shape
from lamina.schema._terms import Hook, Kind, Schema, Undescribable


class Described(Shape):
    """The same shape with a description of its own."""

    def __init__(self, inner: Shape, text: str) -> None:
        self.inner = inner
        self.text = text

    def kinds(self) -> frozenset[Kind]:
        return self.inner.kinds()

    def classes(self) -> tuple[type, ...]:
        return self.inner.classes()

    def hashable(self) -> bool:
        return self.inner.hashable()

    def describe(self, defs: Definitions) -> Schema:
        return {**self.inner.describe(defs), "description": self.text}

    def reader(self, detail: bool) -> Hook:
        return self.inner.reader(detail)

    def writer(self, detail: bool) -> Hook:
        return self.inner.writer(detail)

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return Described(self.inner.limited(limits), self.text)


def bare(shape: Shape) -> Shape:
    """Give the shape under its descriptions."""
    while isinstance(shape, Described):
        shape = shape.inner
    return shape


class Named(Shape):
    """A type alias, which may hold itself. Its target is set when it was read, and looked up when it is used."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.target: Shape | None = None
        self.holds_itself = False
        self._later = Later(self._compile)

    def kinds(self) -> frozenset[Kind]:
        return self._shape().kinds()

    def hashable(self) -> bool:
        return False

    def describe(self, defs: Definitions) -> Schema:
        return defs.ref(self, self.name, self._shape().describe)

    def reader(self, detail: bool) -> Hook:
        return self._later.hook("read", detail)

    def writer(self, detail: bool) -> Hook:
        return self._later.hook("write", detail)

    def _shape(self) -> Shape:
        assert self.target is not None, "every alias is read before anything is compiled"
        return self.target

    def _compile(self, way: str, detail: bool) -> Hook:
        shape = self._shape()
        return shape.reader(detail) if way == "read" else shape.writer(detail)


class Anything(Shape):
    """Any JSON value: read and written as the alias `JsonValue`, described by the schema that accepts everything."""

    def __init__(self, alias: Shape) -> None:
        self._alias = alias

    def kinds(self) -> frozenset[Kind]:
        return self._alias.kinds()

    def hashable(self) -> bool:
        return False

    def describe(self, defs: Definitions) -> Schema:
        return {}

    def reader(self, detail: bool) -> Hook:
        return self._alias.reader(detail)

    def writer(self, detail: bool) -> Hook:
        inner = self._alias.writer(detail)

        def write(value: object) -> JsonValue:
            check_depth(
                value, DEFAULT_LIMITS.max_depth
            )  # parts that are shared many times over must not be written out
            made: JsonValue = inner(value)
            return made

        return write

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        raise Undescribable(f"{limits[0].name} has no meaning for any JSON value")
