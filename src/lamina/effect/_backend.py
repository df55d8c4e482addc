"""What asyncio and trio do each in their own way: root tasks, timers, and outlasting a cancel.

The rest of the package knows anyio only. A root task has no parent: it lives on when the task that started it ends or
is cancelled, which is what lets a runtime be entered in one task and left in another.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from math import inf
from types import coroutine
from typing import Any, Protocol, TypeVar, cast

import anyio

T = TypeVar("T")

_roots: set[asyncio.Task[None]] = set()  # asyncio itself holds tasks weakly


class Timer(Protocol):
    """A call that has been set for later."""

    def cancel(self) -> None:
        """Take it back."""
        ...


def on_trio() -> bool:
    """Tell whether trio runs here; trio as a guest of asyncio counts as trio."""
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_run()


def spawn(body: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
    """Start a root task; `body` must let no exception out but cancellation."""
    if on_trio():
        import trio

        trio.lowlevel.spawn_system_task(body, name=name, context=copy_context())  # pyright: ignore[reportUnknownMemberType] - trio leaves it untyped
        return
    task = asyncio.get_running_loop().create_task(body(), name=name)
    _roots.add(task)
    task.add_done_callback(_roots.discard)


def call_later(delay: float, callback: Callable[[], object]) -> Timer:
    """Call back from the event loop after `delay` seconds."""
    if not on_trio():
        return asyncio.get_running_loop().call_later(delay, callback)
    import trio

    scope = trio.CancelScope()

    async def ring() -> None:
        with scope:
            await trio.sleep(delay)
            callback()

    trio.lowlevel.spawn_system_task(ring, name="lamina alarm", context=copy_context())  # pyright: ignore[reportUnknownMemberType] - as above
    return scope


def is_native(cancelled: BaseException) -> bool:
    """Tell a cancel of the asyncio task itself from one that an anyio scope delivers; trio has only the latter.

    A scope names itself in the message of the `CancelledError`; anyio tells its own cancels by that, too.
    """
    if not isinstance(cancelled, asyncio.CancelledError):
        return False
    message: object = cancelled.args[0] if cancelled.args else None
    return not (isinstance(message, str) and message.startswith("Cancelled via cancel scope "))


async def outlast(work: Coroutine[Any, Any, T], guard: anyio.CancelScope, seconds: float) -> T:
    """Await `work` to its end though this task is cancelled, however often; the cancel is raised afterwards.

    It stays in this task, so that work may leave what this task has entered. `guard` has been opened before that, for
    scopes must nest; its shield keeps anyio's cancels away, which is all that trio needs. A native cancel of asyncio
    passes through any shield, and is caught here. Cancels from inside the shield (a deadline, a task group) reach the
    work.

    Args:
        work: What has to be finished.
        guard: A scope that is open around it; it is shielded, and cancelled when the time is over.
        seconds: How long it may take.
    """
    guard.shield = True
    if on_trio():
        guard.deadline = anyio.current_time() + seconds
        return await work
    return await _outlast_native(work, guard, seconds)


@coroutine
def _outlast_native(work: Coroutine[Any, Any, T], guard: anyio.CancelScope, seconds: float) -> Generator[Any, Any, T]:
    """Step `work` as a task would, but let it see no native cancel.

    The deadline is a timer of the event loop, which costs more than all the rest: it is set when the work first waits.
    """
    missed: asyncio.CancelledError | None = None
    thrown: BaseException | None = None
    try:
        while True:
            waits_for: asyncio.Future[Any] | None = work.send(None) if thrown is None else work.throw(thrown)
            thrown = None
            if guard.deadline == inf:
                guard.deadline = anyio.current_time() + seconds
            while True:
                try:
                    yield from _until_done(waits_for)
                except asyncio.CancelledError as cancelled:
                    if is_native(cancelled):
                        missed = cancelled
                        if waits_for is not None:
                            continue
                    elif waits_for is None or not waits_for.cancel(*cancelled.args):
                        thrown = cancelled
                    else:
                        continue
                break
    except StopIteration as end:
        if missed is not None:
            raise missed from None
        return cast("T", end.value)
    finally:
        work.close()


def _until_done(future: asyncio.Future[Any] | None) -> Generator[Any, Any, None]:
    """Wait for a future without letting this task's cancel reach it; `None` is one turn of the loop."""
    if future is None:
        yield
        return
    future._asyncio_future_blocking = False  # taken over from the task, which never sees this future
    proxy = future.get_loop().create_future()

    def wake(_: object) -> None:
        if not proxy.done():
            proxy.set_result(None)

    future.add_done_callback(wake)
    try:
        yield from proxy
    finally:
        future.remove_done_callback(wake)
