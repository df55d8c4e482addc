"""What other frameworks get wrong, as tests on every store: probes (`p1` to `p10`) and reported issues (`row_n`).

Each is named by its number in the comparison that it comes from; the issue is named where it is public.
"""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import weakref
from pathlib import Path
from typing import Any, Never

import attrs
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from returns.result import Failure, Success

from lamina.agent import Agent
from lamina.approval import Approved
from lamina.conversation import AlreadyDecided, AppendConflict, ConversationBusy, JournalFailed, ResultSettled
from lamina.effect import ConstructionError, Try, bind
from lamina.engine import RunInterrupted
from lamina.model import Authentication, ModelProtocolError
from lamina.runtime import build
from lamina.telemetry import OpenTelemetry, Telemetry, configure_logging
from lamina.testing import ScriptedModel, call_tool, fail, say
from lamina.tools import tool
from tests.conversing import Ledger, act, send, talking
from tests.crash.leaking import grown, left_by
from tests.postgres import cluster
from tests.stores import DURABLE, STORES, Place
from tests.unit.engine.world import agent_with, outcomes_by_id

on_every_store = pytest.mark.parametrize("kind", STORES)
SECRET = "secret-123"


@attrs.frozen
class Number:
    x: int


@tool()
async def ok(call: Number, ok: Try[Never]) -> int:
    """Double it, after a moment."""
    await asyncio.sleep(0)
    return 2 * call.x


@tool()
async def boom(call: Number, ok: Try[Never]) -> int:
    """Break."""
    raise ValueError(SECRET) from KeyError(SECRET)


class Gate:
    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()


def slow_at(gate: Gate) -> Any:
    @tool(max_concurrency=1)
    async def slow(call: Number, ok: Try[Never]) -> int:
        """Wait; a second one waits for the first."""
        gate.entered.set()
        await gate.open.wait()
        return call.x

    return slow


async def told_after(talk: Any, agent: Any) -> dict[str, Any]:
    """Say something more in the conversation, and give what the model is told of all calls before it."""
    model = ScriptedModel(say("fine"))
    assert (await talk.run(agent.on(model), "again")).unwrap().output == "fine"
    return outcomes_by_id(model.requests[0])


# --- the probes -----------------------------------------------------------------------------------------------------


@on_every_store
@pytest.mark.parametrize(
    ("turn", "tag"),
    [(call_tool("nope", x=1, id="c"), "ToolRejected"), (call_tool("ok", x="not-int", id="c"), "ToolInvalidInput")],
    ids=["p1", "p2"],
)
async def test_p1_p2_an_unknown_tool_and_a_wrong_argument_are_told_and_the_run_goes_on(
    kind: str, turn: Any, tag: str, tmp_path: Path
) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        assert (await talk.run(agent_with(ok).on(ScriptedModel(turn, say("done"))))).unwrap().output == "done"
        told = (await told_after(talk, agent_with(ok)))["c"]
    assert told["_tag"] == tag
    assert "$.x" in str(told) or tag == "ToolRejected"


