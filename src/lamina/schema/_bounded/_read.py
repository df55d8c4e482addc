"""Reading a schema: each part once, whatever refers to it, and without recursion."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import attrs

from lamina.schema._bounded._expression import Expression, expression_of
from lamina.schema._bounded._node import Check, Mark, Node, never
from lamina.schema._bounded._places import Places, Unreachable
from lamina.schema._bounded._work import Path, shown
from lamina.schema._json import JsonValue

MOST_PARTS = 20_000
_MOST_EXPRESSIONS = 8_192  # characters of all of them: compiling has its cost
_MOST_TOLD = 8
_MOST_UNAPPLIED = 64
LAST: Final = frozenset(("unevaluatedItems", "unevaluatedProperties"))
"""The keywords that look at what no other has looked at, so they come last."""


class Broken(Exception):
    """A keyword's value is not what it may be."""


class TooManyParts(Exception):
    """Reading it would take too long."""


class Part:
    """One part of the schema on its way to its node.

    Attributes:
        schema: What it says.
        base: What references in it are relative to.
        at: Where it stands, for reports.
        exact: Whether leaving a check out could refuse what fits: inside `not`, say, where more is less.
        node: What it becomes.
    """

    __slots__ = ("at", "base", "exact", "node", "schema")

    def __init__(self, schema: dict[str, JsonValue], base: str, at: Path, exact: bool, node: Node) -> None:
        self.schema = schema
        self.base = base
        self.at = at
        self.exact = exact
        self.node = node

    def add(self, keyword: str | None, check: Check, mark: Mark | None = None) -> None:
        """Add a keyword to the node; see its attributes."""
        self.node.checks.append((keyword, check))
        if mark is not None:
            self.node.marks.append(mark)


Read: TypeAlias = "Callable[[Reader, Part, JsonValue, Path], None]"


@attrs.frozen
class Keyword:
    """A keyword, and the drafts that have it.

    Attributes:
        read: Adds its check to the part; raises `Broken` for a value that it may not have.
        since: The first draft.
        until: The last.
    """

    read: Read
    since: int = 4
    until: int = 2020


class Reader:
    """Reads one document.

    Args:
        schema: The document.
        dialect: Which draft's words it uses: 4, 6, 7, 2019 or 2020.
        keywords: What is known of each keyword.

    Attributes:
        problems: Why it cannot be used.
        unapplied: Where expressions stand that are not applied.

    Raises:
        Unreachable: An `$id` is no address.
        TooManyParts: It has more than 20,000.
    """

    def __init__(self, schema: dict[str, JsonValue], dialect: int, keywords: Mapping[str, Keyword]) -> None:
        self.dialect = dialect
        self._keywords = keywords
        self.problems: list[str] = []
        self.unapplied: list[str] = []
        self.places = Places(schema, dialect)
        self._made: dict[tuple[int, str, bool], Node] = {}
        self._todo: deque[Part] = deque()
        self._expressions: dict[str, Expression | None] = {}
        self._expressed = 0
        self.root = self.node(schema, "", None, exact=False)
        while self._todo and not self.full:
            self._fill(self._todo.popleft())

    @property
    def full(self) -> bool:
        """Whether nothing more needs to be told."""
        return len(self.problems) >= _MOST_TOLD

    def refuse(self, at: Path, why: str) -> None:
        """Tell why the schema cannot be used."""
        if not self.full:
            self.problems.append(f"at {shown(at)[:256]} {why}")

    def node(self, schema: JsonValue, base: str, at: Path, *, exact: bool) -> Node:
        """Give the node of a part, to be filled before anything is applied.

        Raises:
            Broken: It is no schema.
            Unreachable: Its own name is no address.
            TooManyParts: Nobody needs that many.
        """
        if isinstance(schema, bool):
            made = Node()
            if not schema:
                made.checks.append(("false", never))
            return made
        if not isinstance(schema, dict):
            raise Broken
        base = self.places.base_of(schema, base)
        key = id(schema), base, exact
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Node()
            if len(self._made) > MOST_PARTS:
                raise TooManyParts
            self._todo.append(Part(schema, base, at, exact, found))
        return found

    def expression(self, pattern: JsonValue, at: Path, *, exact: bool) -> Expression | None:
        """Give an expression; None where it is not applied, which is then known.

        Raises:
            Broken: It is no text.
        """
        if not isinstance(pattern, str):
            raise Broken
        if pattern not in self._expressions:
            self._expressed += len(pattern)
            few = self._expressed <= _MOST_EXPRESSIONS
            self._expressions[pattern] = expression_of(pattern) if few else None
        found = self._expressions[pattern]
        if found is None and exact:
            self.refuse(at, "its expression cannot be applied in bounded time, and cannot be left out")
        elif found is None and len(self.unapplied) < _MOST_UNAPPLIED:
            self.unapplied.append(shown(at)[:256])
        return found

    def _fill(self, part: Part) -> None:
        alone = self.dialect <= 7 and "$ref" in part.schema
        for keyword in ("$ref",) if alone else sorted(part.schema, key=LAST.__contains__):
            known = self._keywords.get(keyword)
            if known is None or not known.since <= self.dialect <= known.until:
                continue
            at = part.at, keyword
            try:
                known.read(self, part, part.schema[keyword], at)
            except Broken:
                self.refuse(at, "it is no valid JSON Schema")
            except Unreachable:
                self.refuse(at, "it leads nowhere, or out of the schema")
