"""What a run commits, and what becomes of it when the journal does not take a record, breaks, lies or hangs."""

from __future__ import annotations

import asyncio
from typing import Any, Never

import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, Ask, ScriptedApproval
from lamina.call import ToolRejected, ToolSuccess
from lamina.conversation import (
    CallStarted,
    InputRecorded,
    Journal,
    JournalFailed,
    MemoryJournal,
    Record,
    ResponseDeclared,
    ResultSettled,
    RunEnded,
    TurnAdvanced,
    project,
)
from lamina.effect import Clock, Ids, Try, bind
from lamina.engine import TERMINAL, PolicyExceeded
from lamina.model import Authentication
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, fail, say
from lamina.testing._clock import VirtualClock
from lamina.testing._ids import FixedIds
from lamina.tools import tool
from tests.unit.engine.world import Ran, Word, agent_with, echo, events_of, look_up, must_look_up, run_turns


class Ledger:
    def __init__(self) -> None:
        self.ran: list[str] = []


@tool()
async def act(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Act."""
    ledger.ran.append(call.text)
    return call.text


@tool(execution="readonly", needs_approval=True, approval=Ask[Word](recoverable=True))
async def peek(call: Word, ok: Try[Never]) -> str:
    """Read, if one may."""
    return call.text


async def run_with(journal: Journal, *turns: Any, observed: bool = False, ledger: Ledger | None = None) -> Ran:
    layer: Any = (
        bind(Journal).value(journal)
        | bind(Ids).to(FixedIds)
        | bind(Ledger).value(ledger or Ledger())
        | bind(Approval).value(ScriptedApproval(lambda request: True))
    )
    return await run_turns(act | peek | echo | look_up | must_look_up, *turns, layer=layer, observed=observed)


BATCH = call_tool("act", text="a") & call_tool("echo", text="e") & call_tool("peek", text="p")


@pytest.mark.parametrize("observed", [False, True])
async def test_records_come_in_order_with_deterministic_ids(observed: bool) -> None:
    journal = MemoryJournal()
    await run_with(journal, BATCH, call_tool("nope"), say("done"), observed=observed)

    assert [record.id for record in journal.records] == [
        "began:run-1",
        "input:run-1:0",
        "declared:run-1/1",
        "asked:run-1/1/call-3",
        "decided:run-1/1/call-3",
        "started:run-1/1/call-1",
        "settled:run-1/1/call-1",
        "settled:run-1/1/call-2",
        "started:run-1/1/call-3",
        "settled:run-1/1/call-3",
        "advanced:run-1/1",
        "declared:run-1/2",
        "settled:run-1/2/call-4",
        "advanced:run-1/2",
        "declared:run-1/3",
        "ended:run-1",
    ]
    assert journal.records[-1] == RunEnded("run-1", "completed")


async def test_a_start_is_recorded_unless_the_call_reads_and_nobody_approved_it() -> None:
    journal = MemoryJournal()
    await run_with(journal, BATCH, say("done"))

    started = {record.key.call: record.approved_by for record in journal.records if isinstance(record, CallStarted)}
    assert started == {"call-1": None, "call-3": "script"}


@pytest.mark.parametrize(
    ("turns", "ended"),
    [
        ((say("done"),), RunEnded("run-1", "completed")),
        ((fail(Authentication()),), RunEnded("run-1", "failed", "ModelError")),
        ((call_tool("must_look_up", text="x"),), RunEnded("run-1", "failed", "ToolFailed")),
        ((call_tool("echo", text="x").ending("length"),), RunEnded("run-1", "failed", "ModelProtocolError")),
    ],
)
async def test_each_run_has_one_ending_on_record(turns: Any, ended: RunEnded) -> None:
    journal = MemoryJournal()
    await run_with(journal, *turns)

    assert [record for record in journal.records if isinstance(record, RunEnded)] == [ended]


async def test_a_batch_beyond_the_budget_is_on_record_as_refused_and_nothing_of_it_started() -> None:
    journal = MemoryJournal()
    layer = bind(Journal).value(journal)
    await run_turns(
        echo, call_tool("echo", text="a") & call_tool("echo", text="b"), say("x"), layer=layer, max_tool_calls=1
    )

    assert [record.id.split(":")[0] for record in journal.records] == [
        *("began", "input", "declared", "settled", "settled", "advanced", "declared", "ended")
    ]
    refused = [record.outcome for record in journal.records if isinstance(record, ResultSettled)]
    assert refused == [ToolRejected("budget")] * 2


class Failing(MemoryJournal):
    """Does not take one kind of record, in one of several ways."""

    def __init__(self, kind: type, how: str, times: int | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.how = how
        self.times = times
        self.refused: list[tuple[Record, ...]] = []

    async def append(self, *records: Record) -> Any:
        refused = [record for record in records if isinstance(record, self.kind)]
        if not refused or (self.times is not None and len(self.refused) >= self.times):
            return await super().append(*records)
        self.refused.append(records)
        if self.how == "raises":
            raise OSError("canary")
        return None if self.how == "lies" else Failure(JournalFailed(refused[0].id, "the disk is full"))


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("how", ["answers", "raises", "lies"])
@pytest.mark.parametrize(
    ("kind", "ran", "told"),
    [
        (ResponseDeclared, [], ["not-started", "not-started"]),
        (CallStarted, [], ["not-started", "e"]),
        (ResultSettled, ["a"], ["a", "e"]),
        (TurnAdvanced, ["a"], ["a", "e"]),
    ],
)
async def test_a_record_that_is_not_taken_ends_the_run_and_loses_no_result(
    kind: type, ran: list[str], told: list[str], how: str, observed: bool
) -> None:
    ledger, turn = Ledger(), call_tool("act", text="a") & call_tool("echo", text="e")
    journal = Failing(kind, how)
    # What says that a turn is over comes with the next turn's records, so that one has to begin.
    done = await run_with(journal, turn, call_tool("act", text="b"), observed=observed, ledger=ledger)

    failure = done.result.failure()
    assert isinstance(failure.cause, JournalFailed)
    assert "canary" not in str(failure.cause) + str(done.events)
    contents = [each.content for each in failure.report.history.messages[2].results]
    reasons = [each["reason"] if isinstance(each, dict) else each for each in contents]
    # A sibling may have been settled before the failure showed, or not have started after it.
    assert reasons[0] == told[0]
    assert reasons[1] in (told[1], "not-started")
    assert ledger.ran == ran
    assert journal.records[-1] == RunEnded("run-1", "failed", "JournalFailed")
    assert not any(isinstance(record, kind) for record in journal.records)
    assert sum(isinstance(event, TERMINAL) for event in done.events) == (1 if observed else 0)


@pytest.mark.parametrize("how", ["answers", "raises", "lies"])
@pytest.mark.parametrize("kind", [ResponseDeclared, CallStarted, ResultSettled, TurnAdvanced, RunEnded])
async def test_what_was_not_taken_once_is_there_when_the_run_has_ended(kind: type, how: str) -> None:
    ledger, journal = Ledger(), Failing(kind, how, times=1)
    turn = call_tool("act", text="a") & call_tool("echo", text="e")
    done = await run_with(journal, turn, call_tool("act", text="b"), say("done"), ledger=ledger)

    assert isinstance(done.result.failure().cause, JournalFailed)
    assert journal.records[-1] == RunEnded("run-1", "failed", "JournalFailed")
    (refused,) = journal.refused
    assert set(refused) - {RunEnded("run-1", "completed")} <= set(journal.records)
    assert project(journal.records).notes == []
    settled = {record.key: record.outcome for record in journal.records if isinstance(record, ResultSettled)}
    assert {outcome.value for outcome in settled.values() if isinstance(outcome, ToolSuccess)} >= set(ledger.ran)
    assert project(journal.records).settled_history() == done.result.failure().report.history


@pytest.mark.parametrize("how", ["answers", "raises", "lies"])
async def test_a_run_whose_input_is_not_taken_does_not_begin(how: str) -> None:
    journal = Failing(InputRecorded, how, times=1)
    done = await run_with(journal, say("done"))

    assert done.result.failure().cause.record == "input:run-1:0"
    assert done.requests == ()
    assert journal.records == (RunEnded("run-1", "failed", "JournalFailed"),)


@pytest.mark.parametrize("how", ["answers", "raises", "lies"])
async def test_an_ending_that_is_not_taken_fails_the_run_and_keeps_its_answer_in_the_history(how: str) -> None:
    done = await run_with(Failing(RunEnded, how), say("the answer"), observed=True)

    cause = done.result.failure().cause
    assert isinstance(cause, JournalFailed)
    assert cause.record == "ended:run-1"
    assert done.result.failure().report.history.messages[-1].text == "the answer"
    assert type(done.events[-1]).__name__ == "RunFailed"


async def test_the_first_record_that_was_not_taken_is_the_one_that_is_named() -> None:
    class Dead(Journal):
        async def append(self, *records: Record) -> Any:
            return Failure(JournalFailed(records[0].id, "dead"))

    done = await run_with(Dead(), call_tool("act", text="a"))
    assert done.result.failure().cause == JournalFailed("began:run-1", "dead")
    assert done.requests == ()


async def test_after_a_journal_failed_no_further_body_starts() -> None:
    ledger = Ledger()
    turn = call_tool("act", text="1") & call_tool("act", text="2") & call_tool("echo", text="3")
    await run_with(Failing(CallStarted, "answers"), turn, ledger=ledger)

    assert ledger.ran == []


async def test_after_a_result_was_not_taken_the_next_body_does_not_start() -> None:
    ledger, turn = Ledger(), call_tool("act", text="1") & call_tool("act", text="2")
    layer = bind(Journal).value(Failing(ResultSettled, "answers")) | bind(Ledger).value(ledger)
    ran = await run_turns(act, turn, layer=layer, tool_concurrency=1)

    assert ledger.ran == ["1"]
    results = ran.result.failure().report.history.messages[-1].results
    assert [each.content if each.content == "1" else each.content["reason"] for each in results] == ["1", "not-started"]


class Hanging(MemoryJournal):
    """Never answers for one kind of record."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind
        self.hangs = asyncio.Event()

    async def append(self, *records: Record) -> Any:
        if any(isinstance(record, self.kind) for record in records):
            self.hangs.set()
            await asyncio.Event().wait()
        return await super().append(*records)


@pytest.mark.parametrize("kind", [ResponseDeclared, CallStarted, ResultSettled, TurnAdvanced, RunEnded])
async def test_a_journal_that_hangs_is_given_up_and_the_run_ends_with_what_it_knows(kind: type) -> None:
    ledger, journal, clock = Ledger(), Hanging(kind), VirtualClock()
    binding = agent_with(act, max_duration=60).on(ScriptedModel(call_tool("act", text="a"), say("done")))
    layer = bind(Journal).value(journal) | bind(Ledger).value(ledger) | bind(Clock).value(clock)
    # The one thing here that is measured on the machine's clock: how long a settlement is waited for.
    opening = build(RuntimeBuilder().provide(layer).agent(binding), close_timeout=0.05)
    async with opening as rt, rt.start(binding, "go") as run:
        await journal.hangs.wait()
        await clock.advance(61)
        result = await run.result()
        events = await events_of(run)

    cause = result.failure().cause
    late = kind in (TurnAdvanced, RunEnded)  # both come with the ending
    assert isinstance(cause, JournalFailed) if late else cause == PolicyExceeded("duration")
    results = [message for message in run.history.messages if type(message).__name__ == "ToolMessage"]
    (settled,) = results[0].results
    assert settled.content == ("a" if ledger.ran else {**settled.content, "reason": "not-started"})
    assert [event.call for event in events if type(event).__name__ in ("ToolCallFailed", "ToolCallSucceeded")] == [
        "call-1"
    ]
    assert isinstance(events[-1], TERMINAL)


async def test_the_record_of_a_result_is_redacted_to_its_bound() -> None:
    journal = MemoryJournal()
    await run_with(journal, call_tool("act", text="x" * 60_000), say("done"))

    (settled,) = [record for record in journal.records if isinstance(record, ResultSettled)]
    assert isinstance(settled.outcome, ToolSuccess)
    assert isinstance(settled.outcome.value, dict)
    assert settled.outcome.value["originalBytes"] == 60_002


async def test_a_journal_is_asked_again_for_a_result_whose_record_was_cut_off() -> None:
    class Slow(MemoryJournal):
        gate = asyncio.Event()

        async def append(self, *records: Record) -> Any:
            if isinstance(records[0], ResultSettled) and not self.gate.is_set():
                self.gate.set()
                await asyncio.Event().wait()
            return await super().append(*records)

    journal, ledger = Slow(), Ledger()
    binding = agent_with(act).on(ScriptedModel(call_tool("act", text="a")))
    layer = bind(Journal).value(journal) | bind(Ledger).value(ledger)
    async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt, rt.start(binding, "go") as run:
        await journal.gate.wait()
        run.interrupt()
        await run.result()

    settled = [record for record in journal.records if isinstance(record, ResultSettled)]
    assert [record.outcome for record in settled] == [ToolSuccess("a")]
    assert run.history.messages[-1].results[0].content == "a"
    assert Success(None) == await journal.append(settled[0])
