"""Runs in conversations: prior history is an exact prefix, one run at a time, never interleaved, never lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Never

import pytest
from returns.result import Failure, Success

from lamina.approval import ScriptedApproval
from lamina.call import CallKey, ToolSuccess
from lamina.conversation import (
    AppendConflict,
    CallStarted,
    ConversationBusy,
    History,
    InputRecorded,
    InvalidId,
    JournalFailed,
    NotAllowed,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    StoredConversations,
    history_problems,
)
from lamina.effect import ConstructionError, SystemClock, Try
from lamina.engine import ConversationFailed, PolicyExceeded, RunInterrupted
from lamina.model import AssistantMessage, Authentication, ToolCall, UserMessage
from lamina.runtime import RuntimeBuilder, build
from lamina.store import Statement, Store, StoreFull, Value
from lamina.testing import ScriptedModel, VirtualClock, call_tool, fail, say
from lamina.tools import tool
from tests.conversing import Doubtful, Ledger, act, gated, send, talking
from tests.stores import DURABLE, STORES, Place
from tests.unit.engine.world import Word, after_steps, agent_with, declared_in, outcomes_by_id

yes = ScriptedApproval(lambda request: True)


def texts(request: Any) -> list[str]:
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_sees_what_was_said_before_as_an_exact_prefix(kind: str, tmp_path: Path) -> None:
    agent, histories = agent_with(act), list[History]()
    async with talking(Place(kind, tmp_path)) as talk:
        for number in range(3):
            model = ScriptedModel(call_tool("act", text=f"a{number}", id="x"), say(f"done {number}"))
            ended = await talk.run(agent.on(model), f"in {number}")
            history = ended.unwrap().report.history
            before = histories[-1].messages if histories else ()
            assert history.messages[: len(before)] == before
            asked = [message for message in model.requests[0].messages if type(message).__name__ != "SystemMessage"]
            assert tuple(asked) == (*before, UserMessage.of(f"in {number}"))
            assert ended.unwrap().report.conversation == "c"
            histories.append(history)
        assert (await talk.conversations.history("c")).unwrap() == histories[-1]
        assert await talk.holder() == (None, None)
        assert isinstance(await talk.conversations.verify("c"), Success)
        assert talk.ledger.ran == ["a0", "a1", "a2"]


@pytest.mark.parametrize("kind", DURABLE)
async def test_another_runtime_over_the_store_goes_on_with_it(kind: str, tmp_path: Path) -> None:
    place, agent = Place(kind, tmp_path), agent_with(act)
    async with talking(place) as talk:
        first = await talk.run(agent.on(ScriptedModel(call_tool("act", text="a"), say("one"))))
    async with talking(place) as talk:
        model = ScriptedModel(say("two"))
        await talk.run(agent.on(model), "again")
    before = first.unwrap().report.history.messages
    assert tuple(model.requests[0].messages[1:-1]) == before


@pytest.mark.parametrize("kind", STORES)
async def test_a_second_run_is_rejected_and_neither_asks_nor_records(kind: str, tmp_path: Path) -> None:
    gate, entered = asyncio.Event(), asyncio.Event()
    async with talking(Place(kind, tmp_path)) as talk:
        binding = agent_with(gated(gate, entered)).on(ScriptedModel(call_tool("wait", text="x"), say("one")))
        first = asyncio.create_task(talk.run(binding))
        await entered.wait()
        before, model = await talk.ids(), ScriptedModel()
        refused = await talk.run(agent_with().on(model))
        assert await talk.ids() == before
        gate.set()
        assert (await first).unwrap().output == "one"

    cause = refused.failure().cause
    assert isinstance(cause, ConversationBusy)
    assert (cause.conversation, cause.state) == ("c", "active")
    assert cause.run == (await first).unwrap().report.run
    assert model.requests == ()


@pytest.mark.parametrize("kind", STORES)
async def test_queued_runs_come_one_after_the_other_in_their_order(kind: str, tmp_path: Path) -> None:
    gate, entered, clock = asyncio.Event(), asyncio.Event(), VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        binding = agent_with(gated(gate, entered)).on(ScriptedModel(call_tool("wait", text="x"), say("0")))
        runs = [asyncio.create_task(talk.run(binding, "in 0"))]
        await entered.wait()
        models = [ScriptedModel(say(str(number))) for number in range(1, 6)]
        for number, model in enumerate(models, 1):
            runs.append(asyncio.create_task(talk.run(agent_with().on(model), f"in {number}", busy="queue")))
            await after_steps(20)
        await clock.advance(1)
        assert not any(model.requests for model in models)
        gate.set()
        await runs[0]
        while not all(run.done() for run in runs):
            await clock.advance(0.25)
            await asyncio.sleep(0.001)  # a store's own thread is not the virtual clock's

        assert [run.result().unwrap().output for run in runs] == [str(number) for number in range(6)]
        history = (await talk.conversations.history("c")).unwrap()
        said = [message.text for message in history.messages if isinstance(message, UserMessage)]
        assert said == [f"in {number}" for number in range(6)]
        assert texts(models[-1].requests[0]) == said


class Counting(Store):
    """A store that says when it does nothing: virtual time goes on only then, as if the store took none."""

    def __init__(self, store: Store) -> None:
        self.durable = store.durable
        self.store = store
        self.busy = 0
        self.idle = asyncio.Event()

    async def write(self, *statements: Statement) -> Any:
        return await self._count(self.store.write(*statements))

    async def read(self, sql: str, *parameters: Value) -> Any:
        return await self._count(self.store.read(sql, *parameters))

    async def _count(self, work: Any) -> Any:
        self.busy += 1
        self.idle.clear()
        try:
            return await work
        finally:
            self.busy -= 1
            if not self.busy:
                self.idle.set()

    async def pass_time(self, clock: VirtualClock, seconds: float) -> None:
        for _ in range(int(seconds * 4)):
            await self.settled()
            await clock.advance(0.25)
        await self.settled()

    async def settled(self) -> None:
        quiet = 0
        while quiet < 50:
            await asyncio.sleep(0)
            quiet = quiet + 1 if not self.busy else 0
            if self.busy:
                await self.idle.wait()


@pytest.mark.parametrize("kind", STORES)
async def test_waiting_in_the_queue_is_no_part_of_the_duration_and_what_follows_is(kind: str, tmp_path: Path) -> None:
    """The time of a run begins with its first record, which is written when it has the conversation (RUN-030)."""
    gate, entered, clock = asyncio.Event(), asyncio.Event(), VirtualClock()
    never, reached = asyncio.Event(), asyncio.Event()
    counting: list[Counting] = []

    def over(store: Store) -> Store:
        counting.append(Counting(store))
        return counting[-1]

    async with asyncio.timeout(50), talking(Place(kind, tmp_path), clock=clock, lease=1_000, over=over) as talk:
        binding = agent_with(gated(gate, entered)).on(ScriptedModel(call_tool("wait", text="x"), say("0")))
        first = asyncio.create_task(talk.run(binding))
        await entered.wait()
        slow = agent_with(gated(never, reached), max_duration=10).on(ScriptedModel(call_tool("wait", text="x")))
        late = asyncio.create_task(talk.run(slow, busy="queue"))
        behind = asyncio.create_task(talk.run(agent_with(max_duration=10).on(ScriptedModel(say("1"))), busy="queue"))
        await counting[0].pass_time(clock, 20)  # longer than the run may last
        assert not late.done()
        gate.set()
        assert (await first).unwrap().output == "0"
        await reached.wait()
        await counting[0].pass_time(clock, 9)
        assert not late.done()
        await counting[0].pass_time(clock, 1)
        ended = await late
        assert ended.failure().cause == PolicyExceeded("duration")
        assert (await behind).unwrap().output == "1"
        assert talk.rt._core.lanes._lanes == {}


@pytest.mark.parametrize("kind", STORES)
async def test_a_fork_goes_its_own_way_with_what_was_said_before(kind: str, tmp_path: Path) -> None:
    gate, entered = asyncio.Event(), asyncio.Event()
    async with talking(Place(kind, tmp_path)) as talk:
        await talk.run(agent_with().on(ScriptedModel(say("before"))), "first")
        binding = agent_with(gated(gate, entered)).on(ScriptedModel(call_tool("wait", text="x"), say("one")))
        first = asyncio.create_task(talk.run(binding, "second"))
        await entered.wait()
        model = ScriptedModel(say("mine"))
        forked = agent_with().on(model)
        async with talk.rt.start(forked, "other", conversation="c", busy="fork") as run:
            report = (await run.result()).unwrap().report
            events = [event async for event in run.events()]
        gate.set()
        await first

        assert texts(model.requests[0]) == ["first", "other"]
        assert report.conversation not in (None, "c")
        assert {event.conversation for event in events} == {report.conversation}
        assert (await talk.conversations.history(report.conversation)).unwrap() == report.history
        said = (await talk.conversations.history("c")).unwrap().messages
        assert [message.text for message in said if isinstance(message, UserMessage)] == ["first", "second"]
        assert (await talk.holder(report.conversation)) == (None, None)


@pytest.mark.parametrize("kind", STORES)
async def test_runs_that_begin_at_once_never_interleave_and_none_is_lost(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        models = [ScriptedModel(call_tool("act", text=f"{number}"), say(f"{number}")) for number in range(8)]
        runs = [
            talk.run(agent_with(act).on(model), f"in {number}", busy="queue") for number, model in enumerate(models)
        ]
        ended = await asyncio.gather(*runs)
        log = await talk.log()
        owners = [entry.record.run for entry in log if hasattr(entry.record, "run")]
        changes = [owner for place, owner in enumerate(owners) if not place or owners[place - 1] != owner]

    assert sorted(each.unwrap().output for each in ended) == [f"{number}" for number in range(8)]
    assert sorted(talk.ledger.ran) == [f"{number}" for number in range(8)]
    assert len(changes) == len(set(changes)) == 8
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))


@pytest.mark.parametrize("kind", STORES)
async def test_another_principals_conversation_is_as_if_it_were_not_there(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        await talk.run(agent_with().on(ScriptedModel(say("a"))), principal="ada")
        before, model = await talk.log(principal="ada"), ScriptedModel()
        for principal in ("bob", None):
            for busy in ("reject", "queue", "fork"):
                refused = await talk.run(agent_with().on(model), principal=principal, busy=busy)
                assert refused.failure().cause == ConversationFailed(NotAllowed("conversation", "c"))
        assert await talk.log(principal="ada") == before
        assert model.requests == ()
        assert [entry.record.author for entry in before if hasattr(entry.record, "author")] == ["ada"]


@pytest.mark.parametrize("name", ["", "a" * 10_240, "a/b", "a\\b", "a\0b", ".\n", "\ud800"])
async def test_an_id_that_can_be_none_is_refused_and_no_model_is_asked(name: str, tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        model = ScriptedModel()
        refused = await talk.run(agent_with().on(model), conversation=name)
        cause = refused.failure().cause
        assert isinstance(cause, ConversationFailed)
        assert isinstance(cause.error, InvalidId)
        assert model.requests == ()
        assert (await talk.conversations.list()).unwrap() == ()


async def test_a_history_beside_a_conversation_is_refused(tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        with pytest.raises(ConstructionError) as refused:
            await talk.run(agent_with().on(ScriptedModel()), history=History())
        (problem,) = refused.value.problems
        assert (problem.kind, problem.write) == ("HISTORY", "leave history= out")
        assert (await talk.conversations.list()).unwrap() == ()


async def test_without_conversations_the_run_is_refused_before_it_begins() -> None:
    model = ScriptedModel()
    binding = agent_with().on(model)
    async with build(RuntimeBuilder().agent(binding)) as rt:
        with pytest.raises(ConstructionError) as refused:
            await rt.run(binding, "go", conversation="c")
    said = str(refused.value)
    assert "MISSING Conversations" in said
    assert 'agent "tester" (conversation=)' in said
    assert 'stored_conversations() | sqlite_store("lamina.db")' in said
    assert model.requests == ()


@pytest.mark.parametrize("kind", STORES)
async def test_a_store_that_fails_once_loses_no_result_and_the_tool_is_not_run_again(kind: str, tmp_path: Path) -> None:
    async def with_fault_at(fault: int) -> bool:
        """Fail one write, and say whether there was one of that number."""
        reached: list[int] = []

        def refuses(number: int, _: Any) -> bool:
            reached.append(number)
            return number == fault

        async with talking(Place(kind, tmp_path / str(fault)), refuses=refuses) as talk:
            turn = call_tool("act", text="a") & call_tool("act", text="b")
            ended = await talk.run(agent_with(act).on(ScriptedModel(turn, call_tool("act", text="c"), say("done"))))
            if fault > max(reached):
                assert ended.unwrap().output == "done"
                return False
            if fault == 1:  # the claim itself: nothing has happened
                assert ended.failure().cause == ConversationFailed(StoreFull())
                assert talk.ledger.ran == []
                return True
            cause = ended.failure().cause
            assert isinstance(cause, JournalFailed)
            assert cause.cause == StoreFull()
            ran = list(talk.ledger.ran)
            assert len(set(ran)) == len(ran)
            assert await talk.holder() == (None, None)
            settled = [entry.record for entry in await talk.log() if isinstance(entry.record, ResultSettled)]
            values = {record.outcome.value for record in settled if hasattr(record.outcome, "value")}
            assert values == set(ran), "what ran is on record"
            again = ScriptedModel(say("fine"))
            assert (await talk.run(agent_with(act).on(again), "retry")).unwrap().output == "fine"
            told = outcomes_by_id(again.requests[0])
            assert set(ran) <= {value for value in told.values() if isinstance(value, str)}
            assert talk.ledger.ran == ran
            assert not any(isinstance(entry.record, RepairAnnotated) for entry in await talk.log())
        return True

    for fault in range(1, 40):
        (tmp_path / str(fault)).mkdir()
        if not await with_fault_at(fault):
            assert fault > 5
            return
    pytest.fail("the run never got through")


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_that_is_gone_is_repaired_once_and_reported_once(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, place = VirtualClock(), Place(kind, tmp_path)
    async with talking(place, clock=clock, approval=yes) as talk:
        claim = (await talk.conversations.claim("c", "gone")).unwrap()
        response = AssistantMessage((ToolCall("x", "act", '{"text":"a"}'), ToolCall("y", "act", '{"text":"b"}')))
        key = CallKey("gone", 1, "x")
        await claim.log.append(ResponseDeclared("gone", 1, response))
        await claim.log.append(CallStarted(key, "digest", None))
        await clock.advance(31)
        model = ScriptedModel(say("a"))
        assert (await talk.run(agent_with(act).on(model))).unwrap().output == "a"
        told = outcomes_by_id(model.requests[0])
        assert [told["x"]["_tag"], told["y"]["reason"]] == ["ToolUnknownOutcome", "not-started"]
        logged = [record for record in caplog.records if "repaired" in record.getMessage()]
        assert len(logged) == 3  # two calls, and the run
        caplog.clear()
        await talk.run(agent_with().on(ScriptedModel(say("b"))))
        assert not [record for record in caplog.records if "repaired" in record.getMessage()]
        annotated = [entry for entry in await talk.log() if isinstance(entry.record, RepairAnnotated)]
        assert len(annotated) == 1
        late = await claim.log.append(ResultSettled(key, ToolSuccess("late")))
        assert isinstance(late, Failure)
        assert talk.ledger.ran == []


TURN = call_tool("act", text="a") & call_tool("slow", text="s") & call_tool("send", text="p")


@tool()
async def slow(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Take five steps."""
    await after_steps(5)
    ledger.ran.append(call.text)
    return call.text


