"""The keywords whose schemas are for the members of an object, or the items of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from lamina.schema._bounded._expression import Expression
from lamina.schema._bounded._node import Mark, Node
from lamina.schema._bounded._plain import dependent
from lamina.schema._bounded._read import Broken, Keyword, Part, Read, Reader
from lamina.schema._bounded._words import count_of, names_of
from lamina.schema._bounded._work import Path, Work
from lamina.schema._json import JsonValue

Kind: TypeAlias = type[dict[str, Any]] | type[list[Any]]  # Any: the members are looked at one by one

# --- objects ----------------------------------------------------------------------------------------------------------


def _members(reader: Reader, part: Part, value: JsonValue, at: Path, *, exact: bool) -> dict[str, Node]:
    if not isinstance(value, dict):
        raise Broken
    return {name: reader.node(inner, part.base, (at, name), exact=exact) for name, inner in value.items()}


def _properties(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    nodes = _members(reader, part, value, at, exact=part.exact)

    def known(held: dict[str, JsonValue], work: Work) -> Iterator[str]:
        work.spend(min(len(held), len(nodes)))
        few, many = (held, nodes) if len(held) < len(nodes) else (nodes, held)
        return (name for name in few if name in many)

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, dict):
            return True
        fits = True
        for name in known(held, work):
            if not nodes[name].fits(held[name], (path, name), work):
                fits = False
                if work.quiet:
                    break
        return fits

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if isinstance(held, dict):
            seen.update(known(held, work))

    part.add(None, check, mark)


def _patterned(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    nodes = _members(reader, part, value, at, exact=part.exact)
    pairs = [
        (found, node) for name, node in nodes.items() if (found := reader.expression(name, (at, name), exact=True))
    ]

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, dict):
            return True
        fits = True
        for name, member in held.items():
            for expression, node in pairs:
                if expression.found(name, work) and not node.fits(member, (path, name), work):
                    fits = False
                    if work.quiet:
                        return False
        return fits

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if isinstance(held, dict):
            seen.update(name for name in held if any(expression.found(name, work) for expression, _ in pairs))

    part.add(None, check, mark)


def _additional(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    inner = reader.node(value, part.base, at, exact=part.exact)
    beside, patterns = part.schema.get("properties"), part.schema.get("patternProperties")
    named = frozenset(beside) if isinstance(beside, dict) else frozenset[str]()
    matched: list[Expression] = []
    for name in patterns if isinstance(patterns, dict) else ():
        found = reader.expression(name, (at, name), exact=True)
        matched += [] if found is None else [found]

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, dict):
            return True
        work.spend(len(held))
        fits = True
        for name, member in held.items():
            if name in named or any(expression.found(name, work) for expression in matched):
                continue
            if value is False:
                return False
            if not inner.fits(member, (path, name), work):
                fits = False
                if work.quiet:
                    break
        return fits

    part.add("additionalProperties" if value is False else None, check, _all_of(dict))


def _names(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    node = reader.node(value, part.base, at, exact=part.exact)

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, dict):
            return True
        fits = True
        for name in held:
            if not node.fits(name, path, work):
                fits = False
                if work.quiet:
                    break
        return fits

    part.add(None, check)


def _dependent_schemas(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    nodes = _members(reader, part, value, at, exact=part.exact)

    def called(held: dict[str, JsonValue], work: Work) -> list[Node]:
        work.spend(len(nodes))
        return [node for name, node in nodes.items() if name in held]

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, dict):
            return True
        fits = True
        for node in called(held, work):
            if not node.fits(held, path, work):
                fits = False
                if work.quiet:
                    break
        return fits

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if isinstance(held, dict):
            for node in called(held, work):
                node.mark(held, work, seen)

    part.add(None, check, mark)


def _dependencies(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    """Read what was one keyword until draft 7."""
    if not isinstance(value, dict):
        raise Broken
    needs = {name: names_of(needed) for name, needed in value.items() if isinstance(needed, list)}
    part.add("dependencies", dependent(needs))
    _dependent_schemas(reader, part, {name: inner for name, inner in value.items() if name not in needs}, at)


# --- lists ------------------------------------------------------------------------------------------------------------


def _first(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if not isinstance(value, list):
        raise Broken
    nodes = [reader.node(inner, part.base, (at, place), exact=part.exact) for place, inner in enumerate(value)]

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, list):
            return True
        fits = True
        for place, (node, item) in enumerate(zip(nodes, held, strict=False)):
            if not node.fits(item, (path, place), work):
                fits = False
                if work.quiet:
                    break
        return fits

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if isinstance(held, list):
            work.spend(len(nodes))
            seen.update(range(min(len(nodes), len(held))))

    part.add(None, check, mark)


def _after(reader: Reader, part: Part, value: JsonValue, at: Path, skipped: int) -> None:
    node = reader.node(value, part.base, at, exact=part.exact)

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, list):
            return True
        fits = True
        for place in range(skipped, len(held)):
            if not node.fits(held[place], (path, place), work):
                fits = False
                if work.quiet:
                    break
        return fits

    part.add(None, check, _all_of(list))


def _items(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    if reader.dialect >= 2020:
        before = part.schema.get("prefixItems")
        _after(reader, part, value, at, len(before) if isinstance(before, list) else 0)
    elif isinstance(value, list):
        _first(reader, part, value, at)
    else:
        _after(reader, part, value, at, 0)


def _additional_items(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    before = part.schema.get("items")
    if isinstance(before, list):
        _after(reader, part, value, at, len(before))


def _contains(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
    node = reader.node(value, part.base, at, exact=True)
    counted = reader.dialect >= 2019
    least = count_of(part.schema.get("minContains", 1)) if counted else 1
    most = count_of(part.schema["maxContains"]) if counted and "maxContains" in part.schema else None

    def check(held: JsonValue, path: Path, work: Work) -> bool:
        if not isinstance(held, list):
            return True
        found = 0
        for item in held:
            found += node.holds(item, work)
            if most is None and found >= least:
                return True
        return found >= least and (most is None or found <= most)

    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if isinstance(held, list):
            seen.update(place for place, item in enumerate(held) if node.holds(item, work))

    part.add("contains", check, mark if reader.dialect >= 2020 else None)


# --- what nothing else has looked at ----------------------------------------------------------------------------------


def _all_of(kind: Kind) -> Mark:
    def mark(held: JsonValue, work: Work, seen: set[str | int]) -> None:
        if isinstance(held, kind):
            work.spend(len(held))
            seen.update(held if isinstance(held, dict) else range(len(held)))

    return mark


def _rest(keyword: str, kind: Kind) -> Read:
    def read(reader: Reader, part: Part, value: JsonValue, at: Path) -> None:
        node = reader.node(value, part.base, at, exact=part.exact)
        marks = tuple(part.node.marks)

        def check(held: JsonValue, path: Path, work: Work) -> bool:
            if not isinstance(held, kind):
                return True
            seen: set[str | int] = set()
            for mark in marks:
                mark(held, work, seen)
            work.spend(len(held))
            if isinstance(held, dict):
                return all(name in seen or node.holds(member, work) for name, member in held.items())
            return all(place in seen or node.holds(item, work) for place, item in enumerate(held))

        part.add(keyword, check, _all_of(kind))

    return read


MEMBERS: Final = {
    "properties": Keyword(_properties),
    "patternProperties": Keyword(_patterned),
    "additionalProperties": Keyword(_additional),
    "propertyNames": Keyword(_names, since=6),
    "dependentSchemas": Keyword(_dependent_schemas, since=2019),
    "dependencies": Keyword(_dependencies, until=7),
    "prefixItems": Keyword(_first, since=2020),
    "items": Keyword(_items),
    "additionalItems": Keyword(_additional_items, until=2019),
    "contains": Keyword(_contains, since=6),
    "unevaluatedItems": Keyword(_rest("unevaluatedItems", list), since=2019),
    "unevaluatedProperties": Keyword(_rest("unevaluatedProperties", dict), since=2019),
}
