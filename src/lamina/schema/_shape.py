"""A shape: how one Python type looks as JSON, with its reader, its writer and its description in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

from lamina.schema._describe import Definitions
from lamina.schema._limits import Limit
from lamina.schema._terms import Hook, Kind, Schema, Undescribable


class Shape(ABC):
    """One type's JSON form.

    A reader takes a JSON value and gives the Python value, a writer the other way round; both raise `Bad`. With
    `detail=False` they stop at the first problem and may raise anything, with `detail=True` they collect all problems
    and raise nothing but `Bad`. The two accept the same values.
    """

    @abstractmethod
    def kinds(self) -> frozenset[Kind]:
        """Give the kinds of JSON value that it may accept; asked only when every part is known."""

    def classes(self) -> tuple[type, ...]:
        """Give the exact Python types that it writes, where they are known."""
        return ()

    def hashable(self) -> bool:
        """Whether its Python values can be members of a set."""
        return True

    @abstractmethod
    def describe(self, defs: Definitions) -> Schema:
        """Give the JSON Schema that accepts what the reader accepts."""

    @abstractmethod
    def reader(self, detail: bool) -> Hook:
        """Compile the reader."""

    @abstractmethod
    def writer(self, detail: bool) -> Hook:
        """Compile the writer."""

    def limited(self, limits: tuple[Limit, ...]) -> Shape:
        """Give the same shape with limits."""
        raise Undescribable(f"{limits[0].name} has no meaning here")


class Later:
    """The hooks of a shape that may hold itself: one asked for while it is being compiled looks itself up when used."""

    def __init__(self, compile_hook: Callable[[str, bool], Hook]) -> None:
        self._compile = compile_hook
        self._hooks: dict[tuple[str, bool], Hook | None] = {}

    def hook(self, way: Literal["read", "write"], detail: bool) -> Hook:
        """Give the hook, compiled once."""
        place = (way, detail)
        if place not in self._hooks:
            self._hooks[place] = None
            self._hooks[place] = self._compile(way, detail)
        made = self._hooks[place]
        if made is not None:
            return made

        def later(value: Any, *rest: object) -> Any:
            compiled = self._hooks[place]
            assert compiled is not None, "nothing runs before everything is compiled"
            return compiled(value, *rest)

        return later