@pytest.mark.parametrize("how", ["native", "interrupt", "leave", "twice"])
@pytest.mark.parametrize("turn", [TURN, call_tool("slow", text="s")], ids=["three", "one"])
async def test_cancelled_at_every_step_the_conversation_is_free_and_goes_on(
    how: str, turn: Any, tmp_path: Path
) -> None:
    agent = agent_with(act | slow | send)
    for step in range(400):
        async with talking(Place("memory", tmp_path), approval=yes) as talk:
            handle = talk.rt.start(agent.on(ScriptedModel(turn, say("done"))), "go", conversation="c")
            async with handle as run:
                task = run._active[1]  # type: ignore[index]  # the task that a foreign canceller would hit
                await after_steps(step)
                by_itself = task.done()
                if how == "native":
                    task.cancel()
                elif how == "twice":
                    task.cancel()
                    await after_steps(1)
                    task.cancel()
                elif how == "interrupt":
                    run.interrupt()
            result = await run.result()
            if isinstance(result, Failure):
                assert isinstance(result.failure().cause, RunInterrupted)
            ran = list(talk.ledger.ran)
            again = ScriptedModel(say("fine"))
            went_on = await talk.run(agent.on(again), "and now?")
            assert isinstance(went_on, Success), f"at step {step}: {went_on}"
            assert await talk.holder() == (None, None)
            log = await talk.log()
            assert not any(isinstance(entry.record, RepairAnnotated) for entry in log), f"at step {step}"
            history = (await talk.conversations.history("c")).unwrap()
            assert history_problems(history.messages) == []
            before = run.history.messages
            begun = any(isinstance(message, UserMessage) for message in before)
            if begun:
                assert history.messages[: len(before)] == before, f"at step {step}"
            told = outcomes_by_id(again.requests[0])
            assert set(told) == set(declared_in(again.requests[0]))
            started = {entry.record.key.call for entry in log if isinstance(entry.record, CallStarted)}
            for call, outcome in told.items():
                if isinstance(outcome, str):
                    assert outcome in ran
                else:
                    assert (outcome["_tag"] == "ToolUnknownOutcome") == (call in started)
            assert talk.ledger.ran == ran
        if by_itself:
            assert step > 10
            return
    pytest.fail("the run never ended by itself")


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize(
    ("turns", "changes"),
    [
        ((say("done"),), {}),
        ((fail(Authentication()),), {}),
        ((call_tool("send", text="x"),), {}),
        ((call_tool("act", text="x"),) * 2, {"max_turns": 1}),
        ((), {}),
        ((call_tool("act", text="x").ending("length"),), {}),
    ],
    ids=["answer", "model error", "denied", "exhausted", "defect", "protocol"],
)
async def test_the_conversation_is_free_after_every_ending(
    kind: str, turns: Any, changes: dict[str, Any], tmp_path: Path
) -> None:
    no = ScriptedApproval(lambda request: False)
    async with talking(Place(kind, tmp_path), approval=no) as talk:
        await talk.run(agent_with(act | send, **changes).on(ScriptedModel(*turns)))
        assert await talk.holder() == (None, None)
        assert (await talk.ids())[-1].startswith("ended:")
        assert (await talk.run(agent_with().on(ScriptedModel(say("next"))))).unwrap().output == "next"


