"""Ctrl-C: what the first, the second and the third one do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Generator
from typing import TYPE_CHECKING, Any

from lamina.cli._exits import INTERRUPTED

if TYPE_CHECKING:
    from lamina.engine import RunHandle


class Interrupts:
    """What Ctrl-C does: the first ends the run, the second says that it is ending, the third gives up waiting."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.count = 0
        self.run: RunHandle[Any] | None = None
        self._task = task

    def __call__(self) -> None:
        self.count += 1
        if self.count == 1:
            if self.run is None:
                self._task.cancel()
            else:
                self.run.interrupt()
        elif self.count == 2:
            print("\nEvery call gets its outcome first; Ctrl-C again ends without.", file=sys.stderr)
        else:
            os._exit(INTERRUPTED)


@contextlib.contextmanager
def listening() -> Generator[Interrupts]:
    """Hear Ctrl-C at once.

    asyncio's own handler does not wake a loop that is just about to wait: such a Ctrl-C is heard when something else
    happens, which may be a minute later.
    """
    task = asyncio.current_task()
    assert task is not None
    interrupts, loop = Interrupts(task), asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, interrupts)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread: asyncio's own way
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def interruptible(work: Awaitable[int]) -> int:
    """Do something that Ctrl-C cancels.

    Raises:
        KeyboardInterrupt: It did.
    """
    with listening() as interrupts:
        try:
            return await work
        except asyncio.CancelledError:
            if interrupts.count:
                raise KeyboardInterrupt from None
            raise
