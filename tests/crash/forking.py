"""Processes that are forked from one that has imported everything, and killed: what they tell outlives them.

The process that forks runs no thread and no event loop, so that a fork of it is whole.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio

LONGEST = 60.0
"""Seconds after which a process that nobody meant to kill is taken to hang."""


def tell(pipe: int, what: str) -> None:
    """Say one line to whoever forked this process."""
    os.write(pipe, f"{what}\n".encode())


def die(pipe: int, where: str) -> None:
    """Kill this process where it stands."""
    tell(pipe, f"at {where}")
    os.kill(os.getpid(), signal.SIGKILL)


def fork(
    main: Callable[[int], Coroutine[Any, Any, None]], killed_after: float = LONGEST, *, lines: int = 0
) -> tuple[bool, list[str]]:
    """Run a coroutine in a process of its own, and kill it when its time is over.

    Args:
        main: Called in the process with the end of a pipe that it tells to.
        killed_after: Seconds.
        lines: How many lines it has told when the time begins; so a machine may be as slow as it likes.

    Returns:
        Whether it was killed, by itself or from here, and the lines that it told.
    """
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        try:
            anyio.run(main, into)
        except BaseException as error:
            tell(into, f"failed: {error!r}".replace("\n", " "))
        finally:
            os._exit(0)
    os.close(into)
    told = b""
    begun = lines <= 0
    end = time.monotonic() + (killed_after if begun else LONGEST)
    while True:
        ready, _, _ = select.select([out], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            end += LONGEST
            continue
        if not (chunk := os.read(out, 65536)):
            break
        told += chunk
        if not begun and told.count(b"\n") >= lines:
            begun, end = True, time.monotonic() + killed_after
    os.close(out)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, told.decode().splitlines()
