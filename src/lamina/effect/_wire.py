"""From slots to instances: each slot's needs are followed, and equal leaves with equal dependencies become one node."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import attrs

from lamina.effect._graph import Chosen, Fork, Made, Node, Seeded
from lamina.effect._resolve import ChoiceSlot, ForkSlots, LeafSlot, SeedSlot, Slot
from lamina.effect._signature import Need
from lamina.effect._tree import Catch, Leaf


@attrs.define(eq=False)
class Instances:
    """What there is one of: kept for as long as a runtime, so that a program that comes later shares what is there."""

    made: dict[tuple[Leaf, tuple[Node | None, ...]], Made] = attrs.field(
        factory=dict[tuple[Leaf, tuple[Node | None, ...]], Made]
    )
    forks: dict[tuple[Catch, tuple[Node, ...], tuple[Node, ...]], Fork] = attrs.field(
        factory=dict[tuple[Catch, tuple[Node, ...], tuple[Node, ...]], Fork]
    )
    chosen: dict[tuple[object, Fork], Chosen] = attrs.field(factory=dict[tuple["object", Fork], Chosen])


@attrs.define(eq=False)
class Wiring:
    """One round of wiring, and what was found wrong in it.

    Attributes:
        instances: What is shared with other rounds.
        nodes: The instance that each slot stands for.
        missing: For each service that nobody offers, the leaves that need it, each with the parameter.
        rings: Each ring of slots that need each other.
        short_lived: Leaves that live for the app, with a need that lives for a request.
    """

    instances: Instances
    nodes: dict[Slot, Node] = attrs.field(factory=dict[Slot, Node])
    missing: dict[object, dict[tuple[Leaf, Need], None]] = attrs.field(
        factory=dict["object", dict[tuple[Leaf, Need], None]]
    )
    rings: list[tuple[Slot, ...]] = attrs.field(factory=list[tuple[Slot, ...]])
    short_lived: dict[tuple[Leaf, Need], None] = attrs.field(factory=dict[tuple[Leaf, Need], None])
    _needed: dict[Slot, tuple[Slot | None, ...]] = attrs.field(factory=dict[Slot, tuple[Slot | None, ...]])

    def wire(self, roots: Iterable[Slot]) -> None:
        """Make the nodes of these slots and of all they need; without recursion, for a chain may be long."""
        open_slots: set[Slot] = set()
        ringed: dict[Slot, None] = {}
        for root in roots:
            path = self._enter(root, open_slots)
            while path:
                slot, rest = path[-1]
                following = next((one for one in rest if one is not None and one not in self.nodes), None)
                if following is None:
                    path.pop()
                    open_slots.discard(slot)
                    if (node := self._node(slot)) is not None:
                        self.nodes[slot] = node
                elif following in open_slots:
                    ringed[following] = None
                else:
                    path.extend(self._enter(following, open_slots))
        if ringed:
            self._find_rings()

    def _enter(self, slot: Slot, open_slots: set[Slot]) -> list[tuple[Slot, Iterator[Slot | None]]]:
        if slot in self.nodes:
            return []
        open_slots.add(slot)
        return [(slot, iter(self._needs_of(slot)))]

    def _needs_of(self, slot: Slot) -> tuple[Slot | None, ...]:
        found = self._needed.get(slot)
        if found is None:
            found = self._needed[slot] = self._look_up(slot)
        return found

    def _look_up(self, slot: Slot) -> tuple[Slot | None, ...]:
        match slot:
            case LeafSlot(leaf, names):
                return tuple(names.find(need.key) for need in leaf.needs)
            case ChoiceSlot(_, fork):
                return (*fork.primary.values(), *fork.fallback.values())
            case SeedSlot():
                return ()

    def _node(self, slot: Slot) -> Node | None:
        match slot:
            case LeafSlot(leaf):
                return self._made_of(leaf, self._needs_of(slot))
            case SeedSlot(key, position):
                return Seeded(key, position)
            case ChoiceSlot(key, fork):
                return self._chosen_of(key, fork)

    def _made_of(self, leaf: Leaf, needed: tuple[Slot | None, ...]) -> Made:
        nodes = tuple(None if slot is None else self.nodes.get(slot) for slot in needed)
        for need, slot, node in zip(leaf.needs, needed, nodes, strict=True):
            if slot is None:
                self.missing.setdefault(need.key, {})[leaf, need] = None
            elif node is not None and leaf.life == "app" and node.life == "request":
                self.short_lived[leaf, need] = None
        made = self.instances.made.get((leaf, nodes))
        if made is None:
            made = self.instances.made[leaf, nodes] = Made(leaf, nodes)
        return made

    def _chosen_of(self, key: object, slots: ForkSlots) -> Chosen | None:
        primary = {one: self.nodes[slot] for one, slot in slots.primary.items() if slot in self.nodes}
        fallback = {one: self.nodes[slot] for one, slot in slots.fallback.items() if slot in self.nodes}
        if key not in primary or key not in fallback:
            return None  # part of a ring, which is reported
        sides = (slots.tree, tuple(primary.values()), tuple(fallback.values()))
        fork = self.instances.forks.get(sides)
        if fork is None:
            fork = self.instances.forks[sides] = Fork(sides[1], sides[2], slots.tree.on_failure)
        chosen = self.instances.chosen.get((key, fork))
        if chosen is None:
            chosen = self.instances.chosen[key, fork] = Chosen(key, fork, primary[key], fallback[key])
        return chosen

    def _find_rings(self) -> None:
        """List rings so that each need that is part of any ring is part of one listed, and no ring is listed twice."""
        seen: set[tuple[object, ...]] = set()
        for slot, needed in self._needed.items():
            for other in needed:
                ring = None if other is None else self._way(other, slot)
                if ring is not None and (same := _turned(ring)) not in seen:
                    seen.add(same)
                    self.rings.append(ring)

    def _way(self, start: Slot, end: Slot) -> tuple[Slot, ...] | None:
        """Give a shortest way from one slot to another along their needs."""
        before: dict[Slot, Slot | None] = {start: None}
        queue = deque([start])
        while queue:
            slot = queue.popleft()
            if slot is end:
                way: list[Slot] = [slot]
                while (previous := before[way[-1]]) is not None:
                    way.append(previous)
                return tuple(reversed(way))
            for other in self._needed.get(slot, ()):
                if other is not None and other not in before:
                    before[other] = slot
                    queue.append(other)
        return None


def _turned(ring: tuple[Slot, ...]) -> tuple[object, ...]:
    """Give what is the same for a ring wherever one starts, and for the same leaves in another place."""
    members = [slot.leaf if isinstance(slot, LeafSlot) else slot for slot in ring]
    first = min(range(len(members)), key=lambda at: id(members[at]))
    return tuple(members[first:] + members[:first])
