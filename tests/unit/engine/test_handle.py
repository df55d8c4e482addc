"""The handle of a run: entered it runs, left it has ended, whatever happens in between."""

from __future__ import annotations

import asyncio
from typing import Any, Never

import pytest
from returns.result import Failure, Success

from lamina.conversation import History, Journal, RunEnded, history_problems
from lamina.effect import ConstructionError, Try, bind
from lamina.engine import RunCompleted, RunHandle, RunInterrupted, RunStopped
from lamina.model import UserMessage
from lamina.runtime import Runtime, RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, hang, say
from lamina.tools import tool
from tests.unit.engine.world import Word, after_steps, agent_with, echo, events_of


def running(model: ScriptedModel, toolkit: Any = None, layer: Any = None) -> tuple[Any, Any]:
    """Give the context of a runtime, and a function that starts the agent in it."""
    binding = agent_with(toolkit).on(model)
    builder: Any = RuntimeBuilder().agent(binding)

    def start(rt: Runtime[Any]) -> RunHandle[Any]:
        return rt.start(binding, "go")

    return build(builder if layer is None else builder.provide(layer)), start


async def test_before_it_is_entered_there_is_no_run() -> None:
    context, start = running(ScriptedModel())
    async with context as rt:
        run = start(rt)
        for use in (lambda: run.id, lambda: run.history, run.interrupt):
            with pytest.raises(RuntimeError, match="the run has not started: write `async with"):
                use()
        with pytest.raises(RuntimeError, match="has not started"):
            await run.result()


async def test_a_handle_is_entered_once() -> None:
    context, start = running(ScriptedModel(say("a")))
    async with context as rt:
        run = start(rt)
        async with run:
            with pytest.raises(RuntimeError, match="a run is started once"):
                await run.__aenter__()
        with pytest.raises(RuntimeError, match="a run is started once"):
            await run.__aenter__()


async def test_a_handle_that_is_entered_twice_at_once_starts_one_run() -> None:
    model = ScriptedModel(say("a"), say("b"))
    async with build(RuntimeBuilder()) as rt:
        run = rt.start(agent_with().on(model), "go")  # not registered: preparing it takes a moment
        entered = await asyncio.gather(run.__aenter__(), run.__aenter__(), return_exceptions=True)
        assert [type(each) for each in entered] == [RunHandle, RuntimeError]
        await run.result()
        await run.__aexit__(None, None, None)
    assert model.remaining == 1


async def test_after_the_block_everything_can_still_be_read() -> None:
    context, start = running(ScriptedModel(say("hello")))
    async with context as rt, start(rt) as run:
        result = await run.result()
    assert run.id.startswith("run-")
    assert await run.result() == result
    assert result.unwrap().output == "hello"
    assert run.history == result.unwrap().report.history
    assert isinstance((await events_of(run))[-1], RunCompleted)
    run.interrupt()
    assert await run.result() == result


async def test_leaving_the_block_early_interrupts_and_waits() -> None:
    model = ScriptedModel(hang())
    context, start = running(model)
    async with context as rt:
        async with start(rt) as run:
            await after_steps(3)
            assert model.open_calls == 1
        assert model.open_calls == 0
        assert isinstance((await run.result()).failure().cause, RunInterrupted)
        assert isinstance((await events_of(run))[-1], RunStopped)


async def test_an_error_in_the_block_interrupts_and_goes_on() -> None:
    context, start = running(ScriptedModel(hang()))
    async with context as rt:
        with pytest.raises(ZeroDivisionError):
            async with start(rt) as run:
                1 / 0  # noqa: B018 - it raises
        assert isinstance((await run.result()).failure().cause, RunInterrupted)


async def test_an_interrupt_before_the_first_step_asks_no_model() -> None:
    model = ScriptedModel()
    context, start = running(model)
    async with context as rt, start(rt) as run:
        run.interrupt()
        run.interrupt()
        assert isinstance((await run.result()).failure().cause, RunInterrupted)
    assert model.requests == ()
    assert run.history == History.of(UserMessage.of("go"))


async def test_an_interrupt_after_the_end_changes_nothing() -> None:
    context, start = running(ScriptedModel(say("a")))
    async with context as rt, start(rt) as run:
        await run.result()
        run.interrupt()
        assert isinstance(await run.result(), Success)
        assert len([event for event in await events_of(run) if isinstance(event, RunCompleted | RunStopped)]) == 1


async def test_a_tool_may_interrupt_its_own_run() -> None:
    @tool()
    async def stop(call: Word, ok: Try[Never]) -> str:
        run.interrupt()
        return "stopped"

    context, start = running(ScriptedModel(call_tool("stop", text="x")), stop)
    async with context as rt, start(rt) as run:
        assert isinstance((await run.result()).failure().cause, RunInterrupted)
        assert run.history.messages[-1].results[0].content == "stopped"


