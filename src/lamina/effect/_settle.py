"""Settlement: what has to be finished though its caller is cancelled, such as recording an outcome (design §2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from lamina.effect import _backend
from lamina.effect._outlast import GRACE, outlast, overdue

T = TypeVar("T")


class Settlements:
    """Runs settlements in root tasks, and knows when none is left."""

    def __init__(self) -> None:
        self._running = 0
        self._idle = anyio.Event()
        self._patient: set[anyio.CancelScope] = set()

    async def settle(self, work: Callable[[], Awaitable[T]], seconds: float, *, patient: bool = False) -> T:
        """Run `work` in a task of its own and wait for it, however often the caller is cancelled.

        Args:
            work: Makes the awaitable.
            seconds: How long it may take; then it is cancelled.
            patient: Whether that counts from the caller's cancel only: until then it may take as long as it takes.

        Raises:
            TimeoutError: It did not end in time.
        """
        done = anyio.Event()
        values: list[T] = []
        errors: list[BaseException] = []
        limit = anyio.CancelScope()

        async def body() -> None:
            try:
                if not patient:
                    limit.deadline = anyio.current_time() + seconds
                with limit:
                    values.append(await work())
                if limit.cancelled_caught:
                    raise overdue(seconds)
            except BaseException as error:
                errors.append(error)
            finally:
                ended()

        def ended() -> None:
            self._patient.discard(limit)
            self._running -= 1
            if not self._running:
                self._idle.set()
                self._idle = anyio.Event()
            done.set()

        def unbegun() -> None:
            errors.append(RuntimeError("what had to be finished was cancelled before it began"))
            ended()

        self._running += 1  # before the task runs: a close that comes now has to see it
        if patient:
            self._patient.add(limit)
        _backend.spawn(body, "lamina settlement", unbegun)
        try:
            if patient:
                await self._until_cancelled(done, limit, seconds, errors)
            else:
                with anyio.CancelScope() as guard:
                    await outlast(done.wait(), guard, seconds + GRACE)
        finally:
            if errors:
                raise errors[0]
        await checkpoint_if_cancelled()
        return values[0]

    async def _until_cancelled(
        self, done: anyio.Event, limit: anyio.CancelScope, seconds: float, errors: list[BaseException]
    ) -> None:
        try:
            await done.wait()
        except BaseException:
            limit.deadline = min(limit.deadline, anyio.current_time() + seconds)
            with anyio.CancelScope() as guard:
                await outlast(done.wait(), guard, seconds + GRACE)
            if errors and isinstance(errors[0], TimeoutError):  # the caller is cancelled, and that is what it is told
                errors.clear()
            raise

    def hurry(self, deadline: float) -> None:
        """Give those that take as long as they take no longer than until then."""
        for limit in self._patient:
            limit.deadline = min(limit.deadline, deadline)

    async def wait_idle(self) -> None:
        """Wait until no settlement is left."""
        while self._running:
            await self._idle.wait()
