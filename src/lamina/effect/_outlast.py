"""Finishing what has to be finished, in the task that has begun it, however often that task is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar, cast

import anyio

from lamina.effect import _backend

T = TypeVar("T")

GRACE = 1.0
"""Seconds that are given, after the time is over, to what ignores its cancel, and to what could not begin before."""


async def outlast(work: Coroutine[Any, Any, T], guard: anyio.CancelScope, seconds: float) -> T:
    """Await `work` to its end though this task is cancelled; the cancel is raised afterwards.

    It stays in this task, so that work may leave what this task has entered. `guard` has been opened before that, for
    scopes must nest; its shield keeps anyio's cancels away, which is all that trio needs. A native cancel of asyncio
    passes through any shield, and is caught here. Cancels from inside the shield (a deadline, a task group) reach the
    work.

    Args:
        work: What has to be finished.
        guard: A scope that is open around it; it is shielded, and cancelled when the time is over.
        seconds: How long it may take.

    Raises:
        TimeoutError: It took longer, and was cancelled.
    """
    guard.shield = True
    guard.deadline = anyio.current_time() + seconds
    try:
        return await (work if _backend.on_trio() else without_native_cancels(work))
    except anyio.get_cancelled_exc_class() as cancelled:
        if guard.cancel_called and not _backend.is_native(cancelled):
            raise overdue(seconds) from None
        raise


def overdue(seconds: float) -> TimeoutError:
    """Say that work was cancelled because its time was over."""
    return TimeoutError(f"what had to be finished was not, within {seconds:g} s")


@coroutine
def without_native_cancels(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Step `work` as an asyncio task would, but let it see no native cancel of the task."""
    try:
        waits_for = work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    return (yield from go_on(work, waits_for, _nothing))


def go_on(
    work: Coroutine[Any, Any, T], waits_for: asyncio.Future[Any] | None, before_wait: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Step work that has been begun.

    Args:
        work: What has to be finished.
        waits_for: What it waits for now; `None` is one turn of the loop.
        before_wait: Called each time before the work waits for something.
    """
    missed: asyncio.CancelledError | None = None
    thrown: BaseException | None = None
    try:
        while True:
            while True:
                try:
                    yield from _until_done(waits_for)
                except asyncio.CancelledError as cancelled:
                    if _backend.is_native(cancelled):
                        missed = cancelled
                        if waits_for is not None:
                            continue
                    elif waits_for is None or not waits_for.cancel(*cancelled.args):
                        thrown = cancelled
                    else:
                        continue
                break
            waits_for = work.send(None) if thrown is None else work.throw(thrown)
            thrown = None
            before_wait()
    except StopIteration as end:
        if missed is not None:
            raise missed from None
        return cast("T", end.value)
    except asyncio.CancelledError as cancelled:
        # anyio lets its own cancels out of a scope in which the task was cancelled natively, too.
        raise missed or cancelled from None
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


def _nothing() -> None: ...
