from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import anyio
import pytest

from lamina.effect import SystemClock
from lamina.testing._clock import VirtualClock


async def test_the_system_clock_sleeps_and_rings() -> None:
    clock, rung = SystemClock(), anyio.Event()
    began = clock.monotonic()
    cancelled: list[int] = []
    clock.alarm(began, lambda: cancelled.append(1)).cancel()
    clock.alarm(began + 0.01, rung.set)
    with anyio.fail_after(5):
        await rung.wait()
        await clock.sleep(0.001)
        await clock.sleep(-1)
    assert clock.monotonic() - began >= 0.01
    assert cancelled == []
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)


async def test_virtual_time_stands_still_until_it_is_advanced() -> None:
    clock = VirtualClock(datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now() == datetime(2030, 1, 1, tzinfo=UTC)
    await clock.advance(90)
    assert clock.monotonic() == 90
    assert clock.now() == datetime(2030, 1, 1, 0, 1, 30, tzinfo=UTC)
    with pytest.raises(ValueError, match="forwards"):
        await clock.advance(-1)


async def test_fires_sleeps_and_alarms_in_order_of_time_then_of_setting() -> None:
    clock, seen = VirtualClock(), list[Any]()

    async def sleeper(name: str, *waits: float) -> None:
        for wait in waits:
            await clock.sleep(wait)
            seen.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        group.start_soon(sleeper, "a", 3.0, 3.0)
        await clock.advance(0)
        group.start_soon(sleeper, "b", 1.0, 2.0, 2.0)
        await clock.advance(0)
        clock.alarm(3.0, lambda: seen.append(("alarm", clock.monotonic())))
        await clock.advance(5)
        assert seen == [("b", 1), ("a", 3), ("alarm", 3), ("b", 3), ("b", 5)]
        assert clock.pending == 1
        await clock.advance(1)
        assert seen[-1] == ("a", 6)


async def test_what_woken_tasks_set_within_the_time_is_fired_too() -> None:
    clock, seen = VirtualClock(), list[float]()

    async def ticks() -> None:
        while clock.monotonic() < 10:
            await clock.sleep(1)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            seen.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(ticks)
        await clock.advance(100)
    assert seen == [float(at) for at in range(1, 11)]


async def test_cancelled_alarms_and_sleeps_do_not_fire() -> None:
    clock, seen = VirtualClock(), list[int]()
    clock.alarm(1, lambda: seen.append(1)).cancel()
    with anyio.move_on_after(0):
        await clock.sleep(1)
    assert clock.pending == 0
    await clock.advance(2)
    clock.alarm(1, lambda: seen.append(2))
    assert seen == []
    await clock.advance(0)
    assert seen == [2]
    assert clock.monotonic() == 2
    await clock.sleep(0)
