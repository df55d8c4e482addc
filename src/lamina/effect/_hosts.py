"""The tasks in which app resources live: each is entered, held and left in one task that nobody else can end.

Laws that hold here, each of which breaks something when it does not:

1. A resource that owns a task group has to be entered and left in one task.
2. The scope that shields its release has to be opened before the resource is entered, for scopes nest.
3. What is made of a resource is released before it.
4. Nothing but cancellation leaves a host: on trio an error would end the whole run.
"""

from __future__ import annotations

from math import inf
from typing import Any

import anyio
from returns.result import Failure, Result

from lamina.effect import _backend
from lamina.effect._cells import Broken, Cell, Cells, Failed, Up
from lamina.effect._clock import Clock
from lamina.effect._gate import Gate
from lamina.effect._graph import Made
from lamina.effect._outlast import GRACE, outlast
from lamina.effect._resource import Held, enter, finish, throw
from lamina.effect._tree import Leaf


class Hosts:
    """Runs a task for each leaf that has to be awaited, and one for each settlement.

    Attributes:
        cells: What the tasks bring up.
        errors: What went wrong in a release, or in a resource that died while it was held.
        progress: Set whenever a cell is settled, and replaced.
    """

    def __init__(self, gate: Gate, close_timeout: float) -> None:
        self.cells = Cells(self._spawn)
        self.errors: list[BaseException] = []
        self.progress = anyio.Event()
        self._gate = gate
        self._close_timeout = close_timeout
        self._stop = anyio.Event()
        self._deadline: float | None = None
        self._acquiring: set[anyio.CancelScope] = set()
        self._alive = 0
        self._idle = anyio.Event()

    def stop(self, deadline: float | None = None) -> None:
        """Let every host release what it holds, in reverse order; what is still coming up is cancelled.

        Args:
            deadline: When releases are cancelled, on anyio's clock; by default the whole timeout from now.
        """
        if self._deadline is None:
            self._deadline = anyio.current_time() + self._close_timeout if deadline is None else deadline
        self._stop.set()
        for scope in list(self._acquiring):
            scope.cancel()

    async def wait_idle(self) -> None:
        """Wait until no host is left."""
        while self._alive:
            await self._idle.wait()

    def _spawn(self, cell: Cell, node: Made) -> None:
        cell.closed = anyio.Event()
        self._alive += 1
        if self._idle.is_set():
            self._idle = anyio.Event()

        def ended() -> None:
            if cell.outcome is None:  # cancelled before it began
                self._settle(cell, Broken(RuntimeError(f"{node.leaf} was cancelled while it came up")))
            assert cell.closed is not None
            cell.closed.set()
            self._alive -= 1
            if not self._alive:
                self._idle.set()

        async def host() -> None:
            try:
                await self._host(cell, node)
            finally:
                ended()

        _backend.spawn(host, f"lamina {node.leaf}", ended)

    def _settle(self, cell: Cell, outcome: Up | Failed | Broken) -> None:
        self.cells.settle(cell, outcome)
        self.progress.set()
        self.progress = anyio.Event()

    async def _host(self, cell: Cell, node: Made) -> None:
        """Bring one leaf up, and hold it if it is a resource.

        `abort` ends what is still coming up. What did come up is not to be touched by that any more, though the cancel
        may already be on its way: the shield of `guard`, which lies within, keeps it off.
        """
        with anyio.CancelScope() as abort, anyio.CancelScope() as guard:
            if self._stop.is_set():
                return
            self._acquiring.add(abort)
            held: Held | None = None
            outcome: Up | Failed
            try:
                if node.leaf.kind == "scope":
                    held = (node.leaf, node.leaf.make(*cell.values()))
                    outcome = Up(await enter(held))
                else:
                    outcome, held = await _awaited(node.leaf, cell.values())
            except anyio.get_cancelled_exc_class() as cancelled:
                self._settle(cell, Broken(cancelled))
                raise
            except BaseException as raised:
                self._settle(cell, Broken(raised))
                return
            finally:
                self._acquiring.discard(abort)
            guard.shield = self._stop.is_set()
            self._settle(cell, outcome)
            if held is None:
                return
            error = await self._hold(cell, held, guard)
            if not isinstance(error, anyio.get_cancelled_exc_class()):
                self.errors.extend([error] if error is not None else [])
            elif guard.cancel_called:
                self.errors.append(TimeoutError(f"{held[0]} was not released within {self._close_timeout:g} s"))

    async def _hold(self, cell: Cell, held: Held, guard: anyio.CancelScope) -> BaseException | None:
        """Hold a resource until all is over, and leave it; give what went wrong."""
        try:
            await self._stop.wait()
        except anyio.get_cancelled_exc_class() as cancelled:
            if not self._stop.is_set() and not _backend.is_native(cancelled):
                return await self._died(held, cancelled, guard)
            self.stop()  # the event loop is being shut down
        return await outlast(self._leave_after_users(cell, held, guard), guard, inf)

    async def _died(self, held: Held, cancelled: BaseException, guard: anyio.CancelScope) -> BaseException:
        """Leave a resource whose own task group, or scope, has given up.

        That scope is cancelled, so nothing can be waited for in it: leave at once. On trio the end of the whole run
        looks the same; then the cancel comes out again, and goes on.
        """
        leaf = held[0]
        self._gate.close(f"{leaf} has died, so nothing can run any more  {leaf.where}")
        came_out = await outlast(throw(held, cancelled), guard, self._close_timeout)
        if came_out is cancelled:
            raise cancelled
        error = came_out or _ended_in_use(held)
        self._gate.blame(error)
        return error

    async def _leave_after_users(self, cell: Cell, held: Held, guard: anyio.CancelScope) -> BaseException | None:
        """Leave a resource when all that was made of it has been; each of those has its own deadline.

        Where they have used up the time, there is a little left for this one. The shield lets in no cancel but that of
        the resource's own scope: then nothing can be waited for in it any more, and it is left before its users.
        """
        died: BaseException | None = None
        try:
            await _all_closed(cell)
        except anyio.get_cancelled_exc_class() as cancelled:
            died = cancelled
        assert self._deadline is not None
        guard.deadline = max(self._deadline, anyio.current_time() + min(GRACE, self._close_timeout))
        return await finish(held) if died is None else await throw(held, died) or _ended_in_use(held)


