"""What a layer is made of: leaves, and how they were put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import attrs

from lamina.effect._names import name_of
from lamina.effect._signature import Need
from lamina.effect._value import Value
from lamina.effect._where import Where

Life: TypeAlias = Literal["app", "request"]
Kind: TypeAlias = Literal["value", "call", "await", "scope", "attempt", "tried scope"]
"""How a leaf gives its service: as it is, returned, awaited, yielded, as a `Result`, or yielded as one."""


@attrs.frozen(eq=False, repr=False)
class Retry(Value):
    """How often an attempt is made again, and how long it waits before each.

    Attributes:
        times: How many more attempts there are after the first.
        delay: Seconds before the second attempt.
        backoff: What each further wait is multiplied with.
    """

    times: int
    delay: float
    backoff: float

    def wait_before(self, attempt: int) -> float:
        """Give the seconds before the n-th further attempt, counted from 0."""
        return self.delay * self.backoff**attempt


@attrs.frozen(eq=False)
class Leaf:
    """One constructor of one service; its identity is the first half of what it is memoised by."""

    key: object
    needs: tuple[Need, ...]
    make: Callable[..., Any]  # Any: checked by the overloads of the constructors
    kind: Kind
    life: Life
    label: str
    where: Where
    retry: Retry | None = None

    def __str__(self) -> str:
        """Render as a report names it."""
        return (
            f"layer {self.label}" if self.label == name_of(self.key) else f"layer {self.label} for {name_of(self.key)}"
        )


@attrs.frozen(eq=False)
class Bag:
    """Members that see each other's offers."""

    members: tuple[Tree, ...]


@attrs.frozen(eq=False)
class Provide:
    """`inner`, whose needs are looked for in `dependency` first; `visible` says whether that is offered, too."""

    inner: Tree
    dependency: Tree
    visible: bool


@attrs.frozen(eq=False)
class Replace:
    """`base`, in which each offer that a fake makes is that fake's."""

    base: Tree
    fakes: tuple[Tree, ...]
    where: Where


@attrs.frozen(eq=False)
class Catch:
    """`primary`, or `fallback` where a declared failure keeps any part of the former from coming up."""

    primary: Tree
    fallback: Tree
    on_failure: Callable[[Any], object] | None  # Any: the primary's declared failures
    where: Where


Tree: TypeAlias = Leaf | Bag | Provide | Replace | Catch


def bag(*trees: Tree) -> Bag:
    """Put trees side by side, without nesting bags in bags."""
    members: list[Tree] = []
    for tree in trees:
        members.extend(tree.members if isinstance(tree, Bag) else (tree,))
    return Bag(tuple(members))


def leaves_of(tree: Tree) -> list[Leaf]:
    """List every leaf of a tree, each once, in the order in which they were written."""
    found: dict[Leaf, None] = {}
    rest = [tree]
    while rest:
        match rest.pop():
            case Leaf() as leaf:
                found[leaf] = None
            case Bag(members):
                rest.extend(reversed(members))
            case Provide(inner, dependency):
                rest.extend((dependency, inner))
            case Replace(base, fakes):
                rest.extend((*reversed(fakes), base))
            case Catch(primary, fallback):
                rest.extend((fallback, primary))
    return list(found)


def map_leaves(tree: Tree, change: Callable[[Leaf], Leaf]) -> Tree:
    """Rebuild a tree with each leaf changed once, so that a leaf that is shared stays shared."""
    changed: dict[Leaf, Leaf] = {leaf: change(leaf) for leaf in leaves_of(tree)}

    def rebuild(part: Tree) -> Tree:
        match part:
            case Leaf():
                return changed[part]
            case Bag(members):
                return Bag(tuple(map(rebuild, members)))
            case Provide(inner, dependency, visible):
                return Provide(rebuild(inner), rebuild(dependency), visible)
            case Replace(base, fakes, where):
                return Replace(rebuild(base), tuple(map(rebuild, fakes)), where)
            case Catch(primary, fallback, on_failure, where):
                return Catch(rebuild(primary), rebuild(fallback), on_failure, where)

    return rebuild(tree)
