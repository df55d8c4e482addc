"""Permits and deadlines by themselves: what is held is given back, and whose cancel it was is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from lamina.effect import Alarm, Clock
from lamina.engine._deadline import Expired, within
from lamina.engine._permit import permitted
from tests.unit.engine.world import after_steps


async def hold(semaphores: list[asyncio.Semaphore], inside: list[str], gate: asyncio.Event) -> None:
    async with permitted(semaphores[0], semaphores[1:]):
        inside.append("in")
        await gate.wait()


@pytest.mark.parametrize("waits_for", [0, 1, 2])
async def test_what_is_held_is_given_back_when_waiting_for_the_next_is_cancelled(waits_for: int) -> None:
    semaphores = [asyncio.Semaphore(1) for _ in range(3)]
    await semaphores[waits_for].acquire()
    inside, gate = list[str](), asyncio.Event()
    task = asyncio.create_task(hold(semaphores, inside, gate))
    await after_steps(3)
    assert [semaphore.locked() for semaphore in semaphores] == [place <= waits_for for place in range(3)]
    task.cancel()
    await asyncio.wait({task})

    assert inside == []
    assert [semaphore.locked() for semaphore in semaphores] == [place == waits_for for place in range(3)]


@pytest.mark.parametrize("how", ["return", "cancel"])
async def test_all_are_held_inside_and_given_back_on_leaving(how: str) -> None:
    semaphores = [asyncio.Semaphore(1) for _ in range(3)]
    inside, gate = list[str](), asyncio.Event()
    task = asyncio.create_task(hold(semaphores, inside, gate))
    await after_steps(3)
    assert (inside, [semaphore.locked() for semaphore in semaphores]) == (["in"], [True] * 3)
    if how == "cancel":
        task.cancel()
    gate.set()
    await asyncio.wait({task})

    assert not any(semaphore.locked() for semaphore in semaphores)


class HandClock(Clock):
    """Rings when the test says so."""

    def __init__(self) -> None:
        self.ring: Callable[[], object] = lambda: None

    def now(self) -> datetime:
        raise NotImplementedError

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm:
        self.ring = callback
        clock = self

        class Set:
            def cancel(self) -> None:
                clock.ring = lambda: None

        return Set()


async def never() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_time_that_is_over_is_expired_and_cancels_nobody_else() -> None:
    clock = HandClock()
    task: asyncio.Task[Any] = asyncio.create_task(within(clock, 5, never))
    await after_steps(2)
    clock.ring()

    assert await task == Expired()
    assert task.cancelling() == 0


@pytest.mark.parametrize("first", ["alarm", "cancel"])
async def test_a_cancel_of_the_caller_at_the_same_moment_goes_on(first: str) -> None:
    clock = HandClock()
    task: asyncio.Task[Any] = asyncio.create_task(within(clock, 5, never))
    await after_steps(2)
    if first == "alarm":
        clock.ring()
        task.cancel()
    else:
        task.cancel()
        clock.ring()
    await asyncio.wait({task})

    assert task.cancelled()


async def test_an_answer_in_time_takes_the_alarm_back() -> None:
    clock = HandClock()

    async def answer() -> str:
        return "answer"

    assert await within(clock, 5, answer) == "answer"
    clock.ring()
    await after_steps(2)
