"""Seeds: request-life services that each call brings with it, such as the principal it acts for (design §3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Never, TypeAlias, TypeVar

import attrs

from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._layer import Layer
from lamina.effect._names import name_of
from lamina.effect._tree import Bag, Leaf, leaves_of
from lamina.effect._where import caller_where

R = TypeVar("R")
N = TypeVar("N")
S = TypeVar("S")
S2 = TypeVar("S2")
X = TypeVar("X")
Covered_contra = TypeVar("Covered_contra", contravariant=True)


class Offered(Generic[X]):
    """Stands, in types only, for the services that a layer offers."""

    __slots__ = ()


class Covered(Generic[Covered_contra, S]):
    """Stands, in types only, for the services that are there once the seeds `S` have been given."""

    __slots__ = ()


@attrs.frozen
class Seeds(Generic[S]):
    """The services that each call has to bring; made by `seed`, and put together with `|`.

    Example:
        >>> from lamina.effect import bind
        >>> class Principal: ...
        >>> class Caller: ...
        >>> seeds = seed(Principal) | seed(Caller)
        >>> seeds
        Seeds(Principal, Caller)
        >>> seeds.given(bind(Caller).value("C") | bind(Principal).value("P"))
        ('P', 'C')
    """

    keys: tuple[object, ...]

    def __or__(self, other: Seeds[S2]) -> Seeds[S | S2]:
        """Ask for both."""
        return Seeds(tuple(dict.fromkeys((*self.keys, *other.keys))))

    def __call__(self, offered: Offered[X], /) -> Covered[X | S, S]:
        """Add these to what a layer offers; only type checkers call this, see `SeedsFor`."""
        return Covered()

    def given(self, values: Layer[Never, S, Never]) -> tuple[object, ...]:
        """Read the values that one call brings, in the order of `keys`.

        Args:
            values: `bind(Principal).value(p) | bind(Caller).value(c)`, one value for each seed.

        Raises:
            ConstructionError: A seed has no value or several, or a value is for none of the seeds.
        """
        tree = values.tree
        brought: dict[object, object] = {}
        for leaf in tree.members if isinstance(tree, Bag) else (tree,):
            if isinstance(leaf, Leaf) and leaf.kind == "value" and leaf.key in self.keys:
                brought[leaf.key] = leaf.make()
        leaves = leaves_of(tree)
        if len(brought) == len(self.keys) == len(leaves):
            return tuple(map(brought.__getitem__, self.keys))
        raise ConstructionError(self._problems(leaves))

    def _problems(self, leaves: list[Leaf]) -> list[Problem]:
        seen: set[object] = set()
        problems: list[Problem] = []
        for leaf in leaves:
            problems.extend(self._why_not(leaf, seen))
            seen.add(leaf.key)
        place = caller_where()
        for key in self.keys:
            if key not in seen:
                write = f"| bind({name_of(key)}).value(...)"
                problems.append(Problem("MISSING", name_of(key), (f"given(...)  {place}",), write))
        return problems

    def _why_not(self, leaf: Leaf, seen: set[object]) -> list[Problem]:
        name = name_of(leaf.key)
        if leaf.key not in self.keys:
            return [Problem("SEED", name, (f"is none of the seeds of this runtime  {leaf.where}",))]
        if leaf.kind != "value":
            return [Problem("SEED", name, (f"is given as a value  {leaf.where}",), f"bind({name}).value(...)")]
        if leaf.key in seen:
            return [Problem("DUPLICATE", name, (f"given twice  {leaf.where}",))]
        return []

    def __repr__(self) -> str:
        """Name the seeds."""
        return f"Seeds({', '.join(map(name_of, self.keys))})"


SeedsFor: TypeAlias = Callable[[Offered[R]], Covered[N, S]]
"""Seeds `S` that cover, together with the offers `R`, the needs `N`: the type of `build`'s `seeds`.

    def build(app: Buildable[N, R, Never], *, seeds: SeedsFor[R, N, S]) -> AbstractAsyncContextManager[Open[R, S]]

`app: Buildable[R | S, R, Never], seeds: Seeds[S]` would say the same, but pyright solves a union of two type variables
in the order in which it meets them, and refuses good programs. As a call the question is a plain one to both checkers.
"""


def seed(tag: Callable[..., S]) -> Seeds[S]:
    """Declare a service that each call brings with it.

    Use it for what belongs to one call and that no layer could make: the principal, the caller.

    Args:
        tag: The service's class.
    """
    return Seeds((tag,))
