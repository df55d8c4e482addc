"""Toolkits: what an agent may use, composed with `|`, exactly typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, cast

from lamina.effect import ConstructionError, Problem

if TYPE_CHECKING:
    from lamina.tools._tool import Tool

In = TypeVar("In", covariant=True)
R2 = TypeVar("R2")


class Tools(ABC, Generic[In]):
    """A tool or a toolkit: anything that can be given to an agent. `In` is the union of all needs."""

    __slots__ = ("__weakref__",)

    @property
    @abstractmethod
    def tools(self) -> tuple[Tool[Any, Any, Any], ...]:
        """The tools, in the order in which they were added."""

    def __or__(self, other: Tools[R2]) -> Toolkit[In | R2]:
        """Put two toolkits together; two tools of one name are refused."""
        if not isinstance(other, Tools):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
            raise TypeError(f"{other!r} is no tool; write @tool(...) above a function")
        return Toolkit((*self.tools, *other.tools))

    def __iter__(self) -> Iterator[Tool[Any, Any, Any]]:
        """Go through the tools."""
        return iter(self.tools)


class Toolkit(Tools[In]):
    """Several tools, known by their names.

    Raises:
        ConstructionError: Two different tools have one name; both places are named.

    Example:
        >>> Toolkit.empty().tools
        ()
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[Tool[In, Any, Any]]) -> None:
        by_name: dict[str, Tool[In, Any, Any]] = {}
        problems: list[Problem] = []
        for tool in tools:
            first = by_name.setdefault(tool.name, tool)
            if first is not tool:
                lines = (f"tool {tool.name}  {first.where}", f"tool {tool.name}  {tool.where}")
                problems.append(Problem("DUPLICATE", f"tool {tool.name}", lines, '@tool(name="…") for one of them'))
        if problems:
            raise ConstructionError(problems)
        self._tools = tuple(by_name.values())

    @property
    def tools(self) -> tuple[Tool[In, Any, Any], ...]:
        """The tools, in the order in which they were added."""
        return self._tools

    @staticmethod
    def empty() -> Toolkit[Never]:
        """Give the toolkit without tools."""
        return cast("Toolkit[Never]", Toolkit(()))

    def __repr__(self) -> str:
        return f"Toolkit({', '.join(tool.name for tool in self._tools)})"
