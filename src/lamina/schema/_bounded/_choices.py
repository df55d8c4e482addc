"""The keywords that apply other schemas to the same value."""

from __future__ import annotations

from typing import Final

from lamina.schema._bounded._node import Node
from lamina.schema._bounded._places import Unreachable
from lamina.schema._bounded._read import Broken, Keyword, Part, Reader
from lamina.schema._bounded._work import Path, Work
from lamina.schema._json import JsonValue


def _listed(reader: Reader, part: Part, value: JsonValue, at: Path, *, exact: bool) -> list[Node]:
    if not isinstance(value, list) or not value:
        raise Broken
    return [reader.node(inner, part.base, (at, place), exact=exact) for place, inner in enumerate(value)]


def _all(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    nodes = _listed(reader, part, value, at, exact=part.exact)

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        fits = True
        for node in nodes:
            if not node.fits(held, path, work):
                fits = False
                if work.quiet:
                    break
        return fits

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        for node in nodes:
            node.mark(held, work, seen)

    part.add(None, check, mark)


def _mark_those_that_hold(nodes: list[Node], held: JsonValue, work: Work, seen: set[str | int]) -> None:
    for node in nodes:
        if node.holds(held, work):
            node.mark(held, work, seen)


def _any(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    nodes = _listed(reader, part, value, at, exact=part.exact)
    part.add(
        "anyOf",
        lambda held, path, work: any(node.holds(held, work) for node in nodes),
        lambda held, work, seen: _mark_those_that_hold(nodes, held, work, seen),
    )


def _one(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    nodes = _listed(reader, part, value, at, exact=True)

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        found = 0
        for node in nodes:
            found += node.holds(held, work)
            if found > 1:
                return False
        return found == 1

    part.add("oneOf", check, lambda held, work, seen: _mark_those_that_hold(nodes, held, work, seen))


def _not(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    node = reader.node(value, part.base, at, exact=True)
    part.add("not", lambda held, path, work: not node.holds(held, work))


def _if(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    asked = reader.node(value, part.base, at, exact=True)
    then, other = (
        reader.node(part.schema[name], part.base, (part.at, name), exact=part.exact) if name in part.schema else Node()
        for name in ("then", "else")
    )

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if asked.holds(held, work):
            asked.mark(held, work, seen)
            then.mark(held, work, seen)
        else:
            other.mark(held, work, seen)

    part.add(None, lambda held, path, work: (then if asked.holds(held, work) else other).fits(held, path, work), mark)


def _refer(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if not isinstance(value, str):
        raise Broken
    schema, base = reader.places.find(value, part.base)
    node = reader.node(schema, base, at, exact=part.exact)
    part.add(None, node.fits, node.mark)


def _refer_dynamically(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    """Read a reference that means the outermost of several schemas; only where there is one, it is known by now."""
    if isinstance(value, str) and reader.places.outermost.get(value.rpartition("#")[2] or "#", 0) > 1:
        raise Unreachable
    _refer(reader, part, value, at)


CHOICES: Final = {
    "allOf": Keyword(_all),
    "anyOf": Keyword(_any),
    "oneOf": Keyword(_one),
    "not": Keyword(_not),
    "if": Keyword(_if, since=7),
    "$ref": Keyword(_refer),
    "$dynamicRef": Keyword(_refer_dynamically, since=2020),
    "$recursiveRef": Keyword(_refer_dynamically, since=2019, until=2019),
}