@pytest.mark.parametrize("kind", STORES)
async def test_a_lease_is_renewed_while_a_tool_takes_longer_and_nobody_takes_over(kind: str, tmp_path: Path) -> None:
    gate, entered, clock = asyncio.Event(), asyncio.Event(), VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock, lease=30) as talk:
        binding = agent_with(gated(gate, entered)).on(ScriptedModel(call_tool("wait", text="x"), say("one")))
        first = asyncio.create_task(talk.run(binding))
        await entered.wait()
        for _ in range(20):
            async with asyncio.timeout(20):
                # The run's own deadline, and the next renewal: an answer may be under way.
                while clock.pending < 2:  # noqa: ASYNC110 - a clock has no event for it
                    await asyncio.sleep(0.001)
            before = (await talk.conversations.claim("c", "other")).failure().until  # type: ignore[union-attr]
            await clock.advance(10)
            for _ in range(2_000):  # the renewal may be in the store's own thread
                if (await talk.conversations.claim("c", "other")).failure().until > before:  # type: ignore[union-attr]
                    break
                await asyncio.sleep(0.001)
            else:
                pytest.fail("the lease was not renewed")
        gate.set()
        assert (await first).unwrap().output == "one"
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("lamina lease")]


async def test_a_run_that_lost_its_conversation_runs_nothing_more_and_writes_nothing(tmp_path: Path) -> None:
    gate, entered, ledger = asyncio.Event(), asyncio.Event(), Ledger()
    async with talking(Place("memory", tmp_path), ledger=ledger) as talk:
        turns = call_tool("wait", text="x"), call_tool("act", text="never")
        first = asyncio.create_task(talk.run(agent_with(gated(gate, entered) | act).on(ScriptedModel(*turns))))
        await entered.wait()
        run, _ = await talk.holder()
        assert run is not None
        assert isinstance(await talk.conversations.abort("c", run), Success)
        after = await talk.ids()
        gate.set()
        cause = (await first).failure().cause
        assert isinstance(cause, JournalFailed)
        assert isinstance(cause.cause, AppendConflict)
        assert ledger.ran == []
        assert await talk.ids() == after


