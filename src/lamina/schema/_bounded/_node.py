"""A schema that has been read: checks that are called one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from lamina.schema._bounded._work import Path, Work
from lamina.schema._json import JsonValue

Check: TypeAlias = Callable[[JsonValue, Path, Work], bool]
"""Tells whether a value fits one keyword."""
Mark: TypeAlias = Callable[[JsonValue, Work, "set[str | int]"], None]
"""Adds the names, or the places, of the members that a keyword has looked at; the value is known to fit."""


class Node:
    """One schema, or what stands for it until it is read.

    Attributes:
        checks: What a value has to pass, each with the keyword that a problem names; None where the check has told
            what is wrong by itself.
        marks: What else each keyword has looked at, where the schema asks for that.
    """

    __slots__ = ("checks", "marks")

    def __init__(self) -> None:
        self.checks: list[tuple[str | None, Check]] = []
        self.marks: list[Mark] = []

    def fits(self, value: JsonValue, path: Path, work: Work) -> bool:
        """Apply every check; after the first problem no more, where it only matters that there is one."""
        work.enter(1 + len(self.checks))
        fits = True
        for keyword, check in self.checks:
            if check(value, path, work):
                continue
            fits = False
            if work.quiet:
                break
            if keyword is not None:
                work.tell(path, keyword)
        work.depth -= 1
        return fits

    def holds(self, value: JsonValue, work: Work) -> bool:
        """Tell whether a value fits, and tell no problem."""
        work.quiet += 1
        fits = self.fits(value, None, work)
        work.quiet -= 1
        return fits

    def mark(self, value: JsonValue, work: Work, seen: set[str | int]) -> None:
        """Add what this schema has looked at, in a value that fits it."""
        work.enter(1 + len(self.marks))
        for mark in self.marks:
            mark(value, work, seen)
        work.depth -= 1


def never(value: JsonValue, path: Path, work: Work) -> bool:
    """Refuse everything: the schema `false`."""
    return False
