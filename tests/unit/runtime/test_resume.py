"""Suspended runs: kept as JSON, resumed by whoever has the store, exactly once, without asking the model again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Never

import attrs
import pytest
from returns.result import Failure, Success

from lamina.agent import Agent
from lamina.approval import Approval, Approved, Deferred, DeferredApproval, Denied
from lamina.call import ToolRejected
from lamina.conversation import (
    AlreadyDecided,
    CallStarted,
    ConversationBusy,
    History,
    InvalidId,
    JournalFailed,
    RepairAnnotated,
    ResultSettled,
)
from lamina.effect import ConstructionError, Try, bind
from lamina.engine import (
    ApprovalDenied,
    ConversationFailed,
    PolicyExceeded,
    RunAwaitsDecision,
    RunDefect,
    RunInterrupted,
    RunSuspended,
)
from lamina.runtime import RuntimeBuilder, build
from lamina.schema import codec
from lamina.store import Statement, Store, StoreUnavailable
from lamina.testing import ScriptedModel, VirtualClock, call_tool, say
from lamina.tools import tool
from tests.conversing import Doubtful, Faulty, Ledger, Talk, act, post, records_in, send, talking
from tests.speaking import Listener
from tests.stores import DURABLE, STORES, Place
from tests.unit.engine.world import Word, agent_with, outcomes_by_id

BATCH = call_tool("act", text="a", id="a") & call_tool("send", text="s", id="s") & call_tool("post", text="p", id="p")
YES = {"s": Approved("ada"), "p": Approved("ada")}
TOOLS = act | send | post


async def suspended(talk: Talk, turn: Any = BATCH, **changes: Any) -> RunSuspended:
    """Run an agent until it waits, and give the reference as it comes back from JSON."""
    model = ScriptedModel(turn)
    ended = await talk.run(agent_with(TOOLS, **changes).on(model))
    cause = ended.failure().cause
    assert isinstance(cause, RunSuspended)
    assert ended.failure().report.history.messages[-1].text == "go"
    kept = codec(RunSuspended).encode_json(cause).unwrap()
    return codec(RunSuspended).decode_json(kept).unwrap()


@asynccontextmanager
async def elsewhere(place: Place, talk: Talk, **options: Any) -> AsyncGenerator[Talk, None]:
    """Give another runtime over the same database; where there is none, the same."""
    if place.kind == "memory":
        yield talk
        return
    async with talking(place, **options) as other:
        yield other


@pytest.mark.parametrize("kind", STORES)
async def test_approved_it_goes_on_elsewhere_and_the_model_is_not_asked_again_for_the_batch(
    kind: str, tmp_path: Path
) -> None:
    place = Place(kind, tmp_path)
    async with talking(place) as talk:
        waiting = await suspended(talk)
        assert [(each.call, each.tool) for each in waiting.waiting] == [("s", "send"), ("p", "post")]
        assert talk.ledger.ran == []
        assert await talk.holder() == (waiting.run, "suspended")
        async with elsewhere(place, talk) as other:
            model = ScriptedModel(say("done"))
            ended = await other.rt.resume(agent_with(TOOLS).on(model), waiting, YES)
            assert ended.unwrap().output == "done"
            report = ended.unwrap().report
            assert (report.run, report.turns, report.tool_calls) == (waiting.run, 2, 3)
            assert (report.usage.requests, report.conversation) == (2, "c")
            assert sorted(other.ledger.ran) == ["a", "p", "s"]
            assert outcomes_by_id(model.requests[0]) == {"a": "a", "s": "s", "p": "p"}
            assert (await other.conversations.history("c")).unwrap() == report.history
            started = [entry.record for entry in await other.log() if isinstance(entry.record, CallStarted)]
            assert {record.key.call: record.approved_by for record in started} == {"a": None, "s": "ada", "p": "ada"}
            assert isinstance(await other.conversations.verify("c"), Success)
            assert await other.holder() == (None, None)


async def test_a_resumed_run_can_be_watched(tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        waiting = await suspended(talk)
        binding = agent_with(TOOLS).on(ScriptedModel(say("done")))
        async with talk.rt.start_resumed(binding, waiting) as run:
            kinds = [type(event).__name__ async for event in run.events()]
            assert (run.id, kinds) == (waiting.run, ["RunAwaitsDecision"])
            assert isinstance((await run.result()).failure().cause, RunSuspended)
        async with talk.rt.start_resumed(binding, waiting, YES) as run:
            events = [event async for event in run.events()]
            ended = await run.result()

    assert ended.unwrap().output == "done"
    assert {(event.run, event.conversation) for event in events} == {(waiting.run, "c")}
    kinds = [type(event).__name__ for event in events]
    assert (kinds[0], kinds.count("ToolCallSucceeded"), kinds[-1]) == ("RunStarted", 3, "RunCompleted")


@pytest.mark.parametrize("kind", STORES)
async def test_a_second_resume_gets_already_decided_and_runs_nothing(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    async with talking(place) as talk:
        waiting = await suspended(talk)
        await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel(say("done"))), waiting, YES)
        log, ran = await talk.log(), list(talk.ledger.ran)
        async with elsewhere(place, talk) as other:
            model, before = ScriptedModel(), list(other.ledger.ran)
            again = await other.rt.resume(agent_with(TOOLS).on(model), waiting, YES)
            assert again.failure().cause == AlreadyDecided("c", waiting.run)
            assert (model.requests, other.ledger.ran, await other.log()) == ((), before, log)
        assert talk.ledger.ran == ran


@pytest.mark.parametrize("kind", STORES)
async def test_of_many_that_resume_at_once_one_goes_on_and_the_bodies_run_once(kind: str, tmp_path: Path) -> None:
    place, ledger = Place(kind, tmp_path), Ledger()
    async with talking(place, ledger=ledger) as talk:
        waiting = await suspended(talk)
        async with elsewhere(place, talk, ledger=ledger) as other:

            async def resume(number: int) -> Any:
                binding = agent_with(TOOLS).on(ScriptedModel(say("done")))
                return await (talk, other)[number % 2].rt.resume(binding, waiting, YES)

            ended = await asyncio.gather(*[resume(number) for number in range(6)])
    assert sorted(ledger.ran) == ["a", "p", "s"]
    assert len([each for each in ended if isinstance(each, Success)]) == 1
    causes = [each.failure().cause for each in ended if isinstance(each, Failure)]
    assert causes == [AlreadyDecided("c", waiting.run)] * 5


@pytest.mark.parametrize("kind", STORES)
async def test_a_denial_ends_the_run_or_is_told_where_it_is_recoverable(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await suspended(talk)
        denied = {"s": Denied("ada", "no"), "p": Approved("ada")}
        ended = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel()), waiting, denied)
        assert isinstance(ended.failure().cause, ApprovalDenied)
        assert ended.failure().cause.reason == "no"
        assert talk.ledger.ran == []
        assert await talk.holder() == (None, None)

        waiting, model = await suspended(talk), ScriptedModel(say("done"))
        recoverable = {"s": Approved("ada"), "p": Denied("ada", "not today")}
        ended = await talk.rt.resume(agent_with(TOOLS).on(model), waiting, recoverable)
        assert ended.unwrap().output == "done"
        assert sorted(talk.ledger.ran) == ["a", "s"]
        assert "not today" in str(outcomes_by_id(model.requests[0])["p"])


@pytest.mark.parametrize("kind", STORES)
async def test_what_expired_is_a_denial_and_needs_no_decision(kind: str, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        waiting = await suspended(talk, call_tool("post", text="p", id="p"))
        await clock.advance(61)
        model = ScriptedModel(say("done"))
        late = await talk.rt.resume(agent_with(TOOLS).on(model), waiting, {"p": Approved("ada")})
        assert late.unwrap().output == "done"
        assert outcomes_by_id(model.requests[0])["p"]["reason"] == "expired"
        assert talk.ledger.ran == []


@pytest.mark.parametrize("kind", STORES)
async def test_while_calls_are_undecided_it_stays_suspended_and_nothing_changes(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await suspended(talk)
        log, model = await talk.log(), ScriptedModel(say("done"))
        for given, left in (({}, ["s", "p"]), ({"s": Approved("ada")}, ["p"]), ({"zzz": Approved("x")}, ["s", "p"])):
            still = (await talk.rt.resume(agent_with(TOOLS).on(model), waiting, given)).failure().cause
            assert isinstance(still, RunSuspended)
            assert [each.call for each in still.waiting] == left
        # A reference that leaves a call out decides nothing about it.
        cut = attrs.evolve(waiting, waiting=waiting.waiting[:1])
        still = (await talk.rt.resume(agent_with(TOOLS).on(model), cut, {"s": Approved("ada")})).failure().cause
        assert [each.call for each in still.waiting] == ["p"]  # type: ignore[union-attr]
        assert await talk.log() == log
        assert model.requests == ()
        assert await talk.holder() == (waiting.run, "suspended")
        assert (await talk.rt.resume(agent_with(TOOLS).on(model), waiting, YES)).unwrap().output == "done"


@pytest.mark.parametrize("kind", STORES)
async def test_a_decision_on_other_arguments_is_refused_and_the_tool_does_not_run(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting, model = await suspended(talk), ScriptedModel(say("done"))
        shown = tuple([attrs.evolve(each, arguments_digest="0" * 64) for each in waiting.waiting])
        forged = attrs.evolve(waiting, waiting=shown)
        ended = await talk.rt.resume(agent_with(TOOLS).on(model), forged, YES)
        assert ended.unwrap().output == "done"
        told = outcomes_by_id(model.requests[0])
        assert {told["s"]["reason"], told["p"]["reason"]} == {"denied"}
        assert talk.ledger.ran == ["a"]


@pytest.mark.parametrize("kind", STORES)
async def test_counters_and_budgets_are_the_runs_and_waiting_costs_no_time(kind: str, tmp_path: Path) -> None:
    clock, place = VirtualClock(), Place(kind, tmp_path)
    limits: dict[str, Any] = {"max_turns": 2, "max_tool_calls": 3, "max_duration": 100}
    async with talking(place, clock=clock) as talk:
        waiting = await suspended(talk, call_tool("send", text="1", id="s"), **limits)
        await clock.advance(10_000)
        async with elsewhere(place, talk, clock=clock) as other:
            model = ScriptedModel(call_tool("send", text="2", id="s"))
            binding = agent_with(TOOLS, **limits).on(model)
            second = (await other.rt.resume(binding, waiting, {"s": Approved("ada")})).failure()
            assert isinstance(second.cause, RunSuspended), second
            assert (second.cause.turn, second.report.turns, second.report.tool_calls) == (2, 2, 2)
            # The first reference is over, though the second batch has a call of the same id.
            old = await other.rt.resume(binding, waiting, {"s": Approved("ada")})
            assert old.failure().cause == AlreadyDecided("c", waiting.run)
            assert await other.holder() == (waiting.run, "suspended")
            last = ScriptedModel(say("x"))
            ended = await other.rt.resume(agent_with(TOOLS, **limits).on(last), second.cause, {"s": Approved("ada")})
            assert ended.value_or(None) is None or ended.unwrap().report.turns <= 3
            if isinstance(ended, Failure):
                assert ended.failure().cause == PolicyExceeded("turns")
            else:
                assert ended.unwrap().exhausted == "turns"
            assert other.ledger.ran == ["1", "2"]


@pytest.mark.parametrize("kind", STORES)
async def test_a_suspended_run_keeps_its_conversation(kind: str, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        waiting = await suspended(talk)
        await clock.advance(1_000_000)
        busy = (await talk.run(agent_with().on(ScriptedModel()))).failure().cause
        assert busy == ConversationBusy("c", waiting.run, "suspended", None)
        aborted = await talk.conversations.abort("c", waiting.run)
        assert isinstance(aborted, Success)
        model = ScriptedModel(say("free"))
        assert (await talk.run(agent_with(TOOLS).on(model))).unwrap().output == "free"
        assert {told["reason"] for told in outcomes_by_id(model.requests[0]).values()} == {"not-started"}
        gone = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel()), waiting, YES)
        assert gone.failure().cause == AlreadyDecided("c", waiting.run)


async def test_an_observer_is_told_what_the_run_waits_for(tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        binding = agent_with(TOOLS).on(ScriptedModel(BATCH))
        async with talk.rt.start(binding, "go", conversation="c") as run:
            result = await run.result()
            events = [event async for event in run.events()]
    assert isinstance(result.failure().cause, RunSuspended)
    assert isinstance(events[-1], RunAwaitsDecision)
    assert events[-1].calls == ("s", "p")


@pytest.mark.parametrize("kind", STORES)
async def test_another_principal_does_not_resume_it(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await suspended(talk)
        refused = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel()), waiting, YES, principal="bob")
        assert isinstance(refused.failure().cause, ConversationFailed)
        assert talk.ledger.ran == []
        assert await talk.holder() == (waiting.run, "suspended")


async def test_another_agent_does_not_resume_it(tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        waiting = await suspended(talk)
        other = Agent("other", instructions="x", policy=agent_with().policy, toolkit=TOOLS)
        with pytest.raises(ConstructionError, match="RESUME"):
            await talk.rt.resume(other.on(ScriptedModel()), waiting, YES)
        assert await talk.holder() == (waiting.run, "suspended")


@pytest.mark.parametrize("kind", STORES)
async def test_a_suspension_that_is_not_taken_ends_the_run_and_frees_the_conversation(
    kind: str, tmp_path: Path
) -> None:
    failed: list[int] = []

    def refuses(number: int, statements: Any) -> bool:
        if "suspended" in str(statements[0].parameters) and not failed:
            failed.append(number)
            return True
        return False

    async with talking(Place(kind, tmp_path), refuses=refuses) as talk:
        ended = await talk.run(agent_with(TOOLS).on(ScriptedModel(BATCH)))
        assert failed
        assert isinstance(ended.failure().cause, JournalFailed)
        assert {each.is_error for each in ended.failure().report.history.messages[-1].results} == {True}
        assert await talk.holder() == (None, None)
        assert talk.ledger.ran == []
        assert (await talk.run(agent_with(TOOLS).on(ScriptedModel(say("on"))))).unwrap().output == "on"


@pytest.mark.parametrize("kind", DURABLE)
@pytest.mark.parametrize("same_process", [False, True])
async def test_over_a_durable_store_deferring_needs_no_promise(kind: str, same_process: bool, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path), approval=DeferredApproval(same_process=same_process)) as talk:
        assert (await suspended(talk)).conversation == "c"


async def test_over_memory_deferring_is_refused_unless_one_process_is_meant(tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path), approval=DeferredApproval()) as talk:
        model = ScriptedModel()
        with pytest.raises(ConstructionError) as refused:
            await talk.run(agent_with(TOOLS).on(model))
        assert "MISSING durable Conversations" in str(refused.value)
        assert "DeferredApproval(same_process=True)" in str(refused.value)
        assert "tool send" in str(refused.value)
        assert model.requests == ()
    async with talking(Place("memory", tmp_path), approval=DeferredApproval(same_process=True)) as talk:
        assert (await suspended(talk)).conversation == "c"


async def test_deferring_without_conversations_or_outside_of_one_is_refused(tmp_path: Path) -> None:
    binding = agent_with(send).on(ScriptedModel())
    layer: Any = bind(Approval).value(DeferredApproval()) | bind(Ledger).value(Ledger())
    async with build(RuntimeBuilder().provide(layer)) as rt:
        with pytest.raises(ConstructionError, match="MISSING durable Conversations"):
            await rt.run(binding, "go", conversation="c")
    async with talking(Place("sqlite", tmp_path)) as talk:
        with pytest.raises(ConstructionError, match="MISSING conversation="):
            await talk.rt.run(binding, "go")


def broken(_: object) -> str:
    raise ValueError("canary")


async def test_a_resume_that_breaks_before_its_batch_settles_every_call_of_it(tmp_path: Path) -> None:
    async with talking(Place("memory", tmp_path)) as talk:
        waiting = await suspended(talk)
        agent = Agent("tester", instructions=broken, policy=agent_with().policy, toolkit=TOOLS)
        ended = (await talk.rt.resume(agent.on(ScriptedModel()), waiting, YES)).failure()
        assert ended.cause == RunDefect()
        await settled_honestly(talk, ended.report.history)


@pytest.mark.parametrize("kind", STORES)
async def test_a_resume_that_is_cancelled_while_it_is_taken_up_settles_every_call_of_it(
    kind: str, tmp_path: Path
) -> None:
    taken, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Faulty):
        """A store that says late that a run was taken up."""

        async def write(self, *statements: Statement) -> Any:
            answer = await super().write(*statements)
            if any(id_.startswith("resumed") for _, id_ in records_in(statements)):
                taken.set()
                await go_on.wait()
            return answer

    def slow(store: Store) -> Store:
        return Slow(store, lambda _number, _statements: False)

    async with talking(Place(kind, tmp_path), over=slow) as talk:
        waiting = await suspended(talk)
        run = talk.rt.start_resumed(agent_with(TOOLS).on(ScriptedModel()), waiting, YES)
        async with run:
            await taken.wait()
            run.interrupt()
            go_on.set()
            ended = (await run.result()).failure()
            events = [event async for event in run.events()]
        assert ended.cause == RunInterrupted()
        kinds = [type(event).__name__ for event in events]
        assert kinds == ["RunStarted", *["ToolCallDeclared"] * 3, *["ToolCallFailed"] * 3, "RunStopped"]
        await settled_honestly(talk, ended.report.history)


async def settled_honestly(talk: Talk, history: History) -> None:
    """Check that no call of the batch ran or is without its result, and that the log needs no repair for it."""
    assert talk.ledger.ran == []
    assert await talk.holder() == (None, None)
    assert history == (await talk.conversations.history("c")).unwrap()
    settled = [entry.record for entry in await talk.log() if isinstance(entry.record, ResultSettled)]
    assert {record.key.call: record.outcome for record in settled} == dict.fromkeys("asp", ToolRejected("not-started"))
    (await talk.run(agent_with(TOOLS).on(ScriptedModel(say("on"))))).unwrap()
    assert not [entry for entry in await talk.log() if isinstance(entry.record, RepairAnnotated)]


@pytest.mark.parametrize(
    ("decision", "refused"),
    [
        ("yes", InvalidId("decision", "it is neither Approved nor Denied")),
        (None, InvalidId("decision", "it is neither Approved nor Denied")),
        (Deferred(), InvalidId("decision", "it is neither Approved nor Denied")),
        (Approved("ada", covers="all"), InvalidId("decision", "it covers neither the call nor the tool")),  # type: ignore[arg-type]
        (Denied("ada", "\ud800"), InvalidId("decision", "its reason holds half of a character")),
        (Denied("ada", None), InvalidId("decision", "its reason is no text")),  # type: ignore[arg-type]
        (Approved("\ud800"), InvalidId("approver", "it holds a character that cannot be printed")),
        (Approved(""), InvalidId("approver", "it is empty")),
    ],
)
@pytest.mark.parametrize("kind", STORES)
async def test_what_is_no_decision_is_refused_and_the_run_stays_suspended(
    kind: str, decision: Any, refused: InvalidId, tmp_path: Path
) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await suspended(talk)
        log = await talk.log()
        given = {"s": decision, "p": Approved("ada")}
        ended = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel()), waiting, given)
        assert ended.failure().cause == ConversationFailed(refused)
        digest = waiting.shown()["s"]
        outside = await talk.conversations.decide("c", waiting.run, "s", decision, digest)
        assert outside == Failure(refused)
        assert (await talk.log(), talk.ledger.ran) == (log, [])
        assert await talk.holder() == (waiting.run, "suspended")


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", STORES)
async def test_a_resume_that_is_in_doubt_is_found_or_done_again_and_the_bodies_run_once(
    kind: str, kept: bool, tmp_path: Path
) -> None:
    async with talking(Place(kind, tmp_path), over=lambda store: Doubtful(store, "resumed", kept=kept)) as talk:
        waiting = await suspended(talk)
        ended = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel(say("done"))), waiting, YES)
        assert ended.unwrap().output == "done"
        assert sorted(talk.ledger.ran) == ["a", "p", "s"]
        assert [id_ for id_ in await talk.ids() if id_.startswith("resumed")] == [f"resumed:{waiting.run}/1"]
        assert await talk.holder() == (None, None)


@pytest.mark.parametrize("kind", STORES)
async def test_a_resume_in_doubt_that_another_one_won_runs_nothing(kind: str, tmp_path: Path) -> None:
    """Both write the very same record; only the owner's number tells whose the run is."""
    first = asyncio.Event()

    class Overtaken(Doubtful):
        async def write(self, *statements: Statement) -> Any:
            if self.left and self.concerns(statements):
                self.left = False
                first.set()
                await asyncio.wait_for(won.wait(), 60)
                return Failure(StoreUnavailable("lost", in_doubt=True))
            return await self.store.write(*statements)

    won = asyncio.Event()
    async with talking(Place(kind, tmp_path), over=lambda store: Overtaken(store, "resumed", kept=False)) as talk:
        waiting = await suspended(talk)
        late = asyncio.create_task(talk.conversations.resume("c", waiting.run))
        await first.wait()
        (await talk.conversations.resume("c", waiting.run)).unwrap()
        won.set()
        assert await late == Failure(AlreadyDecided("c", waiting.run))


@pytest.mark.parametrize("kind", STORES)
async def test_the_time_that_a_run_took_before_counts_when_it_is_resumed(kind: str, tmp_path: Path) -> None:
    clock = VirtualClock()

    @tool(needs_approval=True)
    async def wait(call: Word, ok: Try[Never], ledger: Ledger) -> str:
        """Take a while."""
        await clock.advance(11)
        ledger.ran.append(call.text)
        return "waited"

    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        agent = agent_with(wait, max_duration=100)
        model = Listener(call_tool("wait", text="a", id="a"), during={1: lambda: clock.advance(90)})
        waiting = (await talk.run(agent.on(model))).failure().cause
        ended = await talk.rt.resume(agent.on(ScriptedModel()), waiting, {"a": Approved("ada")})
        assert ended.failure().cause == PolicyExceeded("duration")
        assert talk.ledger.ran == []
        assert (await talk.conversations.history("c")).unwrap() == ended.failure().report.history
