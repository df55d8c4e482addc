"""The suite for steering finds what breaks its port, and names the case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import bind
from lamina.steering import Command, MemorySteering, Receipt, Steering, SteeringError
from lamina.testing import ConformanceError, check_steering


class ClosesAlways(MemorySteering):
    async def close(self, run: str) -> Result[bool, SteeringError]:
        await self.end(run)
        return Success(True)


class LosesAtTheEnd(MemorySteering):
    async def end(self, run: str, delivered: Sequence[Command] = ()) -> Result[tuple[Command, ...], SteeringError]:
        return Success((await super().end(run, delivered)).unwrap()[:0])


class TakesTheNewest(MemorySteering):
    async def waiting(self, run: str, kind: Any, limit: int) -> Result[tuple[Command, ...], SteeringError]:
        return Success((await super().waiting(run, kind, 99)).unwrap()[::-1][:limit])


class WaitsFirst(MemorySteering):
    """Looks whether it may admit, waits, and admits whatever has become true."""

    async def submit(self, run: str, text: str, **options: Any) -> Result[Receipt, SteeringError]:
        queue = self._queues.get(run)
        was = None if queue is None else queue.state
        await anyio.lowlevel.checkpoint()
        if queue is not None and was == "open":
            queue.state = "open"
        return await super().submit(run, text, **options)


class NoIdentity(MemorySteering):
    async def submit(self, run: str, text: str, **options: Any) -> Result[Receipt, SteeringError]:
        self._by_id.clear()
        return await super().submit(run, text, **options)


class Everybodys(MemorySteering):
    async def submit(self, run: str, text: str, **options: Any) -> Result[Receipt, SteeringError]:
        queue = self._queues.get(run)
        options["principal"] = None if queue is None else queue.principal
        return await super().submit(run, text, **options)


class Raises(MemorySteering):
    async def pause(self, run: str) -> Result[tuple[Command, ...], SteeringError]:
        raise ValueError("canary")


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        (ClosesAlways, "a queue closes when nothing waits: a queue closes in which something waits"),
        (LosesAtTheEnd, "what waits is given back at the end: something else is given back"),
        (TakesTheNewest, "it gives back what was admitted: what waits is something else"),
        (WaitsFirst, "the end races with admissions and loses none: "),
        (NoIdentity, "the same command twice is one: the same command has another receipt"),
        (Everybodys, "what is another principals is not there: another's run"),
        (Raises, "a paused queue takes nothing and keeps what it has: it raised ValueError"),
    ],
)
async def test_what_is_wrong_is_found(kind: Callable[..., Steering], case: str) -> None:
    with pytest.raises(ConformanceError) as caught:
        await check_steering(lambda clock: bind(Steering).value(kind(clock)))
    assert [problem for problem in caught.value.problems if problem.startswith(case)], caught.value.problems
    assert "canary" not in str(caught.value)


async def test_what_gets_stuck_is_told() -> None:
    class Stuck(MemorySteering):
        async def open(self, run: str, **options: Any) -> Result[None, SteeringError]:
            await anyio.sleep_forever()
            return Failure(None)  # type: ignore[arg-type]

    with pytest.raises(ConformanceError, match="a queue is bounded: not done after 0.01 s"):
        await check_steering(lambda clock: bind(Steering).value(Stuck(clock)), patience=0.01)
