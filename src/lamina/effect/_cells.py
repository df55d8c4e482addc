"""What becomes of each node of a plan: a cell that waits for others, and then is up, failed or broken."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import attrs

from lamina.effect._graph import Chosen, Fork, Made, Node, Seeded, reachable


@attrs.frozen
class Up:
    """It is there; what lives for a request has no value here."""

    value: Any  # Any: a service of whatever class


@attrs.frozen(eq=False)
class Failed:
    """It, or what it needs, answered a declared failure."""

    error: Any  # Any: one of the layer's declared failures


@attrs.frozen(eq=False)
class Broken:
    """It, or what it needs, raised, or was cancelled while it came up."""

    error: BaseException


@attrs.define(eq=False)
class Cell:
    """One node, and how far it is.

    Attributes:
        outcome: What became of it; `None` until that is known.
        needs: What it waits for.
        users: What waits for it, or has waited.
        waiting: How many of its needs have no outcome yet.
        on_fallback: Whether it waits for the fallback of its fork, after the primary side has failed.
        closed: Set when its task has ended; cells without a task have none.
    """

    node: Node
    outcome: Up | Failed | Broken | None = None
    needs: list[Cell] = attrs.field(factory=list["Cell"])
    users: list[Cell] = attrs.field(factory=list["Cell"])
    waiting: int = 0
    on_fallback: bool = False
    closed: anyio.Event | None = None

    def values(self) -> list[Any]:  # Any: services
        """Give the services that it is made of; all its needs are up."""
        return [need.outcome.value for need in self.needs if isinstance(need.outcome, Up)]


@attrs.define(eq=False)
class Cells:
    """Brings nodes up in the order of their needs; what has no need left is started at once, and in parallel.

    Plain constructors run right here. What has to be awaited is given to `host`, which calls `settle` later.
    """

    host: Callable[[Cell, Made], None]
    by_node: dict[Node, Cell] = attrs.field(factory=dict[Node, Cell])
    took_fallback: dict[Fork, bool] = attrs.field(factory=dict[Fork, bool])

    def demand(self, nodes: Iterable[Node]) -> list[Cell]:
        """Start whatever these nodes need and is not on its way, or did not come up before; give their cells."""
        wanted = list(nodes)
        self._renew(wanted)
        self._run(deque(self._create(wanted)))
        return [self.by_node[node] for node in wanted]

    def settle(self, cell: Cell, outcome: Up | Failed | Broken) -> None:
        """Say what became of a cell, and start those that waited for it only."""
        self._run(deque(self._settled(cell, outcome)))

    def final(self, node: Node) -> Made | Seeded:
        """Give the node itself, or the side that its fork took."""
        while isinstance(node, Chosen):
            node = node.fallback if self.took_fallback[node.fork] else node.primary
        return node

    def _renew(self, nodes: Iterable[Node]) -> None:
        """Drop cells that did not come up, so that they are tried again; what is up needs nothing more."""
        for node in reachable(nodes, self._below_unless_up):
            cell = self.by_node.get(node)
            if cell is not None and isinstance(cell.outcome, Failed | Broken):
                del self.by_node[node]
                if isinstance(node, Chosen):
                    self.took_fallback.pop(node.fork, None)

    def _create(self, nodes: Iterable[Node]) -> list[Cell]:
        """Make cells for nodes and all that they surely need: of a fork, its primary side."""
        ready: list[Cell] = []
        for node in reachable(nodes, self._below_unless_up):
            if node not in self.by_node:
                cell = self.by_node[node] = Cell(node)
                if self._wait_for(cell, _surely_below(node)):
                    ready.append(cell)
        return ready

    def _below_unless_up(self, node: Node) -> tuple[Node, ...]:
        cell = self.by_node.get(node)
        return () if cell is not None and isinstance(cell.outcome, Up) else _surely_below(node)

    def _wait_for(self, cell: Cell, needs: Iterable[Node]) -> bool:
        """Let a cell wait for others; tell whether it need not wait at all."""
        cell.needs = [self.by_node[need] for need in needs]
        for need in cell.needs:
            need.users.append(cell)
            cell.waiting += need.outcome is None
        return cell.waiting == 0

    def _settled(self, cell: Cell, outcome: Up | Failed | Broken) -> list[Cell]:
        cell.outcome = outcome
        ready: list[Cell] = []
        for user in cell.users:
            user.waiting -= 1
            if user.waiting == 0 and user.outcome is None:
                ready.append(user)
        return ready

    def _run(self, ready: deque[Cell]) -> None:
        while ready:
            cell = ready.popleft()
            ready.extend(self._start(cell))

    def _start(self, cell: Cell) -> list[Cell]:
        node = cell.node
        if isinstance(node, Chosen):
            return self._choose(cell, node)
        down = _down(cell.needs)
        if down is not None:
            return self._settled(cell, down)
        if isinstance(node, Seeded) or node.life == "request":
            return self._settled(cell, Up(None))
        if node.leaf.kind in ("value", "call"):
            return self._settled(cell, _called(node, cell.values()))
        self.host(cell, node)
        return []

    def _choose(self, cell: Cell, node: Chosen) -> list[Cell]:
        """Decide a fork when its primary side is settled; with the fallback, wait for that side, too."""
        down = _down(cell.needs)
        if isinstance(down, Failed) and not cell.on_fallback:
            if node.fork not in self.took_fallback and (broken := self._take_fallback(node.fork, down)) is not None:
                return self._settled(cell, broken)
            cell.on_fallback = True
            ready = self._create(node.fork.fallback)
            return [*ready, cell] if self._wait_for(cell, node.fork.fallback) else ready
        self.took_fallback.setdefault(node.fork, False)
        side = self.by_node[node.fallback if cell.on_fallback else node.primary]
        return self._settled(cell, down or side.outcome or Up(None))

    def _take_fallback(self, fork: Fork, failed: Failed) -> Broken | None:
        self.took_fallback[fork] = True
        if fork.on_failure is None:
            return None
        try:
            fork.on_failure(failed.error)
        except Exception as error:
            return Broken(error)
        return None


def _surely_below(node: Node) -> tuple[Node, ...]:
    match node:
        case Made(_, dependencies):
            return tuple(found for found in dependencies if found is not None)
        case Chosen(_, fork):
            return fork.primary
        case Seeded():
            return ()


def _down(needs: Iterable[Cell]) -> Failed | Broken | None:
    """Give what keeps a cell from coming up; a defect before a failure."""
    outcomes = [need.outcome for need in needs]
    broken = next((one for one in outcomes if isinstance(one, Broken)), None)
    return broken or next((one for one in outcomes if isinstance(one, Failed)), None)


def _called(node: Made, values: list[Any]) -> Up | Broken:
    try:
        return Up(node.leaf.make(*values))
    except Exception as error:
        return Broken(error)
