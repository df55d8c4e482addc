"""Conversations in a store: damage and newer releases are found before anything is written; repairs are told once."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import attrs
import orjson
import pytest
from returns.result import Failure, Result, Success

from lamina.call import CallKey, ToolSuccess
from lamina.conversation import (
    CallStarted,
    Claim,
    ConversationBusy,
    ConversationDamaged,
    Conversations,
    InputRecorded,
    NotAllowed,
    Record,
    RecordRefused,
    RecordUnknown,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    StoredConversations,
    TurnAdvanced,
    _chain,
    _codec,
    _sql,
    history_problems,
    stored_conversations,
    verify_export,
)
from lamina.conversation._chain import Batch
from lamina.conversation._load import Reading, Readings
from lamina.effect import ConstructionError, handler
from lamina.model import AssistantMessage, Text, ToolCall
from lamina.runtime import build
from lamina.store import Statement, Store, memory_store
from lamina.testing import VirtualClock
from tests.stores import DURABLE, STORES, Place


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with Place(request.param, tmp_path).open() as opened:
        yield opened


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def said(text: str, run: str = "r") -> InputRecorded:
    return InputRecorded(run, f"in-{text}", "user", None, text)


def declared(*calls: str, turn: int = 1, run: str = "r") -> ResponseDeclared:
    parts = tuple(ToolCall(call, "read", "{}") for call in calls) or (Text("done"),)
    return ResponseDeclared(run, turn, AssistantMessage(parts))


def settled(call: str, run: str = "r", turn: int = 1) -> ResultSettled:
    return ResultSettled(CallKey(run, turn, call), ToolSuccess(call))


async def filled(conversations: Conversations, *records: Record) -> Claim:
    """Begin a conversation, and end its run."""
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"), said("go")))).unwrap()
    for record in records:
        (await claim.log.append(record)).unwrap()
    (await claim.log.append(RunEnded("r", "completed"))).unwrap()
    return claim


async def wrote(store: Store, sql: str, *parameters: Any) -> None:
    (await store.write(Statement(sql, parameters))).unwrap()


def failure(answer: Result[Any, Any]) -> Any:
    assert isinstance(answer, Failure), answer
    return answer.failure()


# --- what is not as it was written ------------------------


@pytest.mark.parametrize(
    ("sql", "seq", "why"),
    [
        ("DELETE FROM record WHERE conversation = 'c' AND seq = 4", 4, "gap"),
        ("DELETE FROM record WHERE conversation = 'c' AND seq = 6", 6, "gap"),
        ("DELETE FROM record WHERE conversation = 'c' AND seq = 1", 1, "gap"),
        ("DELETE FROM record WHERE conversation = 'c' AND seq = 3", 3, "gap"),
        ("UPDATE record SET payload = replace(payload, 'go', 'no') WHERE conversation = 'c' AND seq = 3", 2, "digest"),
        ("UPDATE record SET id = 'other' WHERE conversation = 'c' AND seq = 4", 4, "digest"),
        ("UPDATE record SET kind = 'RunEnded' WHERE conversation = 'c' AND seq = 4", 4, "digest"),
        ("UPDATE record SET version = 2 WHERE conversation = 'c' AND seq = 4", 4, "digest"),
        ("UPDATE record SET digest = '' WHERE conversation = 'c' AND seq = 4", 4, "digest"),
        ("UPDATE record SET batch = 'another' WHERE conversation = 'c' AND seq = 3", 2, "digest"),
        ("UPDATE conversation SET head_digest = '' WHERE id = 'c'", 6, "digest"),
    ],
)
async def test_a_log_that_was_changed_is_refused_and_nothing_is_written(
    store: Store, clock: VirtualClock, sql: str, seq: int, why: str
) -> None:
    await filled(StoredConversations(store, clock), declared("a"), settled("a"))
    await wrote(store, sql)
    before = (await store.read("SELECT * FROM record ORDER BY seq")).unwrap()

    conversations = StoredConversations(store, clock)
    damaged = ConversationDamaged("c", seq, why)  # type: ignore[arg-type]
    answers: list[Result[Any, Any]] = [
        await conversations.claim("c", "r2"),
        await conversations.history("c"),
        await conversations.verify("c"),
    ]
    assert [failure(answer) for answer in answers] == [damaged] * 3
    assert (await store.read("SELECT * FROM record ORDER BY seq")).unwrap() == before
    assert (await conversations.get("c")).unwrap().run is None


async def test_a_damaged_log_can_be_forked_before_the_damage(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    await filled(conversations, declared("a"), settled("a"))
    await wrote(store, "UPDATE record SET payload = '{}' WHERE conversation = 'c' AND seq = 5")
    assert failure(await conversations.fork("c", "d", at=5)) == ConversationDamaged("c", 5, "digest")
    (await conversations.fork("c", "d", at=3)).unwrap()
    claim = (await conversations.claim("d", "r2")).unwrap()
    assert [message.text for message in claim.history.messages] == ["go"]  # type: ignore[union-attr]


@pytest.mark.parametrize(("kind", "version"), [("RunTeleported", 1), ("InputRecorded", 2)])
async def test_a_record_of_a_newer_release_fails_before_anything_is_written(
    store: Store, clock: VirtualClock, kind: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"),))).unwrap()
    newer = said("go")
    with monkeypatch.context() as patch:  # a release that knows it writes it, digests and all
        patch.setattr(_chain, "VERSION", version)
        patch.setattr(_sql, "VERSION", version)
        patch.setattr(_chain, "write_record", lambda record: attrs.evolve(_codec.write_record(record), kind=kind))
        (await claim.log.append(newer)).unwrap()
    (await claim.log.append(RunEnded("r", "completed"))).unwrap()
    before = (await store.read("SELECT * FROM conversation")).unwrap()

    unknown = RecordUnknown("c", 3, kind, version)
    answers: list[Result[Any, Any]] = [
        await conversations.claim("c", "r2"),
        await conversations.history("c"),
        await conversations.read("c"),
        await conversations.fork("c", "d"),
    ]
    assert [failure(answer) for answer in answers] == [unknown] * 4
    assert (await conversations.verify("c")) == Success((await conversations.get("c")).unwrap().tail)
    assert (await store.read("SELECT * FROM conversation")).unwrap() == before
    assert not _codec.knows(kind, version)


# --- a log that cannot be as it was written ------------------------


async def test_what_had_to_be_repaired_is_recorded_and_told_once(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    await filled(
        conversations,
        settled("a"),  # before its call
        declared("a", "b"),
        settled("b"),
        settled("x"),
        said("and"),
        declared("c", turn=2),
    )
    look = (await conversations.history("c")).unwrap()
    assert history_problems(look.messages) == []
    claim = (await StoredConversations(store, clock).claim("c", "r2")).unwrap()
    assert claim.history == look
    assert len(claim.repairs) == 4
    (await claim.log.append(RunEnded("r2", "completed"))).unwrap()

    again = (await StoredConversations(store, clock).claim("c", "r3")).unwrap()
    assert (again.history, again.repairs) == (look, ())
    entries = (await conversations.read("c")).unwrap()
    told = [entry.record for entry in entries if isinstance(entry.record, RepairAnnotated)]
    assert [(one.reason, one.details, one.through) for one in told] == [("invalid-log", claim.repairs, 10)]


async def test_a_lost_batch_whose_results_stray_elsewhere_is_closed_all_the_same(
    store: Store, clock: VirtualClock
) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"), said("go")))).unwrap()
    for record in (settled("a"), declared("a", "b")):
        (await claim.log.append(record)).unwrap()
    await clock.advance(31)
    look = (await conversations.history("c")).unwrap()
    after = (await conversations.claim("c", "r2", opening=(RunBegan("r2", "agent"), said("on", "r2")))).unwrap()
    assert after.history == look
    assert len(after.history.messages) == 3
    (await after.log.append(RunEnded("r2", "completed"))).unwrap()
    later = (await StoredConversations(store, clock).claim("c", "r3")).unwrap()
    assert later.history.messages[:3] == look.messages
    assert later.repairs == ()


async def test_many_calls_that_were_cut_short_fit_into_a_claim(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"),))).unwrap()
    (await claim.log.append(declared(*[f"c{at}" for at in range(700)]))).unwrap()
    await clock.advance(31)
    after = (await conversations.claim("c", "r2")).unwrap()
    assert len(after.history.messages[-1].results) == 700  # type: ignore[union-attr]
    assert (len(after.repairs), after.repairs[-1]) == (257, "and 445 more")
    assert (await conversations.verify("c")).unwrap() == after.tail


async def test_a_claim_whose_opening_is_there_already_is_refused(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    await filled(conversations)
    again = await conversations.claim("c", "r", opening=(RunBegan("r", "agent"),))
    assert failure(again) == RecordRefused("began:r", "another record has its id")
    ending = await conversations.claim("c", "r2", opening=(RunEnded("r2", "completed"),))
    assert failure(ending) == RecordRefused("ended:r2", "a run that begins goes on")
    assert (await conversations.get("c")).unwrap().run is None


# --- between processes ------------------------


@pytest.mark.parametrize("kind", DURABLE)
async def test_what_was_read_is_kept_and_what_another_appended_is_read(
    kind: str, tmp_path: Path, clock: VirtualClock
) -> None:
    place = Place(kind, tmp_path)
    async with place.open() as one, place.open() as two:
        mine, theirs = StoredConversations(one, clock), StoredConversations(two, clock)
        for at in range(6):
            conversations = (mine, theirs)[at % 2]
            run = f"r{at}"
            claim = (await conversations.claim("c", run, opening=(RunBegan(run, "a"), said(f"{at}", run)))).unwrap()
            assert [message.text for message in claim.history.messages] == [f"{each}" for each in range(at)]  # type: ignore[union-attr]
            (await claim.log.append(RunEnded(run, "completed"))).unwrap()


async def test_a_reading_of_a_database_that_was_set_back_is_read_anew(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    await filled(conversations, declared("a"), settled("a"))
    (await conversations.history("c")).unwrap()
    await wrote(store, "DELETE FROM record")
    await wrote(store, "DELETE FROM conversation")
    await filled(StoredConversations(store, clock), declared(), TurnAdvanced("r", 1), declared(turn=2))
    history = (await conversations.history("c")).unwrap()
    assert len(history.messages) == 3


@pytest.mark.parametrize("kind", DURABLE)
async def test_rival_12_first_writes_that_race_to_a_database_that_is_not_there_are_all_kept(
    kind: str, tmp_path: Path, clock: VirtualClock
) -> None:
    place = Place(kind, tmp_path)
    won: list[str] = []

    async def first(at: int) -> None:
        run = f"r{at}"
        async with place.open() as store:
            conversations = StoredConversations(store, clock)
            while True:
                claimed = await conversations.claim("c", run, opening=(RunBegan(run, "a"), said(f"{at}", run)))
                if isinstance(claimed, Success):
                    break
                assert isinstance(failure(claimed), ConversationBusy)
                await anyio.lowlevel.checkpoint()
            log = claimed.unwrap().log
            (await log.append(declared(run=run))).unwrap()
            (await log.append(RunEnded(run, "completed"))).unwrap()
            won.append(run)

    async with anyio.create_task_group() as group:
        for at in range(8):
            group.start_soon(first, at)
    async with place.open() as store:
        conversations = StoredConversations(store, clock)
        entries = (await conversations.read("c")).unwrap()[1:]
        assert sorted(won) == [f"r{at}" for at in range(8)]
        assert len(entries) == 8 * 4
        runs = [entry.record.run for entry in entries]  # type: ignore[union-attr]
        assert all(len(set(runs[start : start + 4])) == 1 for start in range(0, 32, 4)), "runs interleave"
        (await conversations.verify("c")).unwrap()


async def test_rival_1_a_cancelled_batch_leaves_a_history_that_goes_on(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "a"), said("go")))).unwrap()
    (await claim.log.append(declared("ok", "slow", "queued"))).unwrap()
    for call in ("ok", "slow"):
        (await claim.log.append(CallStarted(CallKey("r", 1, call), "d", None))).unwrap()
    (await claim.log.append(settled("ok"))).unwrap()
    await clock.advance(31)  # the process died: nothing settles the rest
    after = (await conversations.claim("c", "r2", opening=(RunBegan("r2", "a"), said("again", "r2")))).unwrap()
    contents = [result.content for result in after.history.messages[-1].results]  # type: ignore[union-attr]
    assert contents[0] == "ok"
    assert contents[1]["_tag"] == "ToolUnknownOutcome"
    assert contents[2]["reason"] == "not-started"


async def test_rival_5_results_of_many_at_once_are_all_kept(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "a"),))).unwrap()
    calls = [f"c{at}" for at in range(40)]
    (await claim.log.append(declared(*calls))).unwrap()

    async def settle(call: str) -> None:
        (await claim.log.append(settled(call))).unwrap()

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(settle, call)
    history = (await conversations.history("c")).unwrap()
    assert [result.content for result in history.messages[-1].results] == calls  # type: ignore[union-attr]


async def test_rival_7_a_log_keeps_nothing_of_what_it_appended(store: Store, clock: VirtualClock) -> None:
    log = (await StoredConversations(store, clock).claim("c", "r")).unwrap().log
    for at in range(20):
        (await log.append(said(f"{at}"))).unwrap()
        gc.collect()
        assert len([each for each in gc.get_objects() if type(each) is Batch]) == 0


# --- the service ------------------------


@handler
async def claim_one(name: str, conversations: Conversations) -> bool:
    return isinstance(await conversations.claim(name, "r"), Success)


@pytest.mark.parametrize("kind", STORES)
async def test_it_is_offered_over_any_store(kind: str, tmp_path: Path) -> None:
    async with build(stored_conversations(lease=5).provide(Place(kind, tmp_path).layer().catch(memory_store()))) as rt:
        assert await rt.run(claim_one, "c")
        assert not await rt.run(claim_one, "c")


@pytest.mark.parametrize("lease", [0, -1, float("inf"), float("nan")])
def test_a_lease_is_a_length_of_time(lease: float) -> None:
    with pytest.raises(ConstructionError, match="lease"):
        stored_conversations(lease=lease)


async def test_it_is_as_durable_as_its_store(store: Store, clock: VirtualClock) -> None:
    assert StoredConversations(store, clock).durable is store.durable


async def test_what_is_not_there_is_told_like_what_is_not_allowed(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    assert failure(await conversations.get("none")) == NotAllowed("conversation", "none")
    assert str(NotAllowed("conversation", "none")) == "There is no conversation none that may be used here."


def test_readings_are_bounded_in_number_and_bytes() -> None:
    def reading(name: str, size: int) -> Reading:
        made = Reading(name)
        made.size, made.tail = size, type(made.tail)(1, "d")
        return made

    kept = Readings(most=3, size=100)
    for name, size in (("a", 10), ("b", 10), ("c", 10), ("d", 10)):
        kept.keep(reading(name, size))
    assert [kept.take(name).tail.seq for name in "abcd"] == [0, 1, 1, 1]
    for name, size in (("a", 60), ("b", 30), ("a", 20), ("c", 60), ("big", 101)):
        kept.keep(reading(name, size))
    assert [kept.take(name).tail.seq for name in ("a", "b", "c", "big")] == [0, 0, 0, 0]
    kept.keep(reading("x", 100))
    assert kept.take("x").tail.seq == 1


# --- exports in pages -------------------------------------


async def test_an_export_is_of_whole_batches_wherever_it_begins_and_ends(
    store: Store, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"), said("go")))).unwrap()
    sizes = [1, 7, 256, 3, 40, 1, 1, 5]
    for number, size in enumerate(sizes):
        (await claim.log.append(*[said(f"{number}-{at}") for at in range(size)])).unwrap()
    (await claim.log.append(RunEnded("r", "completed"))).unwrap()
    end = (await conversations.get("c")).unwrap().tail
    assert end.seq == 4 + sum(sizes)

    for page in (256, 300, end.seq - 1, end.seq, 65_536):
        monkeypatch.setattr("lamina.conversation._looking.LONGEST_EXPORT", page)
        after, seen = 0, list[int]()
        while after < end.seq:
            lines = (await conversations.export("c", after=after)).unwrap()
            assert len(lines) <= page + 1
            last = verify_export(lines).unwrap()
            seen += [orjson.loads(line)["seq"] for line in lines[1:]]
            after = last.seq
        assert (seen, last) == ([*range(1, end.seq + 1)], end)
    for after in [-1, 0, 5, 6, 7, 100, 260, 270, end.seq - 1, end.seq, end.seq + 9, 1 << 70]:
        lines = (await conversations.export("c", after=after)).unwrap()
        assert verify_export(lines) == Success(end)
        begun = orjson.loads(lines[0])["after"]
        assert begun <= max(0, after)
        assert [orjson.loads(line)["seq"] for line in lines[1:]] == [*range(begun + 1, end.seq + 1)]
        read = (await conversations.read("c", after=after)).unwrap()
        assert [entry.seq for entry in read] == [*range(max(0, after) + 1, end.seq + 1)]


async def test_a_fork_past_the_end_is_told_where_one_is_possible(store: Store, clock: VirtualClock) -> None:
    conversations = StoredConversations(store, clock)
    claim = (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"), said("go")))).unwrap()
    (await claim.log.append(declared("a"))).unwrap()
    refused = failure(await conversations.fork("c", "d", at=99))
    assert (refused.nearest, refused.why) == (3, "past the end")
    (await conversations.fork("c", "d", at=refused.nearest)).unwrap()