async def _all_closed(cell: Cell) -> None:
    """Wait for all that was made of a cell, and of that."""
    waiting, seen = list(cell.users), set[int]()
    while waiting:
        user = waiting.pop()
        if id(user) in seen:
            continue
        seen.add(id(user))
        waiting.extend(user.users)
        if user.closed is not None:
            await user.closed.wait()


def _ended_in_use(held: Held) -> RuntimeError:
    return RuntimeError(f"{held[0]} ended while it was in use  {held[0].where}")


async def _awaited(leaf: Leaf, values: list[Any]) -> tuple[Up | Failed, Held | None]:  # Any: services
    """Await a leaf, as often as it may be tried; give what came of it, and what has to be left afterwards."""
    if leaf.kind == "await":
        return Up(await leaf.make(*values)), None
    clock: Clock | None = values.pop() if leaf.retry is not None else None
    attempt = 0
    while True:
        result, held = await _tried(leaf, values)
        if not isinstance(result, Failure):
            return Up(result.unwrap()), held
        if leaf.retry is None or clock is None or attempt == leaf.retry.times:
            return Failed(result.failure()), None
        await clock.sleep(leaf.retry.wait_before(attempt))
        attempt += 1


async def _tried(leaf: Leaf, values: list[Any]) -> tuple[Result[Any, Any], Held | None]:  # Any: as above
    """Try once; a resource that answered a failure has been left."""
    if leaf.kind == "attempt":
        return await leaf.make(*values), None
    held: Held = (leaf, leaf.make(*values))
    result: Result[Any, Any] = await enter(held)
    if isinstance(result, Failure) and (error := await finish(held)) is not None:
        raise error
    return result, held
