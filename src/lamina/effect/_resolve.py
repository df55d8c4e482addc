"""Who offers what to whom: a layer's tree turned into slots that know where their needs are looked for.

Nothing is decided here about instances: that two slots are one instance shows only when all their dependencies are
known (`_wire`).
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from lamina.effect._construction import Problem
from lamina.effect._names import name_of
from lamina.effect._tree import Bag, Catch, Leaf, Provide, Replace, Tree, leaves_of


@attrs.define(eq=False)
class Names:
    """What can be seen from one place: its own offers first, then those around it."""

    outer: Names | None = None
    own: dict[object, Slot] = attrs.field(factory=dict["object", "Slot"])

    def find(self, key: object) -> Slot | None:
        """Give who offers `key` here."""
        names: Names | None = self
        while names is not None:
            if (slot := names.own.get(key)) is not None:
                return slot
            names = names.outer
        return None


@attrs.frozen(eq=False)
class LeafSlot:
    """A leaf, in the place where its needs are looked for."""

    leaf: Leaf
    names: Names

    @property
    def key(self) -> object:
        """Give the service."""
        return self.leaf.key

    def __str__(self) -> str:
        """Render for a report, with the place."""
        return f"{self.leaf}  {self.leaf.where}"


@attrs.frozen(eq=False)
class SeedSlot:
    """A service that each call brings."""

    key: object
    position: int

    def __str__(self) -> str:
        """Render for a report."""
        return f"seed {name_of(self.key)}"


@attrs.frozen(eq=False)
class ForkSlots:
    """Both sides of a `catch`, in one place."""

    tree: Catch
    primary: dict[object, Slot]
    fallback: dict[object, Slot]


@attrs.frozen(eq=False)
class ChoiceSlot:
    """One service of a `catch`."""

    key: object
    fork: ForkSlots

    def __str__(self) -> str:
        """Render for a report, with the place."""
        return f"catch for {name_of(self.key)}  {self.fork.tree.where}"


Slot: TypeAlias = LeafSlot | SeedSlot | ChoiceSlot


@attrs.frozen(eq=False)
class Fakes:
    """What stands in for other offers in the part of the tree below a `replace`."""

    slots: dict[object, Slot] = attrs.field(factory=dict["object", "Slot"])


@attrs.define(eq=False)
class Resolver:
    """Resolves trees, and collects what is wrong with them.

    Attributes:
        clashes: Offers of one service that met; they are a duplicate unless both turn out to be one instance.
        problems: What is wrong for certain.
    """

    clashes: list[tuple[Slot, Slot]] = attrs.field(factory=list[tuple[Slot, Slot]])
    problems: list[Problem] = attrs.field(factory=list[Problem])
    _done: dict[tuple[Tree, Names, Fakes], dict[object, Slot]] = attrs.field(
        factory=dict[tuple[Tree, Names, Fakes], dict["object", Slot]]
    )

    def offers(self, tree: Tree, names: Names, fakes: Fakes) -> dict[object, Slot]:
        """Give what a tree offers; needs that it does not meet itself are looked for in `names`.

        The same tree in the same place gives the same slots, so that a layer may stand in a bag twice.
        """
        place = (tree, names, fakes)
        found = self._done.get(place)
        if found is None:
            found = self._done[place] = self._resolve(tree, names, fakes)
        return found

    def clashing(self) -> list[Slot]:
        """List the slots that met another of their service; they may be the same instance, once they are wired."""
        return [slot for pair in self.clashes for slot in pair]

    def _resolve(self, tree: Tree, names: Names, fakes: Fakes) -> dict[object, Slot]:
        match tree:
            case Leaf(key=key):
                return {key: fakes.slots.get(key) or LeafSlot(tree, names)}
            case Bag(members):
                inside = Names(names)
                for member in members:
                    self._add(inside.own, self.offers(member, inside, fakes))
                return inside.own
            case Provide(inner, dependency, visible):
                inside = Names(names, self.offers(dependency, names, fakes))
                offered = self.offers(inner, inside, fakes)
                if not visible:
                    return offered
                both = dict(offered)
                self._add(both, inside.own)
                return both
            case Replace():
                return self._replace(tree, names, fakes)
            case Catch():
                return self._catch(tree, names, fakes)

    def _replace(self, tree: Replace, names: Names, fakes: Fakes) -> dict[object, Slot]:
        """Resolve the base with each leaf of a faked service exchanged; the fakes see what the base then offers."""
        inside = Names(names)
        standing_in: dict[object, Slot] = {}
        for fake in tree.fakes:
            self._add(standing_in, self.offers(fake, inside, fakes))
        replaced = {leaf.key for leaf in leaves_of(tree.base)}
        for key, slot in standing_in.items():
            if key not in replaced:
                self._override_of_nothing(key, slot, tree, replaced)
        offered = self.offers(tree.base, names, Fakes({**standing_in, **fakes.slots}))
        inside.own.update(standing_in)
        inside.own.update(offered)
        return offered

    def _override_of_nothing(self, key: object, slot: Slot, tree: Replace, replaced: set[object]) -> None:
        lines = (f"{slot}, replaces nothing: the layer offers no {name_of(key)}  {tree.where}",)
        wide = next((other for other in replaced if is_subclass(key, other)), None)
        write = f"bind({name_of(wide)}).to({name_of(key)})" if wide is not None else None
        self.problems.append(Problem("OVERRIDE", name_of(key), lines, write))

    def _catch(self, tree: Catch, names: Names, fakes: Fakes) -> dict[object, Slot]:
        fork = ForkSlots(tree, self.offers(tree.primary, names, fakes), self.offers(tree.fallback, names, fakes))
        for key in fork.primary.keys() - fork.fallback.keys():
            lines = (f"is not offered by the fallback  {tree.where}",)
            self.problems.append(Problem("FALLBACK", name_of(key), lines))
        return {key: ChoiceSlot(key, fork) for key in fork.primary if key in fork.fallback}

    def _add(self, known: dict[object, Slot], more: dict[object, Slot]) -> None:
        for key, slot in more.items():
            first = known.setdefault(key, slot)
            if first is not slot:
                self.clashes.append((first, slot))


def is_subclass(narrow: object, wide: object) -> bool:
    """Tell whether one service's class is a proper subclass of another's; a key may also be no class at all."""
    if narrow is wide or not (isinstance(narrow, type) and isinstance(wide, type)):
        return False
    try:
        return issubclass(narrow, wide)
    except TypeError:  # a protocol that cannot be tested
        return False
