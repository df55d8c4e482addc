"""The database files that this process has open: kept from others as long as that is so, and from forked children.

In write-ahead mode a connection shares a lock on its file from its beginning to its end; whoever gets that lock for
itself takes itself for the last one, folds the log into the file, and removes the log. POSIX gives this lock up as soon
as the process closes any descriptor of the file: an agent's tool that reads the store's file is enough, and then the
next command in another terminal removes the log under this process, whose commits are lost, or damage the file. So the
same bytes are locked once more, by locks that belong to an open file and not to a process (Linux). What a transaction
locks is in the index of the log, where it is lost in the same way; so whoever writes has a lock of ours, too.

A fork copies SQLite's notes of the locks that its process has, and not the locks. What opens such a file in the child
believes in locks that nobody holds, so it is refused there; no connection can undo that.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Literal

import attrs

try:
    import fcntl
except ImportError:  # Windows, whose locks belong to the open file anyhow
    fcntl = None  # type: ignore[assignment]  # a module, or none

# SQLite's file format: the bytes of the database that a connection shares, and the one of the log's index.
_SHARED = (0x40000002, 510)
_INDEX = (128, 1)
# The one that stands for whoever writes, which SQLite does not use in write-ahead mode.
_WRITER = (0x40000001, 1)
_LONGEST_PAUSE = 0.025


@attrs.define(eq=False)
class Held:
    """A file that is open here.

    Attributes:
        stores: How many stores have it open, or are about to.
        secured: How many of them have it locked.
        writing: Whether one of them writes.
        descriptors: By what it is locked. To close one while there is a connection would cost that its own lock.
    """

    path: str
    stores: int = 0
    secured: int = 0
    writing: bool = False
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
                        self.descriptors.append(os.open(each, os.O_RDWR | os.O_CLOEXEC))
            for descriptor, where in zip(self.descriptors, (_SHARED, _INDEX), strict=False):
                _lock(descriptor, where, "share")

    def release(self) -> None:
        """Let go of it, directly before the connection is closed, which folds the log in if it is the last."""
        with _LOCK:
            self.secured -= 1
            if not self.secured:
                for descriptor, where in zip(self.descriptors, (_SHARED, _INDEX), strict=False):
                    _lock(descriptor, where, "free")

    def begin_writing(self, patience: float) -> bool:
        """Be the one who writes, of all stores in all processes; False where that was another for so many seconds."""
        end, pause = time.monotonic() + patience, 0.001
        while not self._is_free():
            if time.monotonic() >= end:
                return False
            time.sleep(pause)  # as SQLite waits for its own
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def end_writing(self) -> None:
        """Let others write."""
        with _LOCK:
            self.writing = False
            if self.descriptors:
                _lock(self.descriptors[0], _WRITER, "free")

    def _is_free(self) -> bool:
        with _LOCK:
            if self.writing or (self.descriptors and not _lock(self.descriptors[0], _WRITER, "own")):
                return False
            self.writing = True
            return True


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


def _lock(descriptor: int, where: tuple[int, int], how: Literal["share", "own", "free"]) -> bool:
    """Lock or free bytes; False where another has them. Where there are no such locks, SQLite's own have to do."""
    command: int | None = getattr(fcntl, "F_OFD_SETLK", None)
    if fcntl is None or command is None or sys.maxsize < 1 << 32:  # elsewhere the form of a request is another
        return True
    kind = {"share": fcntl.F_RDLCK, "own": fcntl.F_WRLCK, "free": fcntl.F_UNLCK}[how]
    try:
        fcntl.fcntl(descriptor, command, struct.pack("hhqqi0q", kind, os.SEEK_SET, *where, 0))
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


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
