"""What a session stands on: a process, or a client of HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class Transport(ABC):
    """The way to a server, for one session.

    Attributes:
        lost: Set when it leads nowhere any more.
        why: Why that is, in a few words.
        broken: How many answers of HTTP had a status of 500 or more: the server may have done something before.
        refused: The last status of 400 to 499; 0 where there was none.
    """

    def __init__(self) -> None:
        self.lost = anyio.Event()
        self.why = "its connection was closed"
        self.broken = 0
        self.refused = 0

    @abstractmethod
    def open(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Open it, and give the streams of messages; they are closed, and it is, on every exit."""

    def lose(self, why: str) -> None:
        """Say once why it leads nowhere any more."""
        if not self.lost.is_set():
            self.why = why
            self.lost.set()
