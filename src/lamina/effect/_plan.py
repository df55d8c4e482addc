"""`plan`: everything that can be known about a program before anything is acquired (design §3, CAP-002)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from lamina.effect import _report
from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._graph import Made, Node, reachable
from lamina.effect._layer import AnyLayer
from lamina.effect._mermaid import draw
from lamina.effect._names import name_of
from lamina.effect._program import Declaration, Program
from lamina.effect._resolve import Fakes, Names, Resolver, SeedSlot, Slot
from lamina.effect._seeds import Seeds
from lamina.effect._wire import Instances, Wiring

AnyProgram = Program[Any]  # Any: what a program needs is checked by its declaration here, by types in `build`


@attrs.frozen(eq=False)
class Sight:
    """What one program sees: its private services first, then those of the app.

    Attributes:
        program: The program, as a report prints it.
        private: What its own layer offers.
        app: What all see.
        required: The instances that it asks for.
    """

    program: str
    private: dict[object, Node]
    app: dict[object, Node]
    required: tuple[Node, ...]

    def find(self, key: object) -> Node | None:
        """Give the instance that the program gets for a service."""
        return self.private.get(key) or self.app.get(key)

    def rests_on(self, key: object, other: object) -> bool:
        """Tell whether a service is there, and is made of another one, over however many steps."""
        node = self.find(key)
        return node is not None and any(one.key == other for one in reachable([node]))

    @property
    def roots(self) -> tuple[Node, ...]:
        """List what has to be up for the program to run."""
        return (*self.private.values(), *self.required)


@attrs.frozen(eq=False)
class Plan:
    """What a runtime will consist of, and what keeps it from being built; made by `plan`.

    Attributes:
        problems: Everything that is wrong; a plan with problems cannot be opened.
        unused: Layers that no program needs, when programs were given; no problem.
        seeds: What each call brings.
    """

    problems: tuple[Problem, ...]
    unused: tuple[Problem, ...]
    seeds: Seeds[Any]  # Any: the types of the seeds are those of the runtime
    exports: dict[object, Node] = attrs.field(repr=False)
    sights: tuple[tuple[AnyProgram, Sight], ...] = attrs.field(repr=False)
    _ground: _Ground = attrs.field(repr=False)

    def mermaid(self) -> str:
        """Draw the plan as Mermaid text; also one that has problems, as far as it goes."""
        programs = [(sight.program, sight.required) for _, sight in self.sights]
        private = (node for _, sight in self.sights for node in sight.private.values())
        return draw(programs, [*self.exports.values(), *private])

    def raise_problems(self) -> None:
        """Raise every problem at once, if there is any.

        Raises:
            ConstructionError: There is.
        """
        if self.problems:
            raise ConstructionError(self.problems)

    def sight_of(self, program: AnyProgram) -> Sight:
        """Plan a program that is not part of this plan, on top of it; what is there already is shared.

        Raises:
            ConstructionError: It needs what is not there, or its own layer has problems.
        """
        found = _Findings()
        sight = self._ground.see(program, found)
        if problems := found.problems(self.exports):
            raise ConstructionError(problems)
        return sight


def plan(app: AnyLayer, programs: Iterable[AnyProgram] = (), seeds: Seeds[Any] | None = None) -> Plan:
    """Work out what will be made of what, and everything that is wrong, without acquiring anything.

    `build` does this, and raises; use it yourself to check an application in a test or in CI. It is pure, and does
    not raise for anything that is wrong with the graph.

    Args:
        app: The layers of the application.
        programs: Handlers, agents and contracts that are meant to run on it; their needs go into the same report.
        seeds: The services that each call brings.

    Example:
        >>> from lamina.effect import layer
        >>> class Log: ...
        >>> class Db:
        ...     def __init__(self, log: Log) -> None: ...
        >>> for problem in plan(layer(Db)).problems:
        ...     print(problem)  # doctest: +ELLIPSIS
        MISSING Log
          layer Db(log: Log)  ...
          write: | layer(Log)
    """
    found = _Findings()
    brought = Seeds[Any](()) if seeds is None else seeds
    ground = _Ground.of(app, brought, found)
    sights = tuple((program, ground.see(program, found)) for program in programs)
    problems = found.problems(ground.exports)
    unused = _unused(ground.exports, [sight for _, sight in sights]) if sights else ()
    return Plan(problems, unused, brought, ground.exports, sights, ground)


@attrs.define(eq=False)
class _Findings:
    """What went wrong while layers were resolved and wired, collected for one report."""

    users: dict[object, dict[str, None]] = attrs.field(factory=dict["object", dict[str, None]])
    writes: dict[object, str] = attrs.field(factory=dict["object", str])
    offered: dict[object, None] = attrs.field(factory=dict["object", None])
    others: dict[Problem, None] = attrs.field(factory=dict[Problem, None])

    def take(self, resolver: Resolver, wiring: Wiring) -> None:
        """Add what one round found."""
        for key, needing in wiring.missing.items():
            lines = (_report.line_of_leaf(leaf, need) for leaf, need in needing)
            self.users.setdefault(key, {}).update(dict.fromkeys(lines))
        clashes = [pair for pair in resolver.clashes if not _one_instance(pair, wiring.nodes)]
        self.add(
            *map(_report.cycle, wiring.rings),
            *_report.duplicates(clashes),
            *_report.short_lived(wiring.short_lived),
            *resolver.problems,
        )

    def add(self, *problems: Problem) -> None:
        """Add problems that are complete already."""
        self.others.update(dict.fromkeys(problems))

    def problems(self, offered: Iterable[object]) -> tuple[Problem, ...]:
        """Give them all, what is missing first."""
        return (*_report.missing(self.users, [*offered, *self.offered], self.writes), *self.others)


def _one_instance(pair: tuple[Slot, Slot], nodes: dict[Slot, Node]) -> bool:
    first, second = (nodes.get(slot) for slot in pair)
    return first is not None and first is second


@attrs.frozen(eq=False)
class _Ground:
    """The wired app, on which programs are planned."""

    names: Names
    nodes: dict[Slot, Node]
    exports: dict[object, Node]
    instances: Instances

    @staticmethod
    def of(app: AnyLayer, seeds: Seeds[Any], found: _Findings) -> _Ground:
        """Wire the app; its own needs may be met by the seeds."""
        resolver = Resolver()
        names = Names(None, {key: SeedSlot(key, at) for at, key in enumerate(seeds.keys)})
        offered = resolver.offers(app.tree, names, Fakes())
        resolver.clashes += [(names.own[key], slot) for key, slot in offered.items() if key in names.own]
        root = Names(None, {**offered, **names.own})
        wiring = Wiring(Instances())
        wiring.wire([*root.own.values(), *resolver.clashing()])
        found.take(resolver, wiring)
        return _Ground(root, wiring.nodes, _wired(root.own, wiring), wiring.instances)

    def see(self, program: AnyProgram, found: _Findings) -> Sight:
        """Plan one program."""
        if not callable(getattr(program, "declare", None)):
            found.add(_report.no_program(program))
            return Sight(name_of(program), {}, self.exports, ())
        declared = program.declare()
        found.add(*declared.problems)
        resolver, wiring = Resolver(), Wiring(self.instances, dict(self.nodes))
        own: dict[object, Slot] = {}
        if declared.private is not None:
            own = resolver.offers(declared.private.tree, Names(self.names), Fakes())
            wiring.wire([*own.values(), *resolver.clashing()])
            found.take(resolver, wiring)
            found.offered.update(dict.fromkeys(own))
        private = _wired(own, wiring)
        required = tuple(_required(declared, private, self.exports, found))
        return Sight(declared.name, private, self.exports, required)


def _wired(slots: dict[object, Slot], wiring: Wiring) -> dict[object, Node]:
    return {key: wiring.nodes[slot] for key, slot in slots.items() if slot in wiring.nodes}


def _required(
    declared: Declaration, private: dict[object, Node], app: dict[object, Node], found: _Findings
) -> Iterator[Node]:
    for asked in declared.requirements:
        node = private.get(asked.key) or app.get(asked.key)
        if node is not None:
            yield node
        elif not asked.optional:
            found.users.setdefault(asked.key, {})[_report.line_of_requirement(asked, declared)] = None
            if asked.write is not None:
                found.writes.setdefault(asked.key, asked.write)


def _unused(exports: dict[object, Node], sights: list[Sight]) -> tuple[Problem, ...]:
    used = set(reachable(node for sight in sights for node in sight.roots))
    idle = (node for node in reachable(exports.values()) if node not in used)
    return _report.unused(node.leaf for node in idle if isinstance(node, Made))
