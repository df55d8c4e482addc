"""A run cancelled at every step of the event loop: one honest outcome a call, and a history that can go on.

Covers the last three rows of the design's outcome table, and what rivals lose: finished results stay, started calls are
unknown or interrupted, others never started.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal, Never

import anyio
import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, ScriptedApproval
from lamina.conversation import CallStarted, Journal, MemoryJournal, ResultSettled, history_problems
from lamina.effect import Try, bind, scoped
from lamina.engine import TERMINAL, RunInterrupted, RunStopped
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.unit.engine.world import Word, after_steps, agent_with, declared_in, outcomes_by_id

How = Literal["native", "scope", "interrupt", "leave", "twice"]


class Ledger:
    """What really happened, noted by the bodies themselves."""

    def __init__(self) -> None:
        self.entered: set[str] = set()
        self.finished: set[str] = set()


class Desk:
    """A request-life resource that counts its openings and closings."""

    opened = 0
    closed = 0


async def _desk() -> AsyncIterator[Desk]:
    Desk.opened += 1
    try:
        await asyncio.sleep(0)
        yield Desk()
    finally:
        Desk.closed += 1


@tool(execution="readonly")
async def read(call: Word, ok: Try[Never], ledger: Ledger, desk: Desk) -> str:
    """Read, in three steps."""
    ledger.entered.add(call.text)
    await after_steps(3)
    ledger.finished.add(call.text)
    return call.text


@tool(needs_approval=True)
async def send(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Send, in five steps."""
    ledger.entered.add(call.text)
    await after_steps(5)
    ledger.finished.add(call.text)
    return call.text