async def test_a_waiter_that_is_cancelled_leaves_the_run_alone() -> None:
    gate = asyncio.Event()

    @tool()
    async def wait(call: Word, ok: Try[Never]) -> str:
        await gate.wait()
        return "through"

    context, start = running(ScriptedModel(call_tool("wait", text="x"), say("done")), wait)
    async with context as rt, start(rt) as run:
        waiters = [asyncio.create_task(run.result()) for _ in range(3)]
        await after_steps(5)
        waiters[0].cancel()
        await asyncio.wait({waiters[0]})
        gate.set()
        assert {(await waiter).unwrap().output for waiter in waiters[1:]} == {"done"}


async def test_the_history_can_be_read_at_every_step_and_is_always_valid() -> None:
    turns = [call_tool("echo", text="a") & call_tool("echo", text="b")] * 3
    context, start = running(ScriptedModel(*turns, say("done")), echo)
    lengths: list[int] = []
    async with context as rt, start(rt) as run:
        ended = asyncio.ensure_future(run.result())
        while not ended.done():
            history = run.history
            assert history_problems(history.messages) == []
            lengths.append(len(history.messages))
            await asyncio.sleep(0)
    assert lengths == sorted(lengths)
    assert set(lengths) <= {0, 1, 3, 5, 7, 8}


async def test_what_the_runtime_does_not_have_is_told_on_entering_and_no_model_is_asked() -> None:
    class Shop: ...

    @tool()
    async def buy(call: Word, ok: Try[Never], shop: Shop) -> str:
        return call.text

    buy_anyhow: Any = buy
    model = ScriptedModel(say("a"))
    async with build(RuntimeBuilder()) as rt:
        run = rt.start(agent_with(buy_anyhow).on(model), "go")
        with pytest.raises(ConstructionError, match="MISSING Shop"):
            await run.__aenter__()
    assert model.requests == ()


class SlowEnd(Journal):
    """Takes a moment for the ending, and for whatever comes with it."""

    def __init__(self) -> None:
        self.at_the_end = asyncio.Event()
        self.gate = asyncio.Event()
        self.records: list[Any] = []

    async def append(self, *records: Any) -> Any:
        if any(isinstance(record, RunEnded) for record in records):
            self.at_the_end.set()
            await self.gate.wait()
        self.records += records
        return Success(None)


@pytest.mark.parametrize("how", ["native", "interrupt"])
async def test_a_cancel_while_the_ending_is_recorded_changes_nothing_of_it(how: str) -> None:
    journal = SlowEnd()
    context, start = running(ScriptedModel(say("done")), layer=bind(Journal).value(journal))
    async with context as rt, start(rt) as run:
        await journal.at_the_end.wait()
        if how == "native":
            run._active[1].cancel()
        else:
            run.interrupt()
        await after_steps(3)
        journal.gate.set()
        result = await run.result()
        events = await events_of(run)

    assert [record for record in journal.records if isinstance(record, RunEnded)] == [RunEnded(run.id, "completed")]
    assert isinstance(journal.records[-1], RunEnded)
    assert isinstance(events[-1], RunCompleted)
    assert result.unwrap().output == "done"


async def test_a_caller_cancelled_while_the_ending_is_recorded_is_cancelled_and_the_record_stands() -> None:
    journal = SlowEnd()
    binding = agent_with().on(ScriptedModel(say("done")))
    async with build(RuntimeBuilder().provide(bind(Journal).value(journal)).agent(binding)) as rt:
        task = asyncio.create_task(rt.run(binding, "go"))
        await journal.at_the_end.wait()
        task.cancel()
        await after_steps(3)
        assert not task.done()
        journal.gate.set()
        await asyncio.wait({task})

    assert task.cancelled()
    assert [record.ending for record in journal.records if isinstance(record, RunEnded)] == ["completed"]


async def test_an_owner_that_is_cancelled_while_it_leaves_waits_for_the_end_and_is_cancelled() -> None:
    entered, gate = asyncio.Event(), asyncio.Event()

    @tool()
    async def slow(call: Word, ok: Try[Never]) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await gate.wait()
        return "never"

    context, start = running(ScriptedModel(call_tool("slow", text="x")), slow)
    async with context as rt:
        run = start(rt)

        async def own() -> None:
            async with run:
                await entered.wait()

        owner = asyncio.create_task(own())
        await entered.wait()
        await after_steps(3)
        owner.cancel()
        await after_steps(3)
        assert not owner.done()
        gate.set()
        await asyncio.wait({owner})
        assert owner.cancelled()
        assert isinstance((await run.result()).failure().cause, RunInterrupted)


class Base(BaseException):
    pass


@pytest.mark.parametrize("own_error", [False, True])
async def test_what_is_no_exception_comes_out_of_the_block_unless_the_block_raised(own_error: bool) -> None:
    @tool()
    async def leak(call: Word, ok: Try[Never]) -> str:
        raise Base

    context, start = running(ScriptedModel(call_tool("leak", text="x")), leak)
    async with context as rt:

        async def own() -> None:
            async with start(rt) as run:
                await asyncio.wait({run._active[1]})
                if own_error:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError if own_error else Base):
            await own()


async def test_the_failure_of_a_run_is_its_own_sentence() -> None:
    context, start = running(ScriptedModel(hang()))
    async with context as rt, start(rt) as run:
        run.interrupt()
        result = await run.result()
    assert isinstance(result, Failure)
    assert str(result.failure()) == "The run was interrupted."
