"""What is wrong with a value: every problem at once, as `$.path: why`, and never a word of the value itself."""

from __future__ import annotations

from collections.abc import Iterable

from lamina.effect import tagged

MAX_PROBLEMS = 32
"""As many problems are told; the rest are counted."""
GIVE_UP = 1000
"""As many problems are counted before the search ends, so that a hostile value costs no more than a good one."""
_MAX_PATH = 160


@tagged("The value does not fit.")
class Mismatch:
    """A value or a text that does not fit its type (design §1, `schema/`).

    Each problem reads `$.path: why`, where `$` is the whole value. The value is never quoted, and neither is a key that
    the sender made up: what `decode` says may go to a model, a client or a log. At most 32 problems are told, and then
    how many more there are.

    Example:
        >>> print(Mismatch(("$.items[3].price: expected integer", "$.who: missing")))
        $.items[3].price: expected integer; $.who: missing
    """

    problems: tuple[str, ...]

    def __str__(self) -> str:
        """Join the problems on one line."""
        return "; ".join(self.problems)


class Bad(Exception):
    """Raised by a reader or writer; holds (path, why) pairs, with the path relative to the value that was read."""

    def __init__(self, problems: Iterable[tuple[str, str]], more: int = 0) -> None:
        super().__init__()
        self.problems = list(problems)
        self.more = more

    @property
    def hopeless(self) -> bool:
        """Whether so many problems were counted that the search ends."""
        return self.more >= GIVE_UP


def bad(why: str) -> Bad:
    """Make the one problem of a value itself."""
    return Bad([("", why)])


def mismatch_of(found: Bad) -> Mismatch:
    """Render the problems with their full, bounded paths."""
    told = [f"${_shorten(path)}: {why}" for path, why in found.problems[:MAX_PROBLEMS]]
    if more := found.more + len(found.problems) - len(told):
        told.append(f"and {'at least ' if found.hopeless else ''}{more} more")
    return Mismatch(tuple(told))


def _shorten(path: str) -> str:
    if len(path) <= _MAX_PATH:
        return path
    half = _MAX_PATH // 2
    return f"{path[:half]}…{path[-half:]}"
