"""Shapes that stand for another one: a description, a recursive alias, any JSON value, and nothing at all."""

from __future__ import annotations

from typing import Any, cast

from lamina.schema._describe import Definitions
from lamina.schema._limits import Limit
from lamina.schema._shape import Hook, Kind, Schema, Shape


class Described(Shape):
    """The same shape with a description of its own."""

    def __init__(self, inner: Shape, text: str) -> None:
        self.inner = inner
        self.text = text
        self.classes = inner.classes

    @property
    def kinds(self) -> frozenset[Kind]:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return self.inner.kinds

    @property
    def hashable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return self.inner.hashable

    def describe(self, defs: Definitions) -> Schema:
        return {**self.inner.describe(defs), "description": self.text}

    def reader(self, detail: bool) -> Hook:
        return self.inner.reader(detail)

    def writer(self, detail: bool) -> Hook:
        return self.inner.writer(detail)

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return Described(self.inner.limited(limits), self.text)


class Named(Shape):
    """A type alias that holds itself. Its shape is set when it is read, and looked up when it is used."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.target: Shape | None = None
        self.hashable = False
        self._hooks: dict[tuple[str, bool], Hook | None] = {}

    @property
    def kinds(self) -> frozenset[Kind]:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return frozenset() if self.target is None else self.target.kinds

    def describe(self, defs: Definitions) -> Schema:
        return defs.ref(self, self.name, lambda inner: self._shape().describe(inner))

    def reader(self, detail: bool) -> Hook:
        return self._compiled("read", detail)

    def writer(self, detail: bool) -> Hook:
        return self._compiled("write", detail)

    def _shape(self) -> Shape:
        assert self.target is not None, "every alias is read before anything is compiled"
        return self.target

    def _compiled(self, way: str, detail: bool) -> Hook:
        place = (way, detail)
        if place not in self._hooks:
            self._hooks[place] = None
            shape = self._shape()
            self._hooks[place] = shape.reader(detail) if way == "read" else shape.writer(detail)
        made = self._hooks[place]
        if made is not None:
            return made
        hooks = self._hooks

        def later(value: Any, *rest: object) -> Any:
            return cast("Hook", hooks[place])(value, *rest)

        return later


class Anything(Described):
    """Any JSON value: read and written like the alias `JsonValue`, described as the schema that accepts everything."""

    def __init__(self, inner: Shape) -> None:
        super().__init__(inner, "")

    def describe(self, defs: Definitions) -> Schema:
        return {}

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        return Shape.limited(self, limits)
