"""Which model failures are tried again, when, and how often; all on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lamina.effect import Clock, bind
from lamina.engine import ModelStarted, PolicyExceeded, TurnStarted
from lamina.model import (
    Authentication,
    ConnectionLost,
    ContentPolicy,
    ContextOverflow,
    InvalidOutput,
    InvalidRequest,
    ModelError,
    PermissionDenied,
    ProviderDown,
    QuotaExhausted,
    RateLimited,
    TimedOut,
    Unclassified,
    UnknownModel,
    Unsupported,
)
from lamina.testing import ScriptedModel, call_tool, fail, say
from lamina.testing._clock import VirtualClock
from tests.unit.engine.world import Ran, echo, run_turns

PASSING = [RateLimited(), ProviderDown(503), ConnectionLost(), TimedOut(), InvalidOutput()]
LASTING = [
    Authentication(), PermissionDenied(), QuotaExhausted(), UnknownModel("m"), ContextOverflow(), ContentPolicy(),
    InvalidRequest(), Unsupported("tools"), Unclassified("X"),
]  # fmt: skip


async def timed(*turns: Any, seconds: float = 1_000, **options: Any) -> tuple[Ran, VirtualClock]:
    """Run some turns while a clock is advanced, and give how far the run had to wait."""
    clock = VirtualClock()
    begin: Callable[[], Awaitable[Ran]] = lambda: run_turns(  # noqa: E731 - one expression reads best
        options.pop("toolkit", None), *turns, layer=bind(Clock).value(clock), **options
    )
    task = asyncio.ensure_future(begin())
    while not task.done() and clock.monotonic() < seconds:
        await clock.advance(0.25)
    assert task.done(), "the run did not end in time"
    return task.result(), clock


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("reason", PASSING)
async def test_a_passing_failure_is_tried_again_as_often_as_the_policy_says(reason: Any, observed: bool) -> None:
    ran, _ = await timed(fail(reason), fail(reason), say("done"), observed=observed)
    assert ran.result.unwrap().output == "done"
    assert ran.result.unwrap().report.turns == 1
    assert len(set(ran.requests)) == 1, "the same request is sent again"

    ran, _ = await timed(fail(reason), fail(reason), fail(reason), observed=observed)
    assert ran.result.failure().cause == ModelError(reason)
    assert ran.result.failure().report.turns == 0


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("reason", LASTING)
async def test_a_lasting_failure_ends_the_run_at_once(reason: Any, observed: bool) -> None:
    ran, clock = await timed(fail(reason), observed=observed)

    assert ran.result.failure().cause == ModelError(reason)
    assert len(ran.requests) == 1
    assert clock.monotonic() <= 0.5


@pytest.mark.parametrize("retries", [0, 1, 5])
async def test_the_policy_counts_retries_of_each_request(retries: int) -> None:
    turns = [*[fail(TimedOut())] * retries, call_tool("echo", text="a"), *[fail(TimedOut())] * retries, say("done")]
    ran, _ = await timed(*turns, toolkit=echo, model_retries=retries)

    assert ran.result.unwrap().output == "done"
    assert len(ran.requests) == 2 * retries + 2

    ran, _ = await timed(*[fail(TimedOut())] * (retries + 1), model_retries=retries)
    assert len(ran.requests) == retries + 1


@pytest.mark.parametrize(
    ("reasons", "waits"),
    [
        ([TimedOut(), TimedOut()], 1.5),  # half a second, then twice that
        ([RateLimited(retry_after=7), TimedOut()], 8.0),
        ([ProviderDown(503, retry_after=30), RateLimited(retry_after=0)], 30.0),
    ],
)
async def test_the_wait_is_the_providers_or_doubles(reasons: list[Any], waits: float) -> None:
    seen: list[float] = []
    clock = VirtualClock()
    turns = [fail(reason).expecting(lambda request: seen.append(clock.monotonic())) for reason in reasons]
    last = say("done").expecting(lambda request: seen.append(clock.monotonic()))
    task = asyncio.ensure_future(run_turns(None, *turns, last, layer=bind(Clock).value(clock)))
    await clock.advance(waits - 0.125)
    assert not task.done()
    await clock.advance(0.25)

    assert (await task).result.unwrap().output == "done"
    assert seen[-1] - seen[0] == pytest.approx(waits)


async def test_a_wait_that_the_run_has_no_time_for_is_not_begun() -> None:
    ran, clock = await timed(fail(RateLimited(retry_after=601)), max_duration=600)

    assert ran.result.failure().cause == ModelError(RateLimited(retry_after=601))
    assert clock.monotonic() <= 0.5


async def test_the_runs_time_goes_on_while_it_waits() -> None:
    turns = (fail(RateLimited(retry_after=4)), fail(RateLimited(retry_after=4)), say("never").hanging())
    ran, clock = await timed(*turns, max_duration=10)

    assert ran.result.failure().cause == PolicyExceeded("duration")
    assert clock.monotonic() == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize(("after", "retried"), [(0, True), (1, False), (2, False), (None, False)])
async def test_after_the_first_part_nothing_is_tried_again(after: int | None, retried: bool) -> None:
    ran, _ = await timed(say("a long answer").failing(ConnectionLost(), after=after), say("done"), observed=True)

    if retried:
        assert ran.result.unwrap().output == "done"
    else:
        assert ran.result.failure().cause == ModelError(ConnectionLost())
        assert len(ran.requests) == 1


async def test_each_attempt_is_an_event_of_one_turn() -> None:
    ran, _ = await timed(fail(TimedOut()), fail(TimedOut()), say("done"), observed=True)

    assert [event.attempt for event in ran.events if isinstance(event, ModelStarted)] == [1, 2, 3]
    assert {event.turn for event in ran.events if isinstance(event, ModelStarted)} == {1}
    assert sum(isinstance(event, TurnStarted) for event in ran.events) == 1


async def test_a_cancelled_wait_leaves_no_alarm() -> None:
    clock = VirtualClock()
    task = asyncio.ensure_future(run_turns(None, ScriptedModel(fail(TimedOut())), layer=bind(Clock).value(clock)))
    await clock.advance(0)
    assert clock.pending == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.pending == 0
