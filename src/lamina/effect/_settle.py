"""Settlement: what has to be finished though its caller is cancelled, such as recording an outcome (design §2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from lamina.effect import _backend
from lamina.effect._outlast import GRACE, outlast

T = TypeVar("T")


class Settlements:
    """Runs settlements in root tasks, and knows when none is left."""

    def __init__(self) -> None:
        self._running = 0
        self._idle = anyio.Event()

    async def settle(self, work: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Run `work` in a task of its own and wait for it, however often the caller is cancelled.

        Args:
            work: Makes the awaitable.
            seconds: How long it may take; then it is cancelled.

        Raises:
            TimeoutError: It did not end in time.
        """
        done = anyio.Event()
        values: list[T] = []
        errors: list[BaseException] = []

        async def body() -> None:
            try:
                with anyio.fail_after(seconds):
                    values.append(await work())
            except BaseException as error:
                errors.append(error)
            finally:
                self._running -= 1
                if not self._running:
                    self._idle.set()
                    self._idle = anyio.Event()
                done.set()

        self._running += 1  # before the task runs: a close that comes now has to see it
        _backend.spawn(body, "lamina settlement")
        try:
            with anyio.CancelScope() as guard:
                await outlast(done.wait(), guard, seconds + GRACE)
        finally:
            if errors:
                raise errors[0]
        await checkpoint_if_cancelled()
        return values[0]

    async def wait_idle(self) -> None:
        """Wait until no settlement is left."""
        while self._running:
            await self._idle.wait()
