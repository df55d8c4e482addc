"""Steering in memory: what it keeps is bounded, and its limit is one."""

from __future__ import annotations

from typing import Any

import pytest
from returns.result import Failure

from lamina.effect import ConstructionError
from lamina.steering import MemorySteering, SteeringClosed, memory_steering, stored_steering


async def test_of_runs_that_have_ended_only_the_latest_are_known() -> None:
    steering = MemorySteering()
    for number in range(300):
        run = f"run-{number}"
        (await steering.open(run, conversation=f"c-{number}")).unwrap()
        (await steering.submit(run, "x", id="x")).unwrap()
        (await steering.end(run)).unwrap()
    assert len(steering._queues) == len(steering._idle) == len(steering._by_id) == len(steering._holders) == 256
    assert (await steering.commands("run-43")).unwrap() == ()
    assert len((await steering.commands("run-44")).unwrap()) == 1


async def test_texts_of_runs_that_have_ended_are_bounded() -> None:
    steering, text = MemorySteering(), "x" * 65_536
    for number in range(10):
        run = f"run-{number}"
        (await steering.open(run)).unwrap()
        for at in range(64):
            (await steering.submit(run, text, id=f"c{at}")).unwrap()
        (await steering.end(run)).unwrap()
    assert list(steering._queues) == [f"run-{number}" for number in range(6, 10)]


async def test_an_active_run_is_never_forgotten() -> None:
    steering = MemorySteering()
    (await steering.open("long", conversation="c")).unwrap()
    (await steering.submit("long", "x", id="x")).unwrap()
    for number in range(300):
        (await steering.open(f"run-{number}")).unwrap()
        (await steering.close(f"run-{number}")).unwrap()
    assert [placed.state for placed in (await steering.commands("long")).unwrap()] == ["queued"]
    assert (await steering.find("c", "x")).unwrap() is not None


async def test_of_what_is_not_there_nothing_is_told() -> None:
    steering = MemorySteering()
    assert (await steering.waiting("r", "steering", 1)).unwrap() == ()
    assert (await steering.delivered("r", ())).unwrap() is None
    assert (await steering.end("r")).unwrap() == ()
    for answer in (await steering.pause("r"), await steering.close("r")):
        assert isinstance(answer, Failure)
        assert answer.failure() == SteeringClosed("r", "ended")


@pytest.mark.parametrize("make", [memory_steering, stored_steering])
@pytest.mark.parametrize("limit", [0, -1, 1_025, True, 2.5, "8"])
def test_a_limit_is_a_number_of_commands(make: Any, limit: Any) -> None:
    with pytest.raises(ConstructionError, match="limit is a whole number from 1 to 1,024"):
        make(limit=limit)
    make(limit=1)
    make(limit=1_024)
