"""How the problems of a plan read."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from lamina.effect._clock import Clock
from lamina.effect._construction import Problem
from lamina.effect._names import name_of
from lamina.effect._program import Declaration, Requirement
from lamina.effect._resolve import LeafSlot, Slot, is_subclass
from lamina.effect._signature import Need
from lamina.effect._tree import Leaf
from lamina.effect._where import place_of

Users = dict[object, dict[str, None]]
"""For each missing service, one line for each that needs it."""


def line_of_leaf(leaf: Leaf, need: Need) -> str:
    """Say which layer needs something, by which parameter, and where it stands."""
    return f"layer {leaf.label}({need})  {leaf.where}"


def line_of_requirement(asked: Requirement, by: Declaration) -> str:
    """Say which part of which program needs something, and where both stand."""
    if asked.where == by.where:
        return f"{asked.who}  {asked.where}"
    return f"{asked.who}   {asked.where}, in {by.name}  {by.where}"


def missing(
    users: Mapping[object, Iterable[str]], offered: Iterable[object], writes: Mapping[object, str]
) -> list[Problem]:
    """Report what nobody offers, with all who need it, and the line to write where it can be told.

    Args:
        users: For each missing service, a line for each that needs it.
        offered: All services that are offered, to find one that was meant.
        writes: For a missing service, the line that a program proposes.
    """
    known = list(dict.fromkeys(offered))
    return [_missing(key, tuple(lines), known, writes.get(key)) for key, lines in users.items()]


def _missing(key: object, lines: tuple[str, ...], offered: list[object], proposed: str | None) -> Problem:
    name = name_of(key)
    narrow = next((other for other in offered if is_subclass(other, key)), None)
    if narrow is not None:
        return Problem("MISSING", name, lines, f"| bind({name}).to({name_of(narrow)})")
    wide = next((other for other in offered if is_subclass(key, other)), None)
    if wide is not None:
        lines = (*lines, f"{name_of(wide)} is offered, of which {name} is a subclass")
        proposed = proposed or f"| layer({name})"
    elif near := get_close_matches(name, [name_of(other) for other in offered], 3):
        lines = (*lines, f"offered under a similar name: {', '.join(near)}")
    if proposed is None and key is Clock:
        proposed = "| bind(Clock).to(SystemClock)"
    if proposed is None:
        proposed = getattr(key, "_write", None)  # a service that no layer makes says itself what does
    if proposed is None and isinstance(key, type) and not inspect.isabstract(key):
        proposed = f"| layer({name})"
    return Problem("MISSING", name, lines, proposed)


def duplicates(pairs: Iterable[tuple[Slot, Slot]]) -> list[Problem]:
    """Report services that are offered more than once, with every place."""
    places: dict[object, dict[str, set[object]]] = {}
    for pair in pairs:
        offers = places.setdefault(pair[0].key, {})
        for slot in pair:
            offers.setdefault(str(slot), set()).add(slot.leaf if isinstance(slot, LeafSlot) else slot)
    return [
        Problem("DUPLICATE", name_of(key), _both(offers), "keep one, or hide one with .provide(...)")
        for key, offers in places.items()
    ]


def _both(offers: Mapping[str, set[object]]) -> tuple[str, ...]:
    """Tell each place; where there is only one, why it counts twice."""
    if len(offers) > 1:
        return tuple(offers)
    one_leaf = "in two places that feed it differently"
    two_leaves = "made there more than once; a layer that is made once may stand in many places"
    return tuple(f"{line}, {one_leaf if len(leaves) == 1 else two_leaves}" for line, leaves in offers.items())


def cycle(ring: tuple[Slot, ...]) -> Problem:
    """Report slots that need each other, as the whole ring."""
    names = [name_of(slot.key) for slot in ring]
    lines: list[str] = []
    for slot, following in zip(ring, (*ring[1:], ring[0]), strict=True):
        needs = slot.leaf.needs if isinstance(slot, LeafSlot) else ()
        need = next((one for one in needs if one.key == following.key), None)
        lines.append(line_of_leaf(slot.leaf, need) if isinstance(slot, LeafSlot) and need is not None else str(slot))
    return Problem("CYCLE", " -> ".join((*names, names[0])), tuple(lines))


def no_program(given: object) -> Problem:
    """Report what was given as a program and cannot run: most often a function without its decorator."""
    line = f"is no program  {place_of(given)}"
    write = "@handler or @fallible above a function; agent.on(model) for an agent"
    return Problem("PROGRAM", name_of(given if callable(given) else type(given)), (line,), write)


def short_lived(pairs: Iterable[tuple[Leaf, Need]]) -> list[Problem]:
    """Report what lives for the app and needs what lives for a request, for each of the latter."""
    lines: dict[object, dict[str, None]] = {}
    writes: dict[object, str | None] = {}
    for leaf, need in pairs:
        line = f"{line_of_leaf(leaf, need)}, lives for the app; {name_of(need.key)} for a request"
        lines.setdefault(need.key, {})[line] = None
        movable = leaf.kind in ("call", "await", "scope")
        writes.setdefault(need.key, f'life="request" for {leaf.label}' if movable else None)
    return [Problem("LIFETIME", name_of(key), tuple(found), writes[key]) for key, found in lines.items()]


def unused(leaves: Iterable[Leaf]) -> tuple[Problem, ...]:
    """Report leaves that no program needs."""
    return tuple(Problem("UNUSED", name_of(leaf.key), (f"{leaf}  {leaf.where}",)) for leaf in leaves)
