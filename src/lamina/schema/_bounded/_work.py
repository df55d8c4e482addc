"""How much work may be done, and what has been found: one value of this kind for each value that is looked at."""

from __future__ import annotations

from typing_extensions import TypeAliasType

MOST_PROBLEMS = 32
_MOST_DEPTH = 256
_MOST_SHOWN = 200
_LONGEST_PATH = 512

Path = TypeAliasType("Path", "tuple[Path, str | int] | None")
"""Where something stands: the way to what holds it, and its name or place there; None is the whole."""


class GaveUp(Exception):
    """The schema asks for more work than a value of this size may cost, or never comes to an end."""


class Work:
    """What is left to be spent on one value, and the problems that were found.

    Attributes:
        quiet: Whether it only matters that there is a problem, and not which: more than 0 inside an alternative.
        problems: What was found.
        depth: How many schemas are being applied inside each other.
    """

    __slots__ = ("depth", "left", "problems", "quiet")

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.depth = 0
        self.quiet = 0
        self.problems: list[str] = []

    def spend(self, steps: int) -> None:
        """Pay before something is done whose cost grows with what was given.

        Raises:
            GaveUp: There is not enough left.
        """
        self.left -= steps
        if self.left < 0:
            raise GaveUp

    def enter(self, steps: int) -> None:
        """Go into a schema.

        Raises:
            GaveUp: There is not enough left, or it goes too deep.
        """
        self.depth += 1
        self.left -= steps
        if self.left < 0 or self.depth > _MOST_DEPTH:
            raise GaveUp

    def tell(self, path: Path, keyword: str) -> None:
        """Keep a problem; it quotes no value."""
        self.problems.append(f"{shown(path)}: does not fit the schema's {keyword}")
        if len(self.problems) == MOST_PROBLEMS:
            self.quiet += 1  # from here on the first problem ends it


def shown(path: Path) -> str:
    """Write a way as JSON path: `$.a[0]`."""
    parts: list[str] = []
    while path is not None:
        path, last = path
        if isinstance(last, int):
            parts.append(f"[{last}]")
        else:
            name = last[:_MOST_SHOWN]
            parts.append(f".{name}" if name.isidentifier() else f"[{name!r}]")
    return ("$" + "".join(reversed(parts)))[:_LONGEST_PATH]
