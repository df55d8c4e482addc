"""Runs inside other people's timeouts, scopes and groups, and handlers with some of their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Never

import anyio
import pytest

from lamina.conversation import Journal, MemoryJournal, ResultSettled
from lamina.effect import Clock, Try, bind
from lamina.engine import PolicyExceeded
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.testing._clock import VirtualClock
from lamina.tools import tool
from tests.unit.engine.world import Word, agent_with, echo, run_turns, until

Run = Callable[[], Awaitable[Any]]


class Stuck:
    """Where a body waits, and whether it swallows its cancellation."""

    def __init__(self, swallows: bool) -> None:
        self.swallows = swallows
        self.waiting = 0


@tool()
async def wait(call: Word, ok: Try[Never], stuck: Stuck) -> str:
    """Wait until cancelled."""
    stuck.waiting += 1
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        if stuck.swallows:
            return "kept"
        raise
    return "never"


async def in_asyncio_timeout(run: Run, stuck: Stuck, calls: int) -> None:
    async def timed() -> None:
        async with asyncio.timeout(None) as timeout:
            asyncio.get_running_loop().call_soon(_when_stuck, stuck, calls, lambda: timeout.reschedule(0))
            await run()

    with pytest.raises(TimeoutError):
        await timed()


async def in_fail_after(run: Run, stuck: Stuck, calls: int) -> None:
    async def timed() -> None:
        with anyio.fail_after(60) as scope:
            now = anyio.current_time()
            asyncio.get_running_loop().call_soon(_when_stuck, stuck, calls, lambda: setattr(scope, "deadline", now))
            await run()

    with pytest.raises(TimeoutError):
        await timed()


async def in_cancel_scope(run: Run, stuck: Stuck, calls: int) -> None:
    with anyio.CancelScope() as scope:
        asyncio.get_running_loop().call_soon(_when_stuck, stuck, calls, scope.cancel)
        await run()
    assert scope.cancelled_caught


async def _fail_when_stuck(stuck: Stuck, calls: int) -> None:
    await until(lambda: stuck.waiting == calls)
    raise ZeroDivisionError


async def in_task_group(run: Run, stuck: Stuck, calls: int) -> None:
    async def grouped() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_fail_when_stuck(stuck, calls))
            await run()

    with pytest.raises(ExceptionGroup) as caught:
        await grouped()
    assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError]


async def in_anyio_group(run: Run, stuck: Stuck, calls: int) -> None:
    async def grouped() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_fail_when_stuck, stuck, calls)
            await run()

    with pytest.raises(ExceptionGroup) as caught:
        await grouped()
    assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError]


async def in_wait_for(run: Run, stuck: Stuck, calls: int) -> None:
    task = asyncio.create_task(asyncio.wait_for(run(), None))
    await until(lambda: stuck.waiting == calls)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def _when_stuck(stuck: Stuck, calls: int, then: Callable[[], object]) -> None:
    if stuck.waiting == calls:
        then()
    else:
        asyncio.get_running_loop().call_soon(_when_stuck, stuck, calls, then)


@pytest.mark.parametrize("swallows", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize(
    "within", [in_asyncio_timeout, in_fail_after, in_cancel_scope, in_task_group, in_anyio_group, in_wait_for]
)
async def test_whoever_cancels_from_outside_gets_its_cancellation(
    within: Any, journaled: bool, calls: int, swallows: bool
) -> None:
    stuck, journal = Stuck(swallows), MemoryJournal()
    turn = call_tool("wait", text="x")
    for _ in range(calls - 1):
        turn = turn & call_tool("wait", text="x")
    layer: Any = bind(Stuck).value(stuck) | bind(Journal).value(journal) if journaled else bind(Stuck).value(stuck)
    model = ScriptedModel(turn, say("never"))
    binding = agent_with(wait).on(model)
    async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt:
        await within(lambda: rt.run(binding, "go"), stuck, calls)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # nothing is left that would cancel here

    assert len(model.requests) == 1, "the run has ended, also where its bodies swallowed the cancellation"
    settled = [type(record.outcome).__name__ for record in journal.records if isinstance(record, ResultSettled)]
    expected = "ToolSuccess" if swallows else "ToolUnknownOutcome"
    assert settled == ([expected] * calls if journaled else [])


def handler(kind: str) -> Any:
    async def asyncio_timeout(call: Word, ok: Try[Never]) -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "never"

    async def fail_after(call: Word, ok: Try[Never]) -> str:
        try:
            with anyio.fail_after(0):
                await anyio.sleep_forever()
        except TimeoutError:
            return "timed out"
        return "never"

    async def move_on_and_swallow(call: Word, ok: Try[Never]) -> str:
        with anyio.move_on_after(0):
            with contextlib.suppress(BaseException):
                await anyio.sleep_forever()
        return "timed out"

    async def scope(call: Word, ok: Try[Never]) -> str:
        with anyio.CancelScope() as inner:
            inner.cancel()
            await anyio.sleep_forever()
        return "timed out"

    async def wait_for(call: Word, ok: Try[Never]) -> str:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        except TimeoutError:
            return "timed out"
        return "never"

    async def group(call: Word, ok: Try[Never]) -> str:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
                await anyio.lowlevel.checkpoint()
                raise ZeroDivisionError
        except* ZeroDivisionError:
            pass
        return "timed out"

    async def awaits_the_cancelled(call: Word, ok: Try[Never]) -> str:
        task = asyncio.create_task(asyncio.Event().wait())
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "timed out"
        return "never"

    made = {each.__name__: each for each in (
        asyncio_timeout, fail_after, move_on_and_swallow, scope, wait_for, group, awaits_the_cancelled,
    )}  # fmt: skip
    return tool(name="act")(made[kind])


KINDS = ["asyncio_timeout", "fail_after", "move_on_and_swallow", "scope", "wait_for", "group", "awaits_the_cancelled"]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_handlers_own_timeouts_are_its_own(kind: str, alone: bool) -> None:
    turn = call_tool("act", text="x") if alone else call_tool("act", text="x") & call_tool("echo", text="e")
    ran = await run_turns(handler(kind) | echo, turn, say("done"), layer=bind(Clock).value(VirtualClock()))

    assert ran.result.unwrap().output == "done"
    assert ran.told == (["timed out"] if alone else ["timed out", "e"])
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("outer", ["asyncio", "anyio"])
async def test_the_runs_own_deadline_within_somebody_elses_longer_one_is_a_failure_and_no_cancel(outer: str) -> None:
    clock, stuck = VirtualClock(), Stuck(swallows=False)
    layer = bind(Clock).value(clock) | bind(Stuck).value(stuck)

    async def run() -> Any:
        begun = run_turns(wait, call_tool("wait", text="x"), layer=layer, max_duration=5)
        if outer == "asyncio":
            async with asyncio.timeout(600):
                return await begun
        with anyio.fail_after(600):
            return await begun

    task = asyncio.create_task(run())
    await until(lambda: stuck.waiting == 1)
    await clock.advance(6)
    ran = await task

    assert ran.result.failure().cause == PolicyExceeded("duration")
    assert task.cancelling() == 0


@pytest.mark.parametrize("final", [True, False])
async def test_a_model_that_swallows_the_deadline_gets_no_further_request(final: bool) -> None:
    clock = VirtualClock()

    class Deaf(ScriptedModel):
        async def generate(self, request: Any) -> Any:
            with contextlib.suppress(asyncio.CancelledError):
                await clock.sleep(60)
            return await super().generate(request)

    model = Deaf(say("late") if final else call_tool("echo", text="x"), say("never"))
    task = asyncio.create_task(run_turns(echo, model, layer=bind(Clock).value(clock), max_duration=5))
    await clock.advance(0)
    await clock.advance(6)
    ran = await task

    assert task.cancelling() == 0, "the run takes back what it asked for"
    assert len(ran.requests) == 1
    if final:
        assert ran.result.unwrap().output == "late"
    else:
        assert ran.result.failure().cause == PolicyExceeded("duration")
        assert ran.result.failure().report.history.messages[-1].results[0].content["reason"] == "not-started"


async def test_a_handler_that_is_slow_to_clean_up_is_waited_for_and_cut_short_by_the_next_cancel() -> None:
    entered, cleaned = asyncio.Event(), list[str]()

    @tool()
    async def slow(call: Word, ok: Try[Never]) -> str:
        try:
            entered.set()
            await asyncio.Event().wait()
        finally:
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(call.text)
        return "never"

    binding = agent_with(slow).on(ScriptedModel(call_tool("slow", text="x")))
    async with build(RuntimeBuilder().agent(binding)) as rt:
        task = asyncio.create_task(rt.run(binding, "go"))
        await entered.wait()
        task.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        assert (task.done(), cleaned) == (False, [])
        task.cancel()
        await asyncio.wait({task})

    assert task.cancelled()
    assert cleaned == ["x"]
