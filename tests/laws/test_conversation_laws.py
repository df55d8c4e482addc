"""Laws of conversations: any log projects to a valid history, cut anywhere; racers do not mix; replays add nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st
from returns.result import Failure, Success

from lamina.approval import ApprovalRequest
from lamina.call import (
    CallKey,
    Outcome,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.conversation import (
    ApprovalDecided,
    ApprovalRequested,
    CallStarted,
    ConversationBusy,
    ConversationCreated,
    ConversationForked,
    Conversations,
    History,
    InputRecorded,
    Record,
    RecordedError,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunResumed,
    RunSuspended,
    StoredConversations,
    TurnAdvanced,
    history_problems,
    project,
    run_of,
)
from lamina.conversation._codec import read_record, write_record
from lamina.model import AssistantMessage, File, Reasoning, Source, Text, ToolCall, ToolMessage, ToolResult, Usage
from lamina.store import Store, memory_store
from lamina.testing import VirtualClock
from lamina.testing._store_ground import opened

# --- small ids, so that records meet ------------------------

runs = st.sampled_from(["r1", "r2"])
turns = st.integers(1, 2)
call_ids = st.sampled_from(["a", "b", "c"])
keys = st.builds(CallKey, runs, turns, call_ids)
executors = st.sampled_from(["application", "provider"])
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(ToolSuccess, st.integers()), st.just(ToolRejected("denied")), st.just(ToolUnknownOutcome())
)
messages = st.lists(
    st.one_of(st.builds(Text, st.just("x")), st.builds(ToolCall, call_ids, st.just("read"), st.just("{}"), executors)),
    max_size=4,
).map(lambda parts: AssistantMessage(tuple(parts)))
records: st.SearchStrategy[Record] = st.one_of(
    st.builds(RunBegan, runs, st.just("agent")),
    st.builds(InputRecorded, runs, st.sampled_from("ijk"), st.just("user"), st.none(), st.just("hi")),
    st.builds(
        ResponseDeclared, runs, turns, messages, st.none(), st.lists(call_ids, max_size=1).map(lambda ids: tuple(ids))
    ),
    st.builds(ResponseDeclared, runs, turns, messages),
    st.builds(CallStarted, keys, st.just("d"), st.none(), st.none(), st.sampled_from(["readonly", "uncertain"])),
    st.builds(ResultSettled, keys, outcomes),
    st.builds(ResultSettled, keys, outcomes),
    st.builds(ApprovalDecided, keys, st.just("x"), st.just("approved"), st.just("ada"), st.just(""), st.just("d")),
    st.builds(TurnAdvanced, runs, turns),
    st.builds(RunSuspended, runs, turns, st.none()),
    st.builds(RunResumed, runs),
    st.builds(RunEnded, runs, st.just("completed")),
    st.builds(RepairAnnotated, st.just("invalid-log"), st.just(("x",)), st.integers(0, 12)),
    st.just(ConversationCreated("c")),
    st.just(ConversationForked("d", 3)),
)
logs = st.lists(records, max_size=24)


@settings(max_examples=400, deadline=None)
@given(logs)
def test_any_log_projects_to_a_valid_history_wherever_it_is_cut(log: list[Record]) -> None:
    before: tuple[Any, ...] = ()
    for end in range(len(log) + 1):
        projection = project(log[:end])
        history = projection.history()
        assert history_problems(history.messages) == []
        # What is settled stays as it is, whatever follows.
        assert history.messages[: len(before)] == before
        before = projection.settled_history().messages
        assert history_problems(before) == []
        assert project(log[:end]).history() == history, "the same log is projected to two histories"


@settings(max_examples=400, deadline=None)
@given(logs)
def test_no_input_is_lost_and_every_result_is_its_calls_own(log: list[Record]) -> None:
    history = project(log).history()
    inputs = {record.id for record in log if isinstance(record, InputRecorded)}
    assert sum(type(message).__name__ == "UserMessage" for message in history.messages) == len(inputs)
    told = [result for message in history.messages if isinstance(message, ToolMessage) for result in message.results]
    successes = [result for result in told if not result.is_error]
    settled = {
        (record.key.call, str(record.outcome.value))
        for record in log
        if isinstance(record, ResultSettled) and isinstance(record.outcome, ToolSuccess)
    }
    assert {(result.id, str(result.content)) for result in successes} <= settled


# --- the same in a store ------------------------


def run_it(body: Any) -> None:
    """Run an async law over a fresh store."""

    async def main() -> None:
        async with opened(memory_store()) as store:
            await body(store)

    anyio.run(main)


async def written(conversations: Conversations, log: Sequence[Record]) -> int:
    """Append what a log takes of some records, each by a run of its own; give how many it took."""
    taken = 0
    claim = (await conversations.claim("c", "r1")).unwrap()
    for record in log:
        if run_of(record) != "r1":
            continue
        if isinstance(record, RunEnded | RunSuspended):
            continue
        taken += isinstance(await claim.log.append(record), Success)
    return taken


@settings(max_examples=60, deadline=None)
@given(logs)
def test_a_takeover_repairs_any_log_once_and_tells_what_a_look_told(log: list[Record]) -> None:
    async def law(store: Store) -> None:
        clock = VirtualClock()
        conversations = StoredConversations(store, clock)
        await written(conversations, log)
        await clock.advance(31)
        look = (await StoredConversations(store, clock).history("c")).unwrap()
        claim = (await conversations.claim("c", "r9", opening=(RunBegan("r9", "agent"),))).unwrap()
        assert claim.history == look
        assert claim.repairs[-1] == "run r1: its owner is gone, so it is ended"
        (await claim.log.append(RunEnded("r9", "completed"))).unwrap()
        again = (await StoredConversations(store, clock).claim("c", "r10")).unwrap()
        assert (again.history, again.repairs) == (look, ())
        assert (await conversations.verify("c")).unwrap() == again.tail

    run_it(law)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(records, min_size=1, max_size=3), max_size=10), st.data())
def test_what_is_appended_again_adds_nothing(batches: list[list[Record]], data: st.DataObject) -> None:
    async def law(store: Store) -> None:
        conversations = StoredConversations(store, VirtualClock())
        claim = (await conversations.claim("c", "r1")).unwrap()
        kept: list[list[Record]] = []
        for batch in batches:
            if any(isinstance(record, RunEnded | RunSuspended) for record in batch):
                continue
            if isinstance(await claim.log.append(*batch), Success):
                kept.append(batch)
            if kept:
                assert await claim.log.append(*data.draw(st.sampled_from(kept))) == Success(None)
        entries = (await conversations.read("c")).unwrap()[1:]
        ids = [entry.id for entry in entries]
        assert len(set(ids)) == len(ids)
        assert set(ids) == {record.id for batch in kept for record in batch}
        (await conversations.verify("c")).unwrap()

    run_it(law)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_racing_writers_never_interleave_and_one_wins_each_position(sizes: list[int], random: Any) -> None:
    async def law(store: Store) -> None:
        clock = VirtualClock()
        finished: list[str] = []

        async def writer(at: int, size: int) -> None:
            conversations = StoredConversations(store, clock)
            run = f"w{at}"
            while True:
                for _ in range(random.randint(0, 3)):
                    await anyio.lowlevel.checkpoint()
                claimed = await conversations.claim("c", run, opening=(RunBegan(run, "agent"),))
                if isinstance(claimed, Success):
                    break
                assert isinstance(claimed.failure(), ConversationBusy)
            log = claimed.unwrap().log
            for turn in range(1, size + 1):
                await anyio.lowlevel.checkpoint()
                (await log.append(ResponseDeclared(run, turn, AssistantMessage((Text("x"),))))).unwrap()
            (await log.append(RunEnded(run, "completed"))).unwrap()
            finished.append(run)

        async with anyio.create_task_group() as group:
            for at, size in enumerate(sizes):
                group.start_soon(writer, at, size)
        conversations = StoredConversations(store, clock)
        entries = (await conversations.read("c")).unwrap()
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        owners = [run_of(entry.record) for entry in entries[1:]]
        expected = [run for run in finished for _ in range(sizes[int(run[1:])] + 2)]
        assert owners == expected, "runs interleave, or one is lost"
        (await conversations.verify("c")).unwrap()

    run_it(law)


@settings(max_examples=40, deadline=None)
@given(st.lists(records, max_size=12), st.integers(0, 20))
def test_a_fork_ends_where_it_was_asked_to_and_has_the_others_digests(log: list[Record], at: int) -> None:
    async def law(store: Store) -> None:
        conversations = StoredConversations(store, VirtualClock())
        await written(conversations, log)
        entries = (await conversations.read("c")).unwrap()
        whole = project([entry.record for entry in entries[:at]]).whole
        forked = await conversations.fork("c", "d", at=at)
        if isinstance(forked, Failure):
            assert at > len(entries) or whole != at
            return
        assert whole == at
        copy = (await conversations.read("d")).unwrap()
        assert [(one.id, one.digest) for one in copy[:-1]] == [(one.id, one.digest) for one in entries[:at]]
        prefix: History = project([entry.record for entry in entries[:at]]).history()
        assert (await conversations.history("d")).unwrap() == prefix

    run_it(law)


# --- the codec ------------------------

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
metadata = st.dictionaries(text, json, max_size=2)
any_part = st.one_of(
    st.builds(Text, text, metadata),
    st.builds(Reasoning, text, metadata),
    st.builds(ToolCall, text, text, text, executors, metadata),
    st.builds(ToolResult, text, text, json, st.booleans(), executors, metadata),
    st.builds(File, text, st.none() | st.binary(max_size=40), st.none() | text, metadata),
    st.builds(Source, text, text, metadata),
)
any_key = st.builds(CallKey, text, st.integers(1, 9), text)
recorded = st.builds(lambda tag, said: ToolFailure(_live(tag, said), {"_tag": tag}), st.sampled_from(["A", "B"]), text)
any_outcome = st.one_of(
    st.builds(ToolSuccess, json),
    recorded,
    st.builds(ToolRejected, st.sampled_from(["denied", "budget"]), text, st.lists(text, max_size=3).map(tuple)),
    st.builds(ToolInvalidInput, st.lists(text, max_size=3).map(tuple)),
    st.builds(ToolDefect, st.sampled_from(["raised", "output", "interrupted"])),
    st.just(ToolUnknownOutcome()),
)
counts = st.integers(0, 2**53)
moments = st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(fold=0)
)
requests = st.builds(
    ApprovalRequest,
    id=text,
    key=any_key,
    agent=text,
    conversation=st.none() | text,
    tool=text,
    execution=st.sampled_from(["readonly", "idempotent", "uncertain"]),
    summary=text,
    targets=st.lists(text, max_size=2).map(tuple),
    risk=st.sampled_from(["low", "critical"]),
    preview=json,
    arguments_digest=text,
    recoverable=st.booleans(),
    expires_at=st.none() | moments,
    more_targets=st.booleans(),
)
any_record = st.one_of(
    st.builds(
        ResponseDeclared,
        text,
        st.integers(1, 9),
        st.lists(any_part, max_size=4).map(lambda parts: AssistantMessage(tuple(parts))),
        st.none() | st.builds(Usage, counts, counts, counts, counts, counts),
        st.lists(text, max_size=2).map(tuple),
    ),
    st.builds(ResultSettled, any_key, any_outcome),
    st.builds(RunSuspended, text, st.integers(1, 9), json, st.integers(1, 9)),
    st.builds(ApprovalRequested, requests),
    st.builds(ApprovalDecided, any_key, text, st.sampled_from(["approved", "denied", "expired"]), text, text, text),
    st.builds(InputRecorded, text, st.just("in-1"), st.sampled_from(["user", "directive"]), st.none() | text, text),
    records,
)


def _live(tag: str, message: str) -> RecordedError:
    made = type(tag, (RecordedError,), {"__slots__": (), "__tag__": tag})(message)
    assert isinstance(made, RecordedError)
    return made


@settings(max_examples=500, deadline=None)
@given(any_record)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    kept = write_record(record)
    back = read_record(kept.kind, kept.payload)
    assert back == record
    assert repr(back) == repr(record), "1 is no 1.0, and -0.0 no 0.0"
    assert write_record(back) == kept
