"""Standard input and output, kept for what a command itself reads and prints."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from types import TracebackType
from typing import Self

from lamina.cli._exits import UsageError


class Kept:
    """Keeps standard input and output from everybody, down to the descriptors and for processes that are started.

    Meanwhile descriptor 0 is empty, and 1 is standard error: what a module prints when it is imported, a layer when it
    opens, or anything when it closes is not taken for an answer of the protocol.

    Raises:
        UsageError: On entering: one of them is closed.
    """

    def __init__(self) -> None:
        self._saved: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._give_back()

    @contextlib.contextmanager
    def lent(self) -> Generator[None]:
        """Give them back for a while, to whoever speaks the protocol."""
        self._give_back()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        _flush()
        try:
            saved = os.dup(0), os.dup(1)
            empty = os.open(os.devnull, os.O_RDONLY)
            os.dup2(empty, 0)
            os.close(empty)
            os.dup2(2, 1)
        except OSError:
            raise UsageError("Standard input or output is closed; the protocol is spoken over them.") from None
        self._saved = saved

    def _give_back(self) -> None:
        if self._saved is None:
            return
        _flush()  # what was printed belongs to where 1 points now
        saved, self._saved = self._saved, None
        for descriptor, home in zip(saved, (0, 1), strict=True):
            os.dup2(descriptor, home)
            os.close(descriptor)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