@tool()
async def quick(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Finish at once."""
    ledger.entered.add(call.text)
    ledger.finished.add(call.text)
    return call.text


BATCH = call_tool("read", text="r") & call_tool("send", text="s") & call_tool("quick", text="q")
ONE = call_tool("send", text="s")
IDS = {"call-1": "r", "call-2": "s", "call-3": "q"}


async def cancelled_at(step: int, how: How, turn: Any, names: dict[str, str]) -> bool:
    """Cancel a run at a step, check everything about what is left of it, and say whether it had ended by itself."""
    ledger, journal = Ledger(), MemoryJournal()
    Desk.opened = Desk.closed = 0
    layer = (
        bind(Ledger).value(ledger)
        | scoped(_desk, life="request")
        | bind(Approval).value(ScriptedApproval(lambda request: True))
        | bind(Journal).value(journal)
    )
    agent = agent_with(read | send | quick)
    model = ScriptedModel(turn, say("done"))
    binding = agent.on(model)
    async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt:
        handle = rt.start(binding, "go")
        async with handle:
            run_task = handle._active[1]  # type: ignore[index]  # the task that a foreign canceller would hit
            await after_steps(step)
            ended_by_itself = run_task.done()
            if how == "native":
                run_task.cancel()
            elif how == "twice":
                run_task.cancel()
                await after_steps(1)
                run_task.cancel()
            elif how == "interrupt":
                handle.interrupt()
        result = await handle.result()
        history = handle.history
        events = [event async for event in handle.events()]

        if ended_by_itself:
            assert isinstance(result, Success)
            return True
        if isinstance(result, Failure):
            assert isinstance(result.failure().cause, RunInterrupted)
        else:  # it was on its last steps, and a cancel after the last wait comes too late
            assert result.unwrap().output == "done"
        assert history_problems(history.messages) == []
        assert model.open_calls == 0
        assert Desk.opened == Desk.closed
        assert isinstance(events[-1], TERMINAL)
        assert sum(isinstance(event, TERMINAL) for event in events) == 1
        assert isinstance(events[-1], RunStopped) == isinstance(result, Failure)
        _check_records(journal)

        again = ScriptedModel(say("fine"))
        went_on = await rt.run(agent.on(again), "and now?", history=history)
        assert isinstance(went_on, Success)
        request = again.requests[0]
        outcomes = outcomes_by_id(request)
        assert set(outcomes) == set(declared_in(request))
        for call_id, outcome in outcomes.items():
            _check_outcome(outcome, names[call_id], ledger, readonly=names[call_id] == "r")
        if ledger.entered:
            assert outcomes, "what has started is in the history"
    return False


def _check_outcome(outcome: Any, name: str, ledger: Ledger, *, readonly: bool) -> None:
    if outcome == name:
        assert name in ledger.finished
    elif outcome["_tag"] == "ToolRejected":
        assert outcome["reason"] == "not-started"
        assert name not in ledger.entered
    elif readonly:
        assert outcome["_tag"] == "ToolDefect"
    else:
        # It may have finished: a result that was cut off on its way is not known to have arrived.
        assert outcome["_tag"] == "ToolUnknownOutcome"


def _check_records(journal: MemoryJournal) -> None:
    started = {record.key for record in journal.records if isinstance(record, CallStarted)}
    settled = [record for record in journal.records if isinstance(record, ResultSettled)]
    assert len({record.key for record in settled}) == len(settled)
    assert started <= {record.key for record in settled}


@pytest.mark.parametrize("how", ["native", "interrupt", "leave", "twice"])
@pytest.mark.parametrize(("turn", "names"), [(BATCH, IDS), (ONE, {"call-1": "s"})], ids=["three", "one"])
async def test_cancelled_at_every_step(how: How, turn: Any, names: dict[str, str]) -> None:
    for step in range(400):
        if await cancelled_at(step, how, turn, names):
            assert step > 10, "the run has to have been cancelled somewhere inside"
            return
    pytest.fail("the run never ended by itself")


@pytest.mark.parametrize("inline", [True, False])
async def test_a_caller_cancelled_by_a_scope_at_every_step_gets_its_resources_back(inline: bool) -> None:
    turn = ONE if inline else BATCH
    for step in range(400):
        ledger, journal = Ledger(), MemoryJournal()
        Desk.opened = Desk.closed = 0
        layer = (
            bind(Ledger).value(ledger)
            | scoped(_desk, life="request")
            | bind(Approval).value(ScriptedApproval(lambda request: True))
            | bind(Journal).value(journal)
        )
        model = ScriptedModel(turn, say("done"))
        binding = agent_with(read | send | quick).on(model)
        done: list[Any] = []
        async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt, anyio.create_task_group() as group:

            async def run() -> None:
                done.append(await rt.run(binding, "go"))  # noqa: B023 - awaited within this turn of the loop

            group.start_soon(run)
            await after_steps(step)
            group.cancel_scope.cancel()
        assert Desk.opened == Desk.closed
        assert model.open_calls == 0
        _check_records(journal)
        entered = {record.key.call for record in journal.records if isinstance(record, ResultSettled)}
        assert len(entered) in (0, 1 if inline else 3)
        if done:
            return
    pytest.fail("the run never ended by itself")


async def test_a_handler_that_swallows_the_cancel_keeps_its_result_and_the_run_ends_all_the_same() -> None:
    entered = asyncio.Event()

    @tool()
    async def stubborn(call: Word, ok: Try[Never]) -> str:
        """Ignore a cancel."""
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "kept"
        return "never"

    binding = agent_with(stubborn).on(ScriptedModel(call_tool("stubborn", text="x")))
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        await entered.wait()
        run.interrupt()
        result = await run.result()

    assert isinstance(result.failure().cause, RunInterrupted)
    assert run.history.messages[-1].results[0].content == "kept"


async def test_a_handler_that_cancels_itself_is_not_a_cancel_of_the_run() -> None:
    @tool()
    async def suicidal(call: Word, ok: Try[Never]) -> str:
        """Raise what nobody asked for."""
        raise asyncio.CancelledError

    with ScriptedModel(call_tool("suicidal", text="x"), say("done")) as model:
        binding = agent_with(suicidal).on(model)
        async with build(RuntimeBuilder().agent(binding)) as rt:
            result = await rt.run(binding, "go")

    assert result.unwrap().output == "done"
    assert outcomes_by_id(model.requests[-1])["call-1"]["_tag"] == "ToolUnknownOutcome"
