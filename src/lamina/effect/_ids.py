"""Identifiers as a service, so that a test can foresee them."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod


class Ids(ABC):
    """The service that names new things: runs, conversations, submissions."""

    __slots__ = ()

    @abstractmethod
    def new(self, kind: str) -> str:
        """Give an identifier that no one has had; it begins with `kind` and a dash."""


class SystemIds(Ids):
    """Identifiers that sort by the time they were made: 48 bits of milliseconds and 80 that follow on (as in UUID 7).

    Within one process each is greater than the one before, also within a millisecond and when the clock is set back.

    Example:
        >>> ids = SystemIds()
        >>> first, second = ids.new("run"), ids.new("run")
        >>> first < second, first.startswith("run-"), len(first)
        (True, True, 36)
    """

    __slots__ = ("_last", "_lock")

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def new(self, kind: str) -> str:
        """Give `kind-` and 32 hexadecimal digits."""
        made = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10))
        with self._lock:
            # Rising by a random step keeps the order, and leaves the next one hard to guess.
            made = made if made >> 80 > self._last >> 80 else self._last + 1 + int.from_bytes(os.urandom(8))
            self._last = made
        return f"{kind}-{made:032x}"
