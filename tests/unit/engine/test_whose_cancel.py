"""Whose cancellation it was: the run's own becomes its failure, anybody else's goes on, and both at once go on."""

from __future__ import annotations

import asyncio
from typing import Any, Never

import anyio
import pytest

from lamina.conversation import Journal, MemoryJournal
from lamina.effect import Clock, Try, bind
from lamina.engine import PolicyExceeded, RunInterrupted
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, hang, say
from lamina.testing._clock import VirtualClock
from lamina.tools import tool
from tests.unit.engine.world import NoSuchWord, Word, after_steps, agent_with, echo, run_turns, until


async def test_an_interrupt_and_a_foreign_cancel_at_once_are_a_foreign_cancel() -> None:
    model = ScriptedModel(hang())
    binding = agent_with().on(model)
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        await until(lambda: model.open_calls == 1)
        task: Any = run._active[1]  # type: ignore[index]
        run.interrupt()
        task.cancel()
        assert isinstance((await run.result()).failure().cause, RunInterrupted)
        assert task.cancelled(), "whoever else cancelled the task is not told otherwise"


async def test_an_interrupt_alone_leaves_the_task_as_it_was() -> None:
    model = ScriptedModel(hang())
    binding = agent_with().on(model)
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        await until(lambda: model.open_calls == 1)
        run.interrupt()
        await run.result()
        task: Any = run._active[1]  # type: ignore[index]
        assert (task.cancelled(), task.cancelling()) == (False, 0)


async def test_a_run_in_a_task_that_is_being_cancelled_is_a_run_like_any_other() -> None:
    ran: list[Any] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:  # such as saying goodbye
            ran.append(await run_turns(echo, call_tool("echo", text="a"), say("goodbye")))

    task = asyncio.create_task(work())
    await after_steps(1)
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()
    assert ran[0].result.unwrap().output == "goodbye"


class Sore(ScriptedModel):
    """Answers a cancellation with an error of its own."""

    async def generate(self, request: Any) -> Any:
        try:
            await super().generate(request)
        except asyncio.CancelledError:
            raise ConnectionError("canary") from None


async def test_a_foreign_cancel_goes_on_although_a_model_raised_something_else() -> None:
    model = Sore(hang())
    task = asyncio.create_task(run_turns(None, model))
    await until(lambda: model.open_calls == 1)
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()


async def test_a_scopes_cancel_ends_at_the_scope_although_a_model_raised_something_else() -> None:
    model = Sore(hang())
    binding = agent_with().on(model)

    async def cancel(scope: anyio.CancelScope) -> None:
        await until(lambda: model.open_calls == 1)
        scope.cancel()

    # The scope is right around the run: leaving a runtime would deliver its cancel once more.
    async with build(RuntimeBuilder().agent(binding)) as rt, anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(cancel, scope)
            await rt.run(binding, "go")
        assert scope.cancelled_caught
        await asyncio.sleep(0)


@pytest.mark.parametrize("alone", [True, False])
async def test_an_interrupt_that_a_body_swallowed_comes_before_what_the_body_then_says(alone: bool) -> None:
    @tool(failure_mode="error")
    async def stubborn(call: Word, ok: Try[NoSuchWord]) -> str:
        try:
            run.interrupt()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return ok.fail(NoSuchWord("kept"))
        return "never"

    turn = call_tool("stubborn", text="x")
    binding = agent_with(stubborn | echo).on(ScriptedModel(turn if alone else turn & call_tool("echo", text="e")))
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        assert isinstance((await run.result()).failure().cause, RunInterrupted)
    assert run.history.messages[-1].results[0].content == {"_tag": "NoSuchWord", "text": "kept"}


async def test_an_interrupt_that_was_not_delivered_when_the_answer_came_leaves_the_answer() -> None:
    class Prompt(ScriptedModel):
        async def stream(self, request: Any, emit: Any) -> Any:
            answered = await super().stream(request, emit)
            run.interrupt()
            return answered

    binding = agent_with(echo).on(Prompt(say("done")))
    builder = RuntimeBuilder().provide(bind(Journal).to(MemoryJournal)).agent(binding)
    async with build(builder) as rt, rt.start(binding, "go") as run:
        assert (await run.result()).unwrap().output == "done"
        task: Any = run._active[1]  # type: ignore[index]
        assert (task.cancelled(), task.cancelling()) == (False, 0)


@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize("steps", range(14))
async def test_a_deadline_that_comes_with_the_answer_is_taken_back(steps: int, journaled: bool) -> None:
    binding = agent_with(echo).on(ScriptedModel(call_tool("echo", text="a"), say("done")))
    builder: Any = RuntimeBuilder().agent(binding)
    if journaled:
        builder = builder.provide(bind(Journal).to(MemoryJournal))
    async with build(builder) as rt, rt.start(binding, "go") as run:
        await after_steps(steps)
        run.interrupt()
        result = await run.result()
        task: Any = run._active[1]  # type: ignore[index]
        assert (task.cancelled(), task.cancelling()) == (False, 0)
        assert result.value_or(None) is not None or isinstance(result.failure().cause, RunInterrupted)


class Inner:
    """A run within a tool call: its model, and what its tool came to."""

    def __init__(self, seconds: float) -> None:
        self.model = ScriptedModel(hang())
        self.agent = agent_with(max_duration=seconds)
        self.causes: list[Any] = []


def nested(inner: Inner, clock: VirtualClock) -> tuple[Any, ScriptedModel]:
    @tool()
    async def delegate(call: Word, ok: Try[Never]) -> str:
        async with build(RuntimeBuilder().provide(bind(Clock).value(clock))) as rt:
            result = await rt.run(inner.agent.on(inner.model), "sub")
        inner.causes.append(result.failure().cause)
        return str(result.failure())

    return delegate, ScriptedModel(call_tool("delegate", text="x"), say("done"))


async def test_the_deadline_of_a_run_in_a_tool_is_that_runs_alone() -> None:
    inner, clock = Inner(5), VirtualClock()
    delegate, model = nested(inner, clock)
    task = asyncio.create_task(run_turns(delegate, model, layer=bind(Clock).value(clock), max_duration=60))
    await until(lambda: inner.model.open_calls == 1)
    await clock.advance(6)
    ran = await task

    assert ran.result.unwrap().output == "done"
    assert inner.causes == [PolicyExceeded("duration")]
    assert "took longer than it may" in ran.told[0]
    assert task.cancelling() == 0


async def test_the_deadline_of_the_outer_run_ends_both() -> None:
    inner, clock = Inner(60), VirtualClock()
    delegate, model = nested(inner, clock)
    task = asyncio.create_task(run_turns(delegate, model, layer=bind(Clock).value(clock), max_duration=5))
    await until(lambda: inner.model.open_calls == 1)
    await clock.advance(6)
    ran = await task

    assert ran.result.failure().cause == PolicyExceeded("duration")
    assert (inner.causes, inner.model.open_calls, task.cancelling()) == ([], 0, 0)
