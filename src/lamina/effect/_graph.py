"""The graph that a plan consists of: one node for each instance that there will be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from lamina.effect._tree import Leaf, Life


@attrs.frozen(eq=False)
class Made:
    """An instance that a leaf makes of these dependencies; `None` stands for one that a problem kept out."""

    leaf: Leaf
    dependencies: tuple[Node | None, ...]

    @property
    def key(self) -> object:
        """Give the service."""
        return self.leaf.key

    @property
    def life(self) -> Life:
        """Say how long it lives."""
        return self.leaf.life


@attrs.frozen(eq=False)
class Seeded:
    """A value that each call brings, at this position among the seeds."""

    key: object
    position: int
    life: Life = "request"


@attrs.frozen(eq=False)
class Fork:
    """Where a `catch` decides, once for all its services: by the primary nodes, or by the fallback."""

    primary: tuple[Node, ...]
    fallback: tuple[Node, ...]
    on_failure: Callable[[Any], object] | None  # Any: the primary's declared failures


@attrs.frozen(eq=False)
class Chosen:
    """One service of a fork, from whichever side was taken."""

    key: object
    fork: Fork
    primary: Node
    fallback: Node

    @property
    def life(self) -> Life:
        """Say how long it lives: no longer than either side."""
        return "request" if "request" in (self.primary.life, self.fallback.life) else "app"


Node: TypeAlias = Made | Seeded | Chosen


def below(node: Node) -> tuple[Node, ...]:
    """List what a node may be made from, on both sides of a fork."""
    match node:
        case Made(_, dependencies):
            return tuple(found for found in dependencies if found is not None)
        case Chosen(_, fork):
            return (*fork.primary, *fork.fallback)
        case Seeded():
            return ()


def reachable(roots: Iterable[Node], edges: Callable[[Node], tuple[Node, ...]] = below) -> list[Node]:
    """List everything that the roots stand on, and themselves, each once and after all that it stands on."""
    order: dict[Node, None] = {}
    entered: set[Node] = set()
    path: list[tuple[Node, Iterator[Node]]] = []
    for root in roots:
        if root not in entered:
            entered.add(root)
            path.append((root, iter(edges(root))))
        while path:
            node, rest = path[-1]
            following = next((one for one in rest if one not in entered), None)
            if following is None:
                order[node] = None
                path.pop()
            else:
                entered.add(following)
                path.append((following, iter(edges(following))))
    return list(order)
