"""Where the parts of a schema are: what each `$id`, `$anchor` and pointer leads to, within the one document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from lamina.schema._json import JsonValue

_ONE: Final = (
    *("items", "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS: Final = (*("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"),)
LONGEST_ADDRESS: Final = 512
_PLACE: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
DIALECTS: Final = {
    "json-schema.org/draft/2020-12/schema": 2020,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-03/schema": 3,
}


class Unreachable(Exception):
    """A reference leads nowhere, or out of the document."""


def dialect_of(schema: dict[str, JsonValue]) -> int:
    """Tell the dialect that a schema names; 2020-12 where it names none that is known."""
    named = schema.get("$schema")
    if not isinstance(named, str):
        return 2020
    return DIALECTS.get(named.partition("://")[2].rstrip("#"), 2020)


class Places:
    """The places of a document that something may refer to.

    Args:
        schema: The whole of it.
        dialect: How it is read.

    Attributes:
        marked: Whether anything in it asks what other keywords have looked at.
        outermost: How many schemas have each dynamic anchor.
    """

    def __init__(self, schema: dict[str, JsonValue], dialect: int) -> None:
        self._dialect = dialect
        self._id = "id" if dialect <= 4 else "$id"
        self._resources: dict[str, JsonValue] = {"": schema}
        self._anchors: dict[tuple[str, str], tuple[JsonValue, str]] = {}
        self.marked = False
        self.outermost: dict[str, int] = {}
        self._bases: dict[int, str] = {}  # by identity: the document is there as long as this is
        todo: list[tuple[dict[str, JsonValue], str]] = [(schema, "")]
        while todo:
            part, base = todo.pop()
            base = self._bases[id(part)] = self.base_of(part, base)
            self._index(part, base)
            todo += [(inner, base) for inner in _inner(part) if isinstance(inner, dict)]

    def base_of(self, part: dict[str, JsonValue], base: str) -> str:
        """Tell what references in a part are relative to.

        Args:
            part: A part of the document.
            base: What those in what holds it are relative to; where the part is one that was seen, this is known.

        Raises:
            Unreachable: Its own name is no address.
        """
        known = self._bases.get(id(part))
        if known is not None:
            return known
        named = part.get(self._id)
        if not isinstance(named, str) or named.startswith("#") or (self._dialect <= 7 and "$ref" in part):
            return base
        return _joined(base, named.partition("#")[0])

    def find(self, reference: str, base: str) -> tuple[JsonValue, str]:
        """Give what a reference leads to, and what the references in what holds that are relative to.

        Raises:
            Unreachable: It leads nowhere, or out of the document.
        """
        to, _, fragment = reference.partition("#")
        whole = _joined(base, to) if to else base
        if whole not in self._resources:
            raise Unreachable
        fragment = unquote(fragment)
        if not fragment:
            return self._resources[whole], whole
        if not fragment.startswith("/"):
            if (whole, fragment) not in self._anchors:
                raise Unreachable
            return self._anchors[whole, fragment]
        return self._pointed(fragment, self._resources[whole], whole)

    def _pointed(self, pointer: str, at: JsonValue, base: str) -> tuple[JsonValue, str]:
        for part in pointer[1:].split("/"):
            if isinstance(at, dict):
                base = self.base_of(at, base)
                name = part.replace("~1", "/").replace("~0", "~")
                if name not in at:
                    raise Unreachable
                at = at[name]
            elif (
                isinstance(at, list) and part.isdecimal() and part.isascii() and len(part) < 10 and int(part) < len(at)
            ):
                at = at[int(part)]
            else:
                raise Unreachable
        return at, base

    def _index(self, part: dict[str, JsonValue], base: str) -> None:
        named = part.get(self._id)
        if isinstance(named, str) and not (self._dialect <= 7 and "$ref" in part):
            if named.startswith("#") and self._dialect <= 7:
                self._anchors.setdefault((base, named[1:]), (part, base))
            elif not named.startswith("#"):
                self._resources.setdefault(base, part)
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = part.get(keyword)
            if isinstance(anchor, str) and self._dialect >= 2019:
                self._anchors.setdefault((base, anchor), (part, base))
        dynamic = part.get("$dynamicAnchor") if self._dialect >= 2020 else None
        if isinstance(dynamic, str):
            self.outermost[dynamic] = self.outermost.get(dynamic, 0) + 1
        if part.get("$recursiveAnchor") is True:
            self.outermost["#"] = self.outermost.get("#", 0) + 1
        if "unevaluatedItems" in part or "unevaluatedProperties" in part:
            self.marked = True


def _inner(part: dict[str, JsonValue]) -> Iterator[JsonValue]:
    for keyword in _ONE:
        yield part.get(keyword)
    for keyword in _LISTS:
        held = part.get(keyword)
        if isinstance(held, list):
            yield from held
    for keyword in _MAPS:
        held = part.get(keyword)
        if isinstance(held, dict):
            yield from held.values()


def _joined(base: str, reference: str) -> str:
    if len(base) > LONGEST_ADDRESS or len(reference) > LONGEST_ADDRESS:  # each one is as long as what it is joined to
        raise Unreachable
    try:
        if base and urlsplit(reference).scheme:
            return reference
        return urljoin(base, reference)
    except ValueError:  # no address at all
        raise Unreachable from None
