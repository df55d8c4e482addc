"""How threads and the event loop meet: posting a call into the loop, and waiting there at little cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import anyio
from anyio.lowlevel import current_token

Post: TypeAlias = Callable[..., object]
"""`post(call, *arguments)` has the loop make a call soon; from any thread."""


class Waiter(Protocol):
    """What one task waits for, and another call in the loop sets, once."""

    def wait(self) -> Awaitable[None]:
        """Wait until it is set."""
        ...

    def set(self) -> None:
        """Let who waits go on."""
        ...


class Loop:
    """The event loop that it is made in, asyncio's or trio's.

    Attributes:
        post: Calls into it from any thread. anyio's own way makes the thread wait for the loop, for which the writer
            has no time.
        soon: Calls from it itself, once everything that is ready has had its turn.
        waiter: Makes a `Waiter`. asyncio's futures do what anyio's events do, at a fifth of the cost, and there is one
            for each write.
    """

    def __init__(self) -> None:
        token: Any = current_token().native_token  # Any: asyncio's loop, or trio's token
        self._post: Post = getattr(token, "call_soon_threadsafe", None) or token.run_sync_soon
        self.soon: Post = getattr(token, "call_soon", None) or token.run_sync_soon
        create: Callable[[], Any] | None = getattr(token, "create_future", None)
        self.waiter: Callable[[], Waiter] = anyio.Event if create is None else lambda: _Future(create())

    def post(self, call: Callable[..., object], *arguments: object) -> None:
        """Have the loop make a call soon; where it has ended, so has everybody who could have waited."""
        try:
            self._post(call, *arguments)
        except RuntimeError:
            return


class _Future:
    """A future of asyncio's as a waiter; a cancel of the task that waits ends it."""

    __slots__ = ("_future",)

    def __init__(self, future: Any) -> None:  # Any: nothing down here names asyncio
        self._future = future

    def wait(self) -> Awaitable[None]:
        return self._future  # type: ignore[no-any-return]  # as above

    def set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)
