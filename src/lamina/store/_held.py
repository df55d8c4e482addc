"""The database files that this process has open: kept from others as long as that is so, and from forked children.

In write-ahead mode a connection shares a lock on its file from its beginning to its end; whoever gets that lock for
itself takes itself for the last one, folds the log into the file, and removes the log. POSIX gives this lock up as soon
as the process closes any descriptor of the file: an agent's tool that reads the store's file is enough, and then the
next command in another terminal removes the log under this process, whose commits are lost, or damage the file. So the
same bytes are locked once more, by locks that belong to an open file and not to a process (Linux).

A fork copies SQLite's notes of the locks that its process has, and not the locks. What opens such a file in the child
believes in locks that nobody holds, so it is refused there; no connection can undo that.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock

import attrs

try:
    import fcntl
except ImportError:  # Windows, whose locks belong to the open file anyhow
    fcntl = None  # type: ignore[assignment]

# SQLite's file format: the bytes of the database that a connection shares, and the one of the log's index.
_SHARED = (0x40000002, 510)
_INDEX = (128, 1)


@attrs.define(eq=False)
class Held:
    """A file that is open here.

    Attributes:
        stores: How many stores have it open, or are about to.
        secured: How many of them have it locked.
        descriptors: By what it is locked. To close one while there is a connection would cost that its own lock.
    """

    path: str
    stores: int = 0
    secured: int = 0
    descriptors: list[int] = attrs.field(factory=list[int])

    def secure(self) -> None:
        """Keep others from a file that is open in write-ahead mode; nothing where the system has no such locks."""
        with _LOCK:
            self.secured += 1
            if self.secured > 1:
                return
            if not self.descriptors:
                with suppress(OSError):
                    for each in (self.path, f"{self.path}-shm"):
                        self.descriptors.append(os.open(each, os.O_RDONLY | os.O_CLOEXEC))
            _lock(self.descriptors, shared=True)

    def release(self) -> None:
        """Let go of it, directly before the connection is closed, which folds the log in if it is the last."""
        with _LOCK:
            self.secured -= 1
            if not self.secured:
                _lock(self.descriptors, shared=False)


_LOCK = Lock()
_files: dict[str, Held] = {}
_inherited: set[tuple[int, int]] = set()


@contextmanager
def held(path: str) -> Generator[Held]:
    """Note that this process has a file open, from before it is opened until after it is closed."""
    path = os.path.realpath(path)
    with _LOCK:
        found = _files.setdefault(path, Held(path))
        found.stores += 1
    try:
        yield found
    finally:
        with _LOCK:
            found.stores -= 1
            if not found.stores:
                del _files[path]
                _close(found)


def is_inherited(path: str) -> bool:
    """Tell whether the process that this one was forked from had a file open then."""
    return _which(path) in _inherited


def _lock(descriptors: Sequence[int], *, shared: bool) -> None:
    command: int | None = getattr(fcntl, "F_OFD_SETLK", None)
    if fcntl is None or command is None or sys.maxsize < 1 << 32:  # elsewhere the form of a request is another
        return
    kind = fcntl.F_RDLCK if shared else fcntl.F_UNLCK
    for descriptor, (start, length) in zip(descriptors, (_SHARED, _INDEX), strict=False):
        with suppress(OSError):  # a file system without them; SQLite's own are there
            fcntl.fcntl(descriptor, command, struct.pack("hhqqi0q", kind, os.SEEK_SET, start, length, 0))


def _close(found: Held) -> None:
    while found.descriptors:
        os.close(found.descriptors.pop())


def _which(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino  # no other file gets them, for this process has it open as well


def _forked() -> None:
    try:
        for found in _files.values():
            if (which := _which(found.path)) is not None:
                _inherited.add(which)
            _close(found)
        _files.clear()
    finally:
        _LOCK.release()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_forked)
