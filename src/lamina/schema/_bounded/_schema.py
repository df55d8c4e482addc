"""A schema that somebody else wrote, applied in bounded time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import orjson
from returns.result import Failure, Result, Success

from lamina.schema._bounded._choices import CHOICES
from lamina.schema._bounded._members import MEMBERS
from lamina.schema._bounded._node import Node
from lamina.schema._bounded._places import LONGEST_ADDRESS, Unreachable, dialect_of
from lamina.schema._bounded._read import MOST_PARTS, Reader, TooManyParts
from lamina.schema._bounded._words import WORDS
from lamina.schema._bounded._work import GaveUp, Work
from lamina.schema._json import JsonValue, canonical_json, is_json

_KEYWORDS: Final = {**WORDS, **MEMBERS, **CHOICES}
_FREE_STEPS: Final = 100_000
_STEPS_A_BYTE: Final = 4


class BoundedSchema:
    """A JSON Schema of somebody who is not trusted: reading it, and applying it, take bounded time.

    When to use: for what a server says of its tools. A schema of the application's own needs none of this.

    It knows drafts 4, 6, 7, 2019-09 and 2020-12, and takes the last where none is named. No other document is ever
    fetched. `format` is not applied. Regular expressions are applied by RE2, in time linear to the text; one that RE2
    cannot say is left out, and listed in `unapplied`, where that only lets more pass, and is refused elsewhere.

    Each keyword that is applied costs a step, each text and list by its size, and a value may cost 100,000 steps and 4
    for each of its bytes: beyond that it does not fit.

    Attributes:
        unapplied: Where in the schema an expression stands that is not applied, the first 64.
    """

    __slots__ = ("_root", "unapplied")

    def __init__(self, root: Node, unapplied: tuple[str, ...]) -> None:
        self._root = root
        self.unapplied = unapplied

    @classmethod
    def read(cls, schema: Mapping[str, JsonValue]) -> Result[BoundedSchema, tuple[str, ...]]:
        """Read a schema.

        Args:
            schema: The schema; how large it may be is up to who reads it.

        Returns:
            What applies it, or why it cannot be applied: at most eight reasons.

        Example:
            >>> read = BoundedSchema.read({"type": "object", "properties": {"n": {"type": "integer"}}})
            >>> read.unwrap().problems({"n": "1"})
            ("$.n: does not fit the schema's type",)
            >>> BoundedSchema.read({"type": "nothing"})
            <Failure: ('at $.type it is no valid JSON Schema',)>
        """
        if not is_json(schema):
            return Failure(("it is no JSON, or nested too deeply",))
        whole = cast("dict[str, JsonValue]", schema)
        dialect = dialect_of(whole)
        if dialect < 4:
            return Failure(("at $.$schema it names a draft that is too old to be known here",))
        try:
            reader = Reader(whole, dialect, _KEYWORDS)
        except Unreachable:
            return Failure((f"an $id in it is no address, or has more than {LONGEST_ADDRESS} characters",))
        except TooManyParts:
            return Failure((f"it has more than {MOST_PARTS} parts",))
        if reader.problems:
            return Failure(tuple(reader.problems))
        return Success(cls(reader.root, tuple(reader.unapplied)))

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Say what does not fit: where, and the keyword; no value is quoted. Empty where all is well.

        Args:
            value: JSON, nested at most 64 deep.
        """
        work = Work(_FREE_STEPS + _STEPS_A_BYTE * _size(value))
        try:
            self._root.fits(value, None, work)
        except (GaveUp, RecursionError):
            return ("$: the schema asks for more work than a value of this size may cost",)
        return tuple(work.problems)


def _size(value: JsonValue) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:  # an integer beyond 64 bits
        return len(canonical_json(value))
