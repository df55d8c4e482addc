"""How threads and the event loop meet: posting a call into the loop, and waiting there at little cost."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias

import anyio
from anyio.lowlevel import current_token

Post: TypeAlias = Callable[..., object]
"""`post(call, *arguments)` has the loop make a call soon; from any thread."""


class Waiter(Protocol):
    """What one task awaits, and another call in the loop ends, once; it is as much of a future as is needed."""

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until it has its result."""
        ...

    def done(self) -> bool:
        """Whether nobody has to be told any more."""
        ...

    def set_result(self, result: None, /) -> None:
        """Let who waits go on."""
        ...


class Loop:
    """The event loop that it is made in, asyncio's or trio's.

    Attributes:
        post: Calls into it from any thread. anyio's own way makes the thread wait for the loop, for which the writer
            has no time.
        soon: Calls from it itself, once everything that is ready has had its turn.
        waiter: Makes a `Waiter`. asyncio's futures do what anyio's events do, at a fifth of the cost, and there is one
            for each write. A cancel of the task that waits ends it.
    """

    def __init__(self) -> None:
        token: Any = current_token().native_token  # Any: asyncio's loop, or trio's token
        self._post: Post = getattr(token, "call_soon_threadsafe", None) or token.run_sync_soon
        self.soon: Post = getattr(token, "call_soon", None) or token.run_sync_soon
        self.waiter: Callable[[], Waiter] = getattr(token, "create_future", None) or _Event

    def post(self, call: Callable[..., object], *arguments: object) -> None:
        """Have the loop make a call soon; where it has ended, so has everybody who could have waited."""
        try:
            self._post(call, *arguments)
        except RuntimeError:
            return


class _Event:
    """The same where there are no futures."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = anyio.Event()

    def __await__(self) -> Generator[Any, None, None]:
        return self._event.wait().__await__()

    def done(self) -> bool:
        return self._event.is_set()

    def set_result(self, result: None, /) -> None:
        self._event.set()
