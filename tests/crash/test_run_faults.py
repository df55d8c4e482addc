"""A store that breaks at one write of a run: what ran is not lost and not run again, and what was kept is there."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.approval import Approved
from lamina.conversation import (
    JournalFailed,
    RecordUnknown,
    ResultSettled,
    history_problems,
)
from lamina.engine import ConversationFailed, RunDefect, RunSuspended
from lamina.runtime import try_build
from lamina.store import (
    Row,
    Rows,
    Statement,
    Store,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreTooNew,
    StoreUnavailable,
    Unmet,
    Value,
    sqlite_store,
)
from lamina.testing import ScriptedModel, VirtualClock, call_tool, say
from lamina.testing._store_ground import opened
from tests.conversing import Talk, act, records_in, send, talking
from tests.stores import STORES, Place
from tests.unit.engine.world import agent_with, outcomes_by_id


@attrs.frozen
class Number:
    number: int


class Breaking(Store):
    """A store of which one write breaks, in one of four ways; it counts from when it is told to."""

    def __init__(self, store: Store) -> None:
        self.durable = store.durable
        self.store = store
        self.at = 0
        self.how = ""
        self.writes = 0
        self.kept: set[tuple[str, str]] = set()

    def breaks(self, at: int, how: str) -> None:
        self.at, self.how, self.writes = at, how, 0
        self.kept.clear()

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        self.writes += 1
        broken = self.writes == self.at
        if broken and self.how == "full":
            return Failure(StoreFull())
        if broken and self.how == "raises":
            raise RuntimeError("broken")
        if broken and self.how == "lost":
            return Failure(StoreUnavailable("lost", in_doubt=True))
        answer = await self.store.write(*statements)
        if broken and self.how == "kept, and lost":
            return Failure(StoreUnavailable("lost", in_doubt=True))
        if not isinstance(answer, Failure):
            self.kept.update(records_in(statements))
        return answer

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self.store.read(sql, *parameters)


async def story(talk: Talk, conversation: str) -> list[Any]:
    """Run twice, with a repair, a suspension and a resume; give how each ended, the first that failed last."""
    ended: list[Any] = []

    async def run(*turns: Any, output: Any = str) -> Any:
        binding = agent_with(act | send, output=output).on(ScriptedModel(*turns))
        ended.append(await talk.run(binding, f"in {len(ended)}", conversation=conversation))
        return ended[-1]

    batch = call_tool("act", text="a", id="a") & call_tool("act", text="b", id="b")
    turns = batch, call_tool("act", text="c", id="c"), say("no number"), say('{"number": 1}')
    if isinstance(await run(*turns, output=Number), Failure):
        return ended
    waiting = await run(call_tool("send", text="s", id="s") & call_tool("act", text="d", id="d"))
    if not isinstance(waiting.failure().cause, RunSuspended):
        return ended
    binding = agent_with(act | send).on(ScriptedModel(call_tool("act", text="e", id="e"), say("done")))
    ended.append(await talk.rt.resume(binding, waiting.failure().cause, {"s": Approved("ada")}))
    return ended


@pytest.mark.parametrize("how", ["full", "raises", "lost", "kept, and lost"])
@pytest.mark.parametrize("kind", STORES)
async def test_a_store_that_breaks_at_any_write_of_a_run_loses_nothing_and_nothing_is_run_again(
    kind: str, how: str, tmp_path: Path
) -> None:
    clock, stores = VirtualClock(), list[Breaking]()

    def breaking(store: Store) -> Store:
        stores.append(Breaking(store))
        return stores[0]

    async with talking(Place(kind, tmp_path), clock=clock, over=breaking) as talk:
        for at in range(1, 100):
            talk.ledger.ran.clear()
            stores[0].breaks(at, how)
            ended = await story(talk, f"c{at}")
            if stores[0].writes < at:
                assert isinstance(ended[-1], Success)
                assert at > 20, "it was broken at every write"
                return
            await look_after(talk, clock, f"c{at}", ended, stores[0])
    pytest.fail("the story never got through")


async def look_after(talk: Talk, clock: VirtualClock, conversation: str, ended: list[Any], store: Breaking) -> None:
    ran, kept, where = list(talk.ledger.ran), set(store.kept), f"{store.how} at {store.at}"
    store.breaks(0, "")
    assert len(set(ran)) == len(ran), where
    last = ended[-1]
    if isinstance(last, Failure):
        assert isinstance(last.failure().cause, JournalFailed | ConversationFailed | RunDefect), where
        typed = not isinstance(last.failure().cause, RunDefect)
        assert typed or where.startswith("raises"), "a store that raises is a defect"
    found = await talk.conversations.get(conversation)
    if isinstance(found, Success) and found.unwrap().state == "suspended":  # the resume did not get it
        cause = ended[-2].failure().cause
        binding = agent_with(act | send).on(ScriptedModel(say("done")))
        again = await talk.rt.resume(binding, cause, {"s": Approved("ada")})
        assert again.unwrap().output == "done", where
        assert sorted(talk.ledger.ran) == sorted([*ran, "s", "d"]), where
        ran = list(talk.ledger.ran)
    elif isinstance(found, Success) and found.unwrap().run is not None:  # its owner never heard that it has it
        assert where.startswith("kept, and lost"), where
        await clock.advance(31)
    model = ScriptedModel(say("fine"))
    went_on = await talk.run(agent_with(act | send).on(model), "retry", conversation=conversation)
    assert went_on.unwrap().output == "fine", where
    assert talk.ledger.ran == ran, where

    told = outcomes_by_id(model.requests[0])
    assert set(ran) <= {value for value in told.values() if isinstance(value, str)}, f"{where}: {told}"
    log = await talk.log(conversation)
    settled = [entry.record for entry in log if isinstance(entry.record, ResultSettled)]
    assert {each.outcome.value for each in settled if hasattr(each.outcome, "value")} == set(ran), where
    assert {id_ for of, id_ in kept if of == conversation} <= {entry.id for entry in log}, where
    assert isinstance(await talk.conversations.verify(conversation), Success), where
    assert history_problems((await talk.conversations.history(conversation)).unwrap().messages) == [], where
    assert (await talk.holder(conversation)) == (None, None), where


# --- what a disk does ------------------------------------------------------------------------------------------------


class Fault:
    """Makes SQLite itself refuse, when it is told to."""

    full = False


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    told = Fault()

    class Refusing(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql.startswith("BEGIN"):  # no page more than there is
                super().execute(f"PRAGMA max_page_count = {1 if told.full else 1_000_000}")
            return super().execute(sql, *parameters)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Refusing))
    return told


LONG = "x" * 20_000


async def test_a_disk_that_is_full_is_told_before_a_model_is_asked_or_with_what_ran(
    fault: Fault, tmp_path: Path
) -> None:
    clock, place = VirtualClock(), Place("sqlite", tmp_path)
    async with talking(place, clock=clock) as talk:
        assert (await talk.run(agent_with(act).on(ScriptedModel(say("before"))))).unwrap().output == "before"
        before, fault.full = await talk.log(), True
        model = ScriptedModel()
        refused = await talk.run(agent_with(act).on(model), LONG)
        assert refused.failure().cause == ConversationFailed(StoreFull())
        assert model.requests == ()
        assert await talk.log() == before

        fault.full = False

        def fill(_: object) -> bool:
            fault.full = True
            return True

        turns = call_tool("act", text="a", id="a"), call_tool("act", text=LONG, id="b").expecting(fill)
        ended = (await talk.run(agent_with(act).on(ScriptedModel(*turns)))).failure()
        assert isinstance(ended.cause, JournalFailed)
        assert ended.cause.cause == StoreFull()
        assert talk.ledger.ran == ["a"], "what could not be recorded did not begin"
        assert history_problems(ended.report.history.messages) == []
        fault.full = False
        await clock.advance(31)
        model = ScriptedModel(say("fine"))
        assert (await talk.run(agent_with(act).on(model), "retry")).unwrap().output == "fine"
        assert outcomes_by_id(model.requests[0])["a"] == "a"
        assert talk.ledger.ran == ["a"]
        assert (await talk.log())[: len(before)] == before


async def test_a_file_that_is_locked_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    class Impatient(Place):
        def layer(self) -> Any:
            return sqlite_store(path, busy_timeout=0.05)

    async with talking(Impatient("sqlite", tmp_path)) as talk:
        await talk.run(agent_with(act).on(ScriptedModel(say("before"))))
        before, model = await talk.log(), ScriptedModel()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = await talk.run(agent_with(act).on(model))
        assert refused.failure().cause == ConversationFailed(StoreLocked())
        other.execute("ROLLBACK")
        other.close()
        assert (model.requests, await talk.log()) == ((), before)
        assert (await talk.run(agent_with(act).on(ScriptedModel(say("after"))))).unwrap().output == "after"


async def test_a_page_that_is_damaged_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    path, place = tmp_path / "store.db", Place("sqlite", tmp_path)
    async with talking(place) as talk:
        for number in range(20):
            await talk.run(agent_with(act).on(ScriptedModel(say(f"{number}"))), LONG)
    connection = sqlite3.connect(path)
    ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'record'").fetchall()
    ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    connection.close()
    good = path.read_bytes()
    path.write_bytes(good[: (root - 1) * size] + b"\xff" * size + good[root * size :])
    async with talking(place) as talk:
        model = ScriptedModel()
        refused = await talk.run(agent_with(act).on(model))
        assert refused.failure().cause == ConversationFailed(StoreCorrupt())
        assert model.requests == ()
        assert await talk.holder() == (None, None)


async def test_what_a_newer_release_wrote_is_told_before_anything_is_written(tmp_path: Path) -> None:
    place = Place("sqlite", tmp_path)
    async with talking(place) as talk:
        await talk.run(agent_with(act).on(ScriptedModel(say("before"))))
        head = (await talk.conversations.get("c")).unwrap().tail.seq
    newer = Statement("UPDATE record SET kind = 'RunTeleported' WHERE conversation = 'c' AND seq = $1", (2,))
    async with place.open() as store:
        (await store.write(newer)).unwrap()
    async with talking(place) as talk:
        model = ScriptedModel()
        cause = (await talk.run(agent_with(act).on(model))).failure().cause
        assert isinstance(cause, ConversationFailed)
        assert not isinstance(cause.error, RecordUnknown), "a digest that is wrong comes first"
        assert model.requests == ()
        assert (await talk.conversations.get("c")).unwrap().tail.seq == head
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        (await store.write(Statement("INSERT INTO schema_version (version, checksum) VALUES (999, 'newer')"))).unwrap()
    async with try_build(sqlite_store(tmp_path / "store.db")) as built:
        assert isinstance(built.failure(), StoreTooNew)
