"""A runtime that closes: what is active in it is interrupted and recorded first; what is suspended stays so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Never

import anyio
import attrs
import pytest
from returns.result import Result, Success

from lamina.approval import (
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalUnavailable,
    Approved,
    DeferredApproval,
    WaitingApproval,
)
from lamina.call import ToolDefect, ToolRejected, ToolSuccess, ToolUnknownOutcome
from lamina.conversation import Conversations, ResultSettled, RunEnded, stored_conversations
from lamina.effect import Try, bind
from lamina.engine import RunInterrupted, RunSuspended
from lamina.runtime import Runtime, build
from lamina.store import Row, Rows, Statement, Store, StoreError, Unmet, Value
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.conversing import Ledger, act, records_in, send, talking, the_conversations
from tests.stores import STORES, Place
from tests.unit.engine.world import Word, agent_with

ASKED = call_tool("act", text="a", id="a") & call_tool("send", text="s", id="s")


class Asked(WaitingApproval):
    """Says when so many wait."""

    def __init__(self) -> None:
        super().__init__()
        self._more = asyncio.Event()

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        asyncio.get_running_loop().call_soon(self._more.set)
        return await super().request(request)

    async def until(self, count: int) -> None:
        while len(self.waiting) < count:
            self._more.clear()
            await self._more.wait()


@attrs.define
class House:
    """A database, and runtimes over it that are opened and closed one after the other."""

    place: Place
    kept: Any  # of a store in memory, the store: it is not closed with a runtime

    @asynccontextmanager
    async def open(
        self, approval: Approval | None = None, ledger: Ledger | None = None, **options: Any
    ) -> AsyncGenerator[Runtime[Any], None]:
        layer = self.place.layer() if self.kept is None else bind(Store).value(self.kept)
        app: Any = stored_conversations(lease=1_000).provide(layer)
        app = app | bind(Ledger).value(ledger or Ledger()) | bind(Approval).value(approval or Asked())
        async with build(app, **options) as rt:
            yield rt


@asynccontextmanager
async def house(kind: str, folder: Path) -> AsyncGenerator[House, None]:
    place = Place(kind, folder)
    async with AsyncExitStack() as stack:
        yield House(place, await stack.enter_async_context(place.open()) if kind == "memory" else None)


async def conversations_of(rt: Runtime[Any]) -> Conversations:
    return await rt.run(the_conversations, None)


async def ending_of(rt: Runtime[Any], conversation: str = "c") -> tuple[Any, dict[str, Any], str | None]:
    """Give how the last run of a conversation ended, the outcomes of its calls, and which run has the conversation."""
    conversations = await conversations_of(rt)
    records = [entry.record for entry in (await conversations.read(conversation)).unwrap()]
    outcomes = {record.key.call: record.outcome for record in records if isinstance(record, ResultSettled)}
    endings = [record.ending for record in records if isinstance(record, RunEnded)]
    assert isinstance(await conversations.verify(conversation), Success)
    return endings[-1:], outcomes, (await conversations.get(conversation)).unwrap().run


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_that_waits_for_a_person_is_interrupted_and_leaves_its_conversation(
    kind: str, tmp_path: Path
) -> None:
    async with asyncio.timeout(50), house(kind, tmp_path) as home:
        approval, ledger = Asked(), Ledger()
        async with home.open(approval, ledger) as rt:
            binding = agent_with(act | send).on(ScriptedModel(ASKED))
            waiting = asyncio.create_task(rt.run(binding, "go", conversation="c"))
            await approval.until(1)
        ended = await waiting

        assert ended.failure().cause == RunInterrupted()
        assert (approval.waiting, ledger.ran) == ((), [])
        async with home.open() as rt:
            endings, outcomes, holder = await ending_of(rt)
            assert endings == ["interrupted"]
            assert outcomes == {"a": ToolRejected("not-started"), "s": ToolRejected("not-started")}
            assert holder is None
            # Nobody has to wait for a lease: the next run has the conversation at once.
            again = await rt.run(agent_with(act).on(ScriptedModel(say("next"))), "and now?", conversation="c")
            assert again.unwrap().output == "next"


@pytest.mark.parametrize("kind", STORES)
async def test_a_suspended_run_stays_suspended(kind: str, tmp_path: Path) -> None:
    async with asyncio.timeout(50), house(kind, tmp_path) as home:
        ledger = Ledger()
        deferred = DeferredApproval(same_process=True)
        async with home.open(deferred) as rt:
            ended = await rt.run(agent_with(act | send).on(ScriptedModel(ASKED)), "go", conversation="c")
        reference = ended.failure().cause
        assert isinstance(reference, RunSuspended)
        async with home.open(deferred, ledger) as rt:
            found = (await (await conversations_of(rt)).get("c")).unwrap()
            assert (found.run, found.state) == (reference.run, "suspended")
            gone_on = agent_with(act | send).on(ScriptedModel(say("done")))
            again = await rt.resume(gone_on, reference, {"s": Approved("ada")})
            assert (again.unwrap().output, sorted(ledger.ran)) == ("done", ["a", "s"])


@pytest.mark.parametrize("kind", STORES)
async def test_a_resumed_run_that_runs_is_interrupted_and_what_started_is_unknown(kind: str, tmp_path: Path) -> None:
    entered = asyncio.Event()

    @tool(needs_approval=True)
    async def send(call: Word, ok: Try[Never]) -> str:
        """Send, and never come back."""
        entered.set()
        await asyncio.Event().wait()
        return call.text

    async with asyncio.timeout(50), house(kind, tmp_path) as home:
        deferred = DeferredApproval(same_process=True)
        async with home.open(deferred) as rt:
            ended = await rt.run(agent_with(act | send).on(ScriptedModel(ASKED)), "go", conversation="c")
        async with home.open(deferred) as rt:
            gone_on = agent_with(act | send).on(ScriptedModel())
            running = asyncio.create_task(rt.resume(gone_on, ended.failure().cause, {"s": Approved("ada")}))
            await entered.wait()
        assert (await running).failure().cause == RunInterrupted()
        async with home.open(deferred) as rt:
            endings, outcomes, holder = await ending_of(rt)
            assert (endings, holder) == (["interrupted"], None)
            assert outcomes["s"] == ToolUnknownOutcome()


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("how", ["native", "anyio"])
async def test_closing_is_whole_wherever_it_is_cancelled(kind: str, how: str, tmp_path: Path) -> None:
    """The close is cancelled after each number of turns of the loop, until it is not cut off any more."""
    async with asyncio.timeout(55), house(kind, tmp_path) as home:
        cut, before = 0, asyncio.all_tasks()
        for turns in range(1, 40 if kind == "memory" else 12):  # a task that never begins closes nothing
            conversation = f"c{turns}"
            approval, stack = Asked(), AsyncExitStack()
            rt = await stack.enter_async_context(home.open(approval))
            binding = agent_with(act | send).on(ScriptedModel(ASKED))
            waiting = asyncio.create_task(rt.run(binding, "go", conversation=conversation))
            await approval.until(1)
            cut += await _cut_off(stack.aclose, turns, how)
            ended = await waiting
            assert ended.failure().cause == RunInterrupted(), turns
            async with home.open() as rt:
                endings, outcomes, holder = await ending_of(rt, conversation)
                assert (endings, holder) == (["interrupted"], None), turns
                assert set(outcomes.values()) == {ToolRejected("not-started")}, turns
        assert cut > 1
        assert asyncio.all_tasks() == before


async def _cut_off(work: Callable[[], Awaitable[None]], turns: int, how: str) -> bool:
    """Run something, cancel it after so many turns of the loop, and tell whether that came in time."""
    if how == "native":
        task = asyncio.ensure_future(work())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()
    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            scope.cancel()

        canceller = asyncio.create_task(cancel())
        try:
            await work()
        finally:
            canceller.cancel()
    await asyncio.wait([canceller])
    return bool(scope.cancelled_caught)


async def test_runs_in_no_conversation_in_a_queue_and_under_a_handle_are_interrupted_too(tmp_path: Path) -> None:
    async with asyncio.timeout(50), house("memory", tmp_path) as home:
        approval, stack = Asked(), AsyncExitStack()
        rt = await stack.enter_async_context(home.open(approval))

        def run(**options: Any) -> asyncio.Task[Any]:
            binding = agent_with(act | send).on(ScriptedModel(ASKED))
            return asyncio.create_task(rt.run(binding, "go", **options))

        alone = run()
        await approval.until(1)
        first = run(conversation="c")
        await approval.until(2)
        second = run(conversation="c", busy="queue")
        async with rt.start(agent_with(send).on(ScriptedModel(call_tool("send", text="s", id="s"))), "go") as held:
            await approval.until(3)
            await stack.aclose()
            assert (await held.result()).failure().cause == RunInterrupted()
            assert [type(event).__name__ async for event in held.events()][-1] == "RunStopped"
        causes = [(await task).failure().cause for task in (alone, first, second)]

    assert causes == [RunInterrupted()] * 3
    assert approval.waiting == ()


class Held(Store):
    """A store that holds back the writes with a certain record until `gate` is set."""

    def __init__(self, store: Store, record: str) -> None:
        self.durable = store.durable
        self.store = store
        self.record = record
        self.held, self.gate = asyncio.Event(), asyncio.Event()

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        if any(id_.startswith(self.record) for _, id_ in records_in(statements)):
            self.held.set()
            await self.gate.wait()
        return await self.store.write(*statements)

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self.store.read(sql, *parameters)


async def test_a_run_that_has_its_answer_keeps_it(tmp_path: Path) -> None:
    """The interruption comes when the run is over for everybody but its store."""
    stores: list[Held] = []

    def over(store: Store) -> Store:
        stores.append(Held(store, "ended:"))
        return stores[-1]

    async with asyncio.timeout(50), AsyncExitStack() as stack:
        talk = await stack.enter_async_context(talking(Place("memory", tmp_path), over=over))
        running = asyncio.create_task(talk.run(agent_with(act).on(ScriptedModel(say("done")))))
        await stores[0].held.wait()
        asyncio.get_running_loop().call_soon(stores[0].gate.set)
        await stack.aclose()

        assert (await running).unwrap().output == "done"


async def test_what_finished_keeps_its_outcome_and_what_only_reads_is_no_riddle(tmp_path: Path) -> None:
    entered = asyncio.Event()

    @tool(execution="readonly")
    async def look(call: Word, ok: Try[Never]) -> str:
        """Look for ever."""
        entered.set()
        await asyncio.Event().wait()
        return call.text

    async with asyncio.timeout(50), house("memory", tmp_path) as home:
        async with home.open() as rt:
            batch = call_tool("act", text="a", id="a") & call_tool("look", text="l", id="l")
            model = ScriptedModel(batch)
            running = asyncio.create_task(rt.run(agent_with(act | look).on(model), "go", conversation="c"))
            await entered.wait()
        assert (await running).failure().cause == RunInterrupted()
        async with home.open() as rt:
            _, outcomes, _ = await ending_of(rt)
    assert outcomes == {"a": ToolSuccess("a"), "l": ToolDefect("interrupted")}


async def test_a_run_that_will_not_end_is_left_in_time_and_the_services_are_released(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entered, let_go = asyncio.Event(), asyncio.Event()

    @tool()
    async def stubborn(call: Word, ok: Try[Never]) -> str:
        """Hear no cancel."""
        entered.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return call.text

    async with asyncio.timeout(50), house("memory", tmp_path) as home:
        stack = AsyncExitStack()
        rt = await stack.enter_async_context(home.open(close_timeout=0.1))
        model = ScriptedModel(call_tool("stubborn", text="s", id="s"))
        running = asyncio.create_task(rt.run(agent_with(stubborn).on(model), "go", conversation="c"))
        await entered.wait()
        await stack.aclose()
        assert not running.done()
        let_go.set()
        assert (await running).failure().cause == RunInterrupted()


async def test_a_run_that_begins_while_the_runtime_closes_asks_nothing(tmp_path: Path) -> None:
    async with asyncio.timeout(50), house("memory", tmp_path) as home:
        approval, stack = Asked(), AsyncExitStack()
        rt = await stack.enter_async_context(home.open(approval))
        waiting = asyncio.create_task(
            rt.run(agent_with(send).on(ScriptedModel(call_tool("send", text="s", id="s"))), "go", conversation="c")
        )
        await approval.until(1)
        model = ScriptedModel(say("never"))
        async with rt.start(agent_with(act).on(model), "go", conversation="d") as late:
            await stack.aclose()  # its task has not had its first step
            assert (await late.result()).failure().cause == RunInterrupted()
        assert (await waiting).failure().cause == RunInterrupted()
        assert model.requests == ()
        with pytest.raises(RuntimeError, match="the runtime is closed"):
            await rt.run(agent_with(act).on(model), "go")


async def test_a_body_that_ignores_its_cancel_keeps_what_it_holds_until_it_ends(tmp_path: Path) -> None:
    """Nothing is said of it before: no result, no outcome, and its conversation is not given away."""
    entered, let_go = asyncio.Event(), asyncio.Event()

    @tool(max_concurrency=1)
    async def stubborn(call: Word, ok: Try[Never]) -> str:
        """Clean up for longer than anybody likes."""
        try:
            entered.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.shield(asyncio.ensure_future(let_go.wait()))
        return call.text

    async with asyncio.timeout(50), talking(Place("memory", tmp_path)) as talk:
        batch = call_tool("stubborn", text="s", id="s")
        binding = agent_with(stubborn).on(ScriptedModel(batch))
        async with talk.rt.start(binding, "go", conversation="c") as run:
            await entered.wait()
            run.interrupt()
            for _ in range(100):
                await asyncio.sleep(0)
            assert (await talk.holder())[0] == run.id
            assert not [entry for entry in await talk.log() if isinstance(entry.record, ResultSettled)]
            let_go.set()
            assert (await run.result()).failure().cause == RunInterrupted()
        (settled,) = [entry.record for entry in await talk.log() if isinstance(entry.record, ResultSettled)]
        assert settled.outcome == ToolUnknownOutcome()
        assert await talk.holder() == (None, None)