@pytest.mark.parametrize("busy", ["Reject", "", None, 5, ["queue"]])
async def test_a_way_to_be_busy_that_there_is_not_is_refused_and_goes_no_other_way(busy: Any, tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        model = ScriptedModel()
        with pytest.raises(ConstructionError, match="busy is one of reject, queue, steer, fork"):
            await talk.run(agent_with().on(model), busy=busy)
        assert model.requests == ()
        assert (await talk.conversations.list()).unwrap() == ()


@pytest.mark.parametrize("busy", ["reject", "queue", "fork"])
async def test_what_is_no_id_at_all_is_refused_as_one(busy: str, tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        refused = await talk.run(agent_with().on(ScriptedModel()), conversation=["c"], busy=busy)
        assert refused.failure().cause == ConversationFailed(InvalidId("conversation", "it is no text"))


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", STORES)
async def test_a_claim_that_is_in_doubt_is_found_or_made_again(kind: str, kept: bool, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        (await talk.run(agent_with().on(ScriptedModel(say("one"))), "first")).unwrap()
        store = Doubtful(talk.store, "began:", kept=kept)
        doubted = StoredConversations(store, SystemClock())
        for number, conversation in enumerate(["c", "new"], 2):
            store.left = True
            run = f"run-{number}"
            opening = (RunBegan(run, "tester"), InputRecorded(run, f"in-{number}", "user", None, "second"))
            claim = (await doubted.claim(conversation, run, opening=opening)).unwrap()
            assert [message.text for message in claim.history.messages] == (["first", "one"] if number == 2 else [])
            assert claim.repairs == ()
            (await claim.log.append(RunEnded(run, "completed"))).unwrap()
            ids = [entry.id for entry in await talk.log(conversation)]
            assert ids[-3:] == [f"began:{run}", f"input:in-{number}", f"ended:{run}"]
            assert await talk.holder(conversation) == (None, None)
            assert isinstance(await talk.conversations.verify(conversation), Success)


@pytest.mark.parametrize("kind", STORES)
async def test_without_a_run_nothing_is_claimed_resumed_or_aborted(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        (await talk.run(agent_with().on(ScriptedModel(say("one"))))).unwrap()
        log, none = await talk.log(), InvalidId("run", "it is no text")
        nobody: Any = None
        for asked in (talk.conversations.claim, talk.conversations.resume, talk.conversations.abort):
            assert await asked("c", nobody) == Failure(none)
        assert await talk.log() == log