@on_every_store
async def test_p3_row_15_a_tool_that_breaks_costs_its_siblings_nothing_and_tells_nobody_its_text(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """openai/openai-agents-python#3110 and #5112."""
    gate, model = (
        Gate(),
        ScriptedModel(
            call_tool("slow", x=1, id="s") & call_tool("boom", x=2, id="b") & call_tool("ok", x=3, id="o"), say("done")
        ),
    )
    gate.open.set()
    agent = agent_with(slow_at(gate) | boom | ok)
    exporter, tracers, lines = InMemorySpanExporter(), TracerProvider(), io.StringIO()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    spans = bind(Telemetry).value(OpenTelemetry(tracer_provider=tracers))
    logger = logging.getLogger("lamina")
    for name, value in (("handlers", []), ("propagate", True), ("level", logger.level)):
        monkeypatch.setattr(logger, name, value)  # which puts it back afterwards
    configure_logging(stream=lines)
    async with talking(Place(kind, tmp_path), more=spans) as talk:
        async with talk.rt.start(agent.on(model), "go", conversation="c") as run:
            result = await run.result()
            events = [event async for event in run.events()]
        told = await told_after(talk, agent)
        log = await talk.log()
        exported = (await talk.conversations.export("c")).unwrap()
    assert (told["s"], told["b"]["_tag"], told["o"]) == (1, "ToolDefect", 6)
    sinks = [repr(result), repr(events), repr(list(log)), "".join(exported), repr(model.requests)]
    traced, logged = "".join(span.to_json() for span in exporter.get_finished_spans()), lines.getvalue()
    assert ("execute_tool boom" in traced, "a tool raised" in logged, "ValueError" in logged) == (True, True, True)
    sinks += [traced, logged]
    assert [SECRET in sink for sink in sinks] == [False] * len(sinks)
    assert SECRET not in repr([attrs.asdict(event, recurse=False) for event in events])


@on_every_store
async def test_p4_row_1_a_cancelled_batch_keeps_what_finished_and_the_next_request_is_valid(
    kind: str, tmp_path: Path
) -> None:
    gate = Gate()
    agent = agent_with(slow_at(gate) | ok)
    turn = call_tool("ok", x=1, id="o") & call_tool("slow", x=2, id="s") & call_tool("slow", x=3, id="n")
    async with talking(Place(kind, tmp_path)) as talk:
        async with talk.rt.start(agent.on(ScriptedModel(turn)), "go", conversation="c") as run:
            await gate.entered.wait()
            async with asyncio.timeout(20):
                while not any(isinstance(entry.record, ResultSettled) for entry in await talk.log()):  # noqa: ASYNC110 - a store has no event for it
                    await asyncio.sleep(0)
            run.interrupt()
            assert isinstance((await run.result()).failure().cause, RunInterrupted)
        told = await told_after(talk, agent)
    assert told["o"] == 2
    assert told["s"]["_tag"] == "ToolUnknownOutcome"
    assert (told["n"]["_tag"], told["n"]["reason"]) == ("ToolRejected", "not-started")


@on_every_store
async def test_p5_two_calls_of_one_id_run_nothing(kind: str, tmp_path: Path) -> None:
    turn = call_tool("act", text="a", id="x") & call_tool("act", text="b", id="x")
    async with talking(Place(kind, tmp_path)) as talk:
        ended = await talk.run(agent_with(act).on(ScriptedModel(turn)))
        assert isinstance(ended.failure().cause, ModelProtocolError)
        assert await told_after(talk, agent_with(act)) == {}
        assert talk.ledger.ran == []


@on_every_store
async def test_p6_an_endless_loop_ends_and_there_is_no_agent_without_a_limit(kind: str, tmp_path: Path) -> None:
    unchecked: Any = Agent
    with pytest.raises(TypeError, match="policy"):
        unchecked("endless", instructions="Go on.", toolkit=act)
    endless = agent_with(act)
    model = ScriptedModel(*[call_tool("act", text="x", id=f"c{number}") for number in range(200)])
    async with talking(Place(kind, tmp_path)) as talk:
        ended = await talk.run(endless.on(model))
        report = (ended.value_or(None) or ended.failure()).report
        assert 0 < report.turns <= 11
        assert len(talk.ledger.ran) <= report.tool_calls
        assert len(await told_after(talk, endless)) >= len(talk.ledger.ran)


@on_every_store
async def test_p7_a_model_that_dies_after_a_tool_ran_hides_nothing(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        turns = call_tool("act", text="a", id="c"), fail(Authentication())
        assert isinstance(await talk.run(agent_with(act).on(ScriptedModel(*turns))), Failure)
        assert await told_after(talk, agent_with(act)) == {"c": "a"}
        assert talk.ledger.ran == ["a"]


@on_every_store
async def test_p8_two_runs_at_once_do_not_interleave_and_none_is_lost(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        runs = [
            talk.run(agent_with(act).on(ScriptedModel(call_tool("act", text=name, id=name), say(name))), busy=busy)
            for name, busy in (("A", "queue"), ("B", "queue"), ("R", "reject"))
        ]
        a, b, rejected = await asyncio.gather(*runs)
        assert (a.unwrap().output, b.unwrap().output) == ("A", "B")
        # The third waits for nobody: it is refused, or it came while the conversation was free, and is there whole.
        refused = isinstance(rejected, Failure)
        assert not refused or isinstance(rejected.failure().cause, ConversationBusy)
        messages = (await talk.conversations.history("c")).unwrap().messages
        shape = [type(message).__name__[:4] for message in messages]
        assert shape == ["User", "Assi", "Tool", "Assi"] * (2 if refused else 3)
        assert sorted(talk.ledger.ran) == (["A", "B"] if refused else ["A", "B", "R"])


@on_every_store
async def test_p9_the_same_saved_approval_resumed_twice_runs_the_tool_once(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        ended = await talk.run(agent_with(send).on(ScriptedModel(call_tool("send", text="s", id="s"))))
        saved, yes = ended.failure().cause, {"s": Approved("ada")}

        async def resume() -> Any:
            return await talk.rt.resume(agent_with(send).on(ScriptedModel(say("done"))), saved, yes)

        both = await asyncio.gather(resume(), resume())
        later = await resume()
        assert [isinstance(each, Success) for each in both].count(True) == 1
        assert later.failure().cause == AlreadyDecided("c", saved.run)
        assert talk.ledger.ran == ["s"]


async def test_p10_a_missing_service_is_told_before_anything_runs() -> None:
    model = ScriptedModel()
    unchecked: Any = build
    with pytest.raises(ConstructionError, match="MISSING Ledger"):
        async with unchecked(bind(Gate).value(Gate()), programs=[agent_with(act).on(model)]):
            pass
    assert model.requests == ()


# --- the issues -----------------------------------------------------------------------------------------------------


@on_every_store
async def test_row_5_results_that_come_at_once_are_all_kept(kind: str, tmp_path: Path) -> None:
    """langchain-ai/langgraph#8115."""
    together = asyncio.Barrier(16)

    @tool()
    async def meet(call: Number, ok: Try[Never]) -> int:
        """Finish when all are there."""
        await together.wait()
        return call.x

    turn = call_tool("meet", x=0, id="c0")
    for number in range(1, 16):
        turn = turn & call_tool("meet", x=number, id=f"c{number}")
    agent = agent_with(meet, tool_concurrency=16)
    async with talking(Place(kind, tmp_path)) as talk:
        assert (await talk.run(agent.on(ScriptedModel(turn, say("done"))))).unwrap().output == "done"
        assert await told_after(talk, agent) == {f"c{number}": number for number in range(16)}
        settled = [entry.id for entry in await talk.log() if isinstance(entry.record, ResultSettled)]
        assert len(set(settled)) == len(settled) == 16


@on_every_store
async def test_row_7_what_is_alive_does_not_grow_with_the_steps(kind: str, tmp_path: Path) -> None:
    """langchain-ai/langgraph#7094."""
    alive: list[int] = []

    @tool()
    async def count(call: Number, ok: Try[Never]) -> int:
        """Count the records that are alive."""
        if call.x % 50 == 49:
            gc.collect()
            alive.append(sum(isinstance(each, ResultSettled) for each in gc.get_objects()))
        return call.x

    turns = [call_tool("count", x=number, id=f"c{number}") for number in range(250)]
    agent = agent_with(count, max_turns=300, max_tool_calls=300)
    async with talking(Place(kind, tmp_path)) as talk:
        assert (await talk.run(agent.on(ScriptedModel(*turns, say("done"))))).unwrap().output == "done"
    assert len(alive) == 5
    assert max(alive) - min(alive) <= 2


@on_every_store
async def test_row_9_a_write_that_fails_after_the_tool_ran_is_made_up_for_and_the_tool_not_run_again(
    kind: str, tmp_path: Path
) -> None:
    """openai/openai-agents-python#4615."""
    failed: list[int] = []
    ledger = Ledger()

    def refuses(number: int, _: Any) -> bool:
        if ledger.ran and not failed:
            failed.append(number)
            return True
        return False

    async with talking(Place(kind, tmp_path), refuses=refuses, ledger=ledger) as talk:
        ended = await talk.run(agent_with(send).on(ScriptedModel(call_tool("send", text="s", id="s"))))
        binding = agent_with(send).on(ScriptedModel())
        resumed = await talk.rt.resume(binding, ended.failure().cause, {"s": Approved("ada")})
        assert isinstance(resumed.failure().cause, JournalFailed)
        assert failed
        assert await told_after(talk, agent_with(send)) == {"s": "s"}
        assert ledger.ran == ["s"]


@on_every_store
async def test_row_10_an_approval_holds_whatever_services_are_there_when_it_is_resumed(
    kind: str, tmp_path: Path
) -> None:
    """openai/openai-agents-python#4244."""
    place, other = Place(kind, tmp_path), Ledger()

    async def approved(talk: Any) -> Any:
        binding = agent_with(send).on(ScriptedModel(say("done")))
        return await talk.rt.resume(binding, ended.failure().cause, {"s": Approved("ada")})

    async with talking(place) as talk:
        ended = await talk.run(agent_with(send).on(ScriptedModel(call_tool("send", text="s", id="s"))))
        if kind == "memory":  # which ends with its runtime: what differs is the agent, its model and the ledger's list
            talk.ledger.ran = other.ran
            resumed = await approved(talk)
    if kind != "memory":
        async with talking(place, ledger=other) as talk:
            resumed = await approved(talk)
    assert resumed.unwrap().output == "done"
    assert other.ran == ["s"]


async def all_stored(talk: Any) -> None:
    """See eight inputs, each with its answer behind it."""
    messages = (await talk.conversations.history("c")).unwrap().messages
    said = [message.text for message in messages]  # type: ignore[union-attr]
    assert sorted(said[::2]) == [f"in {number}" for number in range(8)]
    assert [f"in {text}" for text in said[1::2]] == said[::2]
    assert isinstance(await talk.conversations.verify("c"), Success)


@on_every_store
async def test_row_12_first_writes_to_a_new_database_may_race(kind: str, tmp_path: Path) -> None:
    """openai/openai-agents-python#2722."""
    place = Place(kind, tmp_path)

    async def first(number: int, talk: Any = None) -> Any:
        if talk is not None:
            return await talk.run(agent_with().on(ScriptedModel(say(f"{number}"))), f"in {number}", busy="queue")
        async with talking(place) as own:
            return await first(number, own)

    if kind == "memory":  # which is one runtime's own
        async with talking(place) as talk:
            ended = await asyncio.gather(*[first(number, talk) for number in range(8)])
            await all_stored(talk)
    else:
        ended = await asyncio.gather(*[first(number) for number in range(8)])
        async with talking(place) as talk:
            await all_stored(talk)
    assert [each.unwrap().output for each in ended] == [f"{number}" for number in range(8)]


@on_every_store
async def test_row_14_an_agent_is_gone_when_its_owner_lets_it_go(kind: str, tmp_path: Path) -> None:
    """openai/openai-agents-python#2008."""
    async with talking(Place(kind, tmp_path)) as talk:
        agent = agent_with(act)
        binding = agent.on(ScriptedModel(call_tool("act", text="a"), say("done")))
        result = await talk.run(binding)
        assert result.unwrap().output == "done"
        gone = weakref.ref(agent), weakref.ref(binding)
        del agent, binding, result
        gc.collect()
        assert [each() for each in gone] == [None, None]


@pytest.mark.parametrize("kind", DURABLE)
def test_row_14_a_thousand_runs_and_two_hundred_cut_off_leave_nothing(kind: str, tmp_path: Path) -> None:
    """openai/openai-agents-python#2008, the half about memory: a store in memory grows with what it is given."""
    seen = left_by(kind, cluster().database() if kind == "postgres" else str(tmp_path / "store.db"), 1)
    assert grown(seen) == set()
    assert seen["late"]["memory"] - seen["early"]["memory"] < 2 * 1024 * 1024


@on_every_store
async def test_row_21_a_stale_writer_gets_a_conflict_and_nothing_is_half_written(kind: str, tmp_path: Path) -> None:
    """google/adk-python#4751."""
    gate = Gate()
    agent = agent_with(slow_at(gate) | act)
    async with talking(Place(kind, tmp_path)) as talk:
        turns = call_tool("slow", x=1, id="s"), call_tool("act", text="stale")
        stale = asyncio.create_task(talk.run(agent.on(ScriptedModel(*turns))))
        await gate.entered.wait()
        run, _ = await talk.holder()
        await talk.conversations.abort("c", run or "")
        assert (await talk.run(agent.on(ScriptedModel(say("mine"))), "second")).unwrap().output == "mine"
        before = await talk.log()
        gate.open.set()
        cause = (await stale).failure().cause
        assert isinstance(cause, JournalFailed)
        assert isinstance(cause.cause, AppendConflict)
        assert await talk.log() == before
        assert talk.ledger.ran == []


@on_every_store
async def test_row_24_what_runs_is_what_was_approved(kind: str, tmp_path: Path) -> None:
    """anthropics/claude-agent-sdk-python#320."""
    async with talking(Place(kind, tmp_path)) as talk:
        ended = await talk.run(agent_with(send).on(ScriptedModel(call_tool("send", text="exactly this", id="s"))))
        saved = ended.failure().cause
        asked = [entry.record.request for entry in await talk.log() if hasattr(entry.record, "request")]
        assert [(each.preview, each.arguments_digest) for each in asked] == [
            ({"text": "exactly this"}, saved.waiting[0].arguments_digest)
        ]
        await talk.rt.resume(agent_with(send).on(ScriptedModel(say("done"))), saved, {"s": Approved("ada")})
        assert talk.ledger.ran == ["exactly this"]
