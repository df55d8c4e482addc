"""What asyncio and trio do each in their own way: root tasks, timers, and telling cancels apart.

The rest of the package knows anyio only. A root task has no parent: it lives on when the task that started it ends or
is cancelled, which is what lets a runtime be entered in one task and left in another.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Protocol

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


def spawn(body: Callable[[], Coroutine[Any, Any, None]], name: str, unbegun: Callable[[], None]) -> None:
    """Start a root task; `body` must let no exception out but cancellation.

    Args:
        body: What the task does.
        name: What the task is called.
        unbegun: Called instead, where asyncio's task is cancelled before its first step, as by a loop that shuts
            down: nothing of `body` runs then, not even its `finally`.
    """
    if on_trio():
        import trio

        trio.lowlevel.spawn_system_task(body, name=name, context=copy_context())  # pyright: ignore[reportUnknownMemberType] - trio leaves it untyped
        return
    begun = False

    async def run() -> None:
        nonlocal begun
        begun = True
        await body()

    def ended(task: asyncio.Task[None]) -> None:
        _roots.discard(task)
        if not begun:
            unbegun()

    task = asyncio.get_running_loop().create_task(run(), name=name)
    _roots.add(task)
    task.add_done_callback(ended)


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


def is_cancelled() -> bool:
    """Tell whether it is the task that runs now that was cancelled, and not something that it waited for.

    When to use: where a cancel was caught. A task that waits for another one which is cancelled is thrown the same
    exception, and nobody meant it. Trio knows no such thing: there, a cancel is always one's own.

    Example:
        >>> import anyio
        >>> async def main() -> bool:
        ...     return is_cancelled()
        >>> anyio.run(main)
        False
    """
    if on_trio():
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def is_a_raise(error: BaseException) -> bool:
    """Tell whether an error of a plain function is the function's own, to be contained where it was called.

    When to use: around an application's function that is no coroutine. Nobody can cancel one, so that a cancel which
    comes out of it is something of its own, a future's perhaps, and must not cut off whoever called it.

    Example:
        >>> import asyncio
        >>> is_a_raise(ValueError()), is_a_raise(asyncio.CancelledError()), is_a_raise(KeyboardInterrupt())
        (True, True, False)
    """
    return isinstance(error, Exception | asyncio.CancelledError)
