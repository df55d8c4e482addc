"""Which database files a forked process must leave alone: those that its parent had open.

SQLite notes by file what locks its process has, and a fork copies the notes without the locks. So whatever opens such a
file in the child believes in locks that nobody holds: the parent, when it closes, folds the log into the file and
removes it under the child, and what the child commits from then on is lost. No connection can undo that from outside.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

_open: Counter[str] = Counter()
_inherited: set[tuple[int, int]] = set()


@contextmanager
def held(path: str) -> Generator[None]:
    """Note that this process has a file open, from before it is opened until after it is closed."""
    _open[path] += 1
    try:
        yield
    finally:
        _open[path] -= 1
        if not _open[path]:
            del _open[path]


def is_inherited(path: str) -> bool:
    """Tell whether the process that this one was forked from had a file open then."""
    return _which(path) in _inherited


def _which(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino  # no other file gets them, for this process has it open as well


def _forked() -> None:
    _inherited.update(which for path in _open if (which := _which(path)) is not None)
    _open.clear()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_forked)
