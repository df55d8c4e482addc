"""A deadline on one wait, by the runtime's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import attrs

from lamina.effect import Clock, Value, log

T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class Expired(Value):
    """The time was over first."""


async def within(clock: Clock, seconds: float | None, begin: Callable[[], Awaitable[T]]) -> T | Expired:
    """Wait at most so many seconds; what was begun is cancelled at the end, and has ended before this returns.

    Args:
        clock: Whose seconds.
        seconds: None waits as long as it takes, and costs nothing.
        begin: Begins what is waited for; it runs as a task of its own where there is a deadline.
    """
    if seconds is None:
        return await begin()

    async def run() -> T:
        return await begin()

    caller = asyncio.current_task()
    asked_before = caller.cancelling() if caller else 0
    task = asyncio.create_task(run())
    over: list[bool] = []

    def end() -> None:
        over.append(True)
        task.cancel()

    alarm = clock.alarm(clock.monotonic() + seconds, end)
    try:
        answer = await task
    except asyncio.CancelledError:
        if over and (caller is None or caller.cancelling() <= asked_before):
            return Expired()
        raise
    except Exception:
        if not over:
            raise
        log().exception("what was waited for broke when its time was over")
    else:
        if not over:
            return answer
    finally:
        alarm.cancel()
    return Expired()
