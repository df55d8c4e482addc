"""Collecting what is wrong with the parts of one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

from lamina.schema._limits import Check
from lamina.schema._mismatch import GIVE_UP, MAX_PROBLEMS, Bad
from lamina.schema._terms import Hook


class Gather:
    """Collects the problems of one container's parts; it keeps the first ones and counts the rest."""

    __slots__ = ("more", "problems")

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []
        self.more = 0

    def add(self, step: str, part: Bad) -> None:
        """Add a part's problems; raises at once when there are too many to go on."""
        room = MAX_PROBLEMS - len(self.problems)
        self.problems += [(step + path, why) for path, why in part.problems[:room]]
        self.more += part.more + max(0, len(part.problems) - room)
        if self.more >= GIVE_UP:
            raise Bad(self.problems, self.more)

    def done(self) -> None:
        """Raise what was collected, if anything was."""
        if self.problems:
            raise Bad(self.problems, self.more)


def each(hook: Hook, values: Iterable[object]) -> list[Any]:
    """Run a hook on every item and collect what is wrong with each."""
    gather = Gather()
    made: list[Any] = []
    for index, value in enumerate(values):
        try:
            made.append(hook(value))
        except Bad as part:
            gather.add(f"[{index}]", part)
    gather.done()
    return made


def sized(check: Check | None, value: Sized, rest: Callable[[], Any]) -> Any:
    """Tell of a wrong length together with what is wrong inside."""
    gather = Gather()
    if check is not None:
        try:
            check(value)
        except Bad as wrong:
            gather.add("", wrong)
    try:
        made = rest()
    except Bad as wrong:
        gather.add("", wrong)
        made = None
    gather.done()
    return made


def each_member(key: Hook, item: Hook, members: Mapping[Any, Any]) -> dict[Any, Any]:
    """Run hooks on every key and value; a key that the sender made up is named by its place, never by its text."""
    gather = Gather()
    made: dict[Any, Any] = {}
    for place, (name, one) in enumerate(members.items(), 1):
        try:
            good = key(name)
        except Bad as wrong:
            gather.add(f"[key {place}]", Bad([(path, f"the key: {why}") for path, why in wrong.problems]))
            good = None
        try:
            made[good] = item(one)
        except Bad as wrong:
            gather.add(f"[key {place}]", wrong)
    gather.done()
    return made
