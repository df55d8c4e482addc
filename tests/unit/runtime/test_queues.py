"""Runs that wait for a conversation: in their order, as long as it takes, and gone when they are cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from returns.result import Failure, Result

from lamina.approval import Approved
from lamina.conversation import RepairAnnotated
from lamina.engine import RunInterrupted
from lamina.model import UserMessage
from lamina.store import Row, Rows, Statement, Store, StoreError, Unmet, Value
from lamina.testing import ScriptedModel, VirtualClock, call_tool, say
from tests.conversing import act, gated, send, talking
from tests.stores import STORES, Place
from tests.unit.engine.world import agent_with, until


class Slow(Store):
    """A store of which a test may hold writes back: those after `hold`, until `gate` is set."""

    def __init__(self, store: Store) -> None:
        self.durable = store.durable
        self.store = store
        self.gate = asyncio.Event()
        self.held = 0
        self.hold = False

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        if self.hold:
            self.held += 1
            await self.gate.wait()
        return await self.store.write(*statements)

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self.store.read(sql, *parameters)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("how", ["native", "interrupt"])
async def test_a_waiter_that_is_cancelled_leaves_the_lane_and_the_others_keep_their_order(
    kind: str, how: str, tmp_path: Path
) -> None:
    gate, entered, clock = asyncio.Event(), asyncio.Event(), VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        binding = agent_with(gated(gate, entered)).on(ScriptedModel(call_tool("wait", text="x"), say("0")))
        first = asyncio.create_task(talk.run(binding, "in 0"))
        await entered.wait()
        models = [ScriptedModel(say(f"{number}")) for number in range(1, 6)]
        handles = [
            talk.rt.start(agent_with().on(model), f"in {number}", conversation="c", busy="queue")
            for number, model in enumerate(models, 1)
        ]

        async def hold(number: int) -> Any:
            async with handles[number] as run:
                return await run.result()

        waiters = [asyncio.create_task(hold(number)) for number in range(5)]
        lanes = talk.rt._core.lanes._lanes
        await until(lambda: [lane.users for lane in lanes.values()] == [5])
        for number in (0, 2):  # the one whose turn it is, and one that is behind it
            if how == "native":
                waiters[number].cancel()
                await asyncio.wait({waiters[number]})
            else:
                handles[number].interrupt()
                assert isinstance(await waiters[number], Failure)
        assert [lane.users for lane in lanes.values()] == [3]
        assert models[0].requests == models[2].requests == ()
        gate.set()
        await first
        while not all(waiter.done() for waiter in waiters):
            await clock.advance(0.25)
            await asyncio.sleep(0.001)  # a store's own thread is not the virtual clock's
        assert [waiters[number].result().unwrap().output for number in (1, 3, 4)] == ["2", "4", "5"]
        history = (await talk.conversations.history("c")).unwrap()
        said = [message.text for message in history.messages if isinstance(message, UserMessage)]
        assert said == ["in 0", "in 2", "in 4", "in 5"]
        assert lanes == {}


@pytest.mark.parametrize("kind", STORES)
async def test_who_waits_in_the_same_runtime_goes_on_when_the_run_ends_and_not_when_it_is_time_to_look(
    kind: str, tmp_path: Path
) -> None:
    clock = VirtualClock()  # which stands still
    async with talking(Place(kind, tmp_path), clock=clock) as talk, asyncio.timeout(30):
        waits = ScriptedModel(call_tool("send", text="s", id="s"))
        suspended = (await talk.run(agent_with(send).on(waits))).failure().cause
        bindings = [agent_with().on(ScriptedModel(say(f"{number}"))) for number in range(8)]
        runs = [
            asyncio.create_task(talk.run(binding, f"in {number}", busy="queue"))
            for number, binding in enumerate(bindings)
        ]
        lanes = talk.rt._core.lanes
        await until(lambda: [lane.users for lane in lanes._lanes.values()] == [8])
        await talk.rt.resume(agent_with(send).on(ScriptedModel(say("sent"))), suspended, {"s": Approved("ada")})
        assert [(await run).unwrap().output for run in runs] == [f"{number}" for number in range(8)]
        assert (lanes._lanes, lanes._watching, clock.pending) == ({}, {}, 0)


@pytest.mark.parametrize("busy", ["reject", "queue", "fork"])
async def test_a_claim_that_takes_longer_than_a_close_may_is_waited_for(busy: str, tmp_path: Path) -> None:
    stores: list[Slow] = []

    def slow(store: Store) -> Store:
        stores.append(Slow(store))
        return stores[0]

    async with talking(Place("memory", tmp_path), over=slow, close_timeout=0.3) as talk:
        stores[0].hold = True
        run = asyncio.create_task(talk.run(agent_with(act).on(ScriptedModel(say("late"))), busy=busy))
        await until(lambda: stores[0].held == 1)
        asyncio.get_running_loop().call_later(0.6, stores[0].gate.set)  # twice as long
        assert (await run).unwrap().output == "late"
        assert await talk.holder() == (None, None)


async def test_a_resume_that_takes_longer_than_a_close_may_is_waited_for(tmp_path: Path) -> None:
    stores: list[Slow] = []

    def slow(store: Store) -> Store:
        stores.append(Slow(store))
        return stores[0]

    async with talking(Place("memory", tmp_path), over=slow, close_timeout=0.3) as talk:
        waiting = (await talk.run(agent_with(send).on(ScriptedModel(call_tool("send", text="s", id="s"))))).failure()
        stores[0].hold = True
        binding = agent_with(send).on(ScriptedModel(say("done")))
        resumed = asyncio.create_task(talk.rt.resume(binding, waiting.cause, {"s": Approved("ada")}))
        await until(lambda: stores[0].held == 1)
        asyncio.get_running_loop().call_later(0.6, stores[0].gate.set)
        assert (await resumed).unwrap().output == "done"
        assert talk.ledger.ran == ["s"]


async def test_cancelled_during_a_claim_that_never_comes_it_is_over_in_time_and_the_next_gets_the_conversation(
    tmp_path: Path,
) -> None:
    stores: list[Slow] = []
    clock = VirtualClock()

    def slow(store: Store) -> Store:
        stores.append(Slow(store))
        return stores[0]

    async with talking(Place("memory", tmp_path), over=slow, clock=clock, close_timeout=0.3) as talk:
        stores[0].hold = True
        run = asyncio.create_task(talk.run(agent_with(act).on(ScriptedModel())))
        await until(lambda: stores[0].held == 1)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        stores[0].hold = False
        assert not [task for task in asyncio.all_tasks() if "settlement" in task.get_name()]
        assert (await talk.run(agent_with(act).on(ScriptedModel(say("next"))))).unwrap().output == "next"


@pytest.mark.parametrize("kind", STORES)
async def test_a_claim_that_comes_after_its_run_is_gone_is_taken_over_when_its_lease_is_over(
    kind: str, tmp_path: Path
) -> None:
    """The claim is committed, and its answer never comes."""
    clock, lost = VirtualClock(), asyncio.Event()

    class Deaf(Slow):
        async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
            answer = await super().write(*statements)
            if not lost.is_set():
                lost.set()
                await asyncio.Event().wait()
            return answer

    async with talking(Place(kind, tmp_path), over=Deaf, clock=clock, close_timeout=0.3) as talk:
        run = asyncio.create_task(talk.run(agent_with(act).on(ScriptedModel())))
        await lost.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await clock.advance(31)
        model = ScriptedModel(say("next"))
        assert (await talk.run(agent_with(act).on(model), "and now?")).unwrap().output == "next"
        asked = [message.text for message in model.requests[0].messages if isinstance(message, UserMessage)]
        assert asked == ["go", "and now?"], "what was accepted is there"
        assert [entry.record.reason for entry in await talk.log() if isinstance(entry.record, RepairAnnotated)] == [
            "owner-lost"
        ]


async def test_closed_during_a_claim_that_never_comes_the_run_is_interrupted_in_time(tmp_path: Path) -> None:
    stores: list[Slow] = []

    def slow(store: Store) -> Store:
        stores.append(Slow(store))
        return stores[0]

    async with talking(Place("memory", tmp_path), over=slow, close_timeout=0.3) as talk:
        stores[0].hold = True
        run = asyncio.create_task(talk.run(agent_with(act).on(ScriptedModel())))
        await until(lambda: stores[0].held == 1)
    assert (await run).failure().cause == RunInterrupted()
