"""A run's log over a store that fails, breaks off or is slow: nothing is lost, nothing is written twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from returns.result import Failure, Result, Success

from lamina.call import CallKey, ToolSuccess
from lamina.conversation import (
    AppendConflict,
    CallStarted,
    Claim,
    InputRecorded,
    JournalFailed,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunSuspended,
    StoredConversations,
    TurnAdvanced,
)
from lamina.model import AssistantMessage, ToolCall
from lamina.store import (
    Row,
    Rows,
    Statement,
    Store,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
    Unmet,
    Value,
    memory_store,
)
from lamina.testing import VirtualClock
from lamina.testing._store_ground import opened

KEY = CallKey("r", 1, "c")
Answer = Result[Rows, StoreError | Unmet]


class Faulty(Store):
    """A store of which a test may spoil the next writes: before they are done, or after."""

    durable = False

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.before: list[StoreError | None] = []
        self.after: list[StoreError | BaseException | None] = []
        self.gate: anyio.Event | None = None
        self.entered = anyio.Event()
        self.writes = 0
        self.reads = 0

    async def write(self, *statements: Statement) -> Answer:
        self.writes += 1
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.before and (broken := self.before.pop(0)) is not None:
            return Failure(broken)
        answer = await self.inner.write(*statements)
        if self.after and (late := self.after.pop(0)) is not None:
            if isinstance(late, BaseException):
                raise late
            return Failure(late)
        return answer

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        self.reads += 1
        return await self.inner.read(sql, *parameters)


@pytest.fixture
async def store() -> AsyncIterator[Faulty]:
    async with opened(memory_store()) as inner:
        yield Faulty(inner)


@pytest.fixture
def conversations(store: Faulty) -> StoredConversations:
    return StoredConversations(store, VirtualClock())


@pytest.fixture
async def claim(conversations: StoredConversations) -> Claim:
    return (await conversations.claim("c", "r", opening=(RunBegan("r", "agent"),))).unwrap()


def said(text: str) -> InputRecorded:
    return InputRecorded("r", f"in-{text}", "user", None, text)


async def ids(conversations: StoredConversations) -> list[str]:
    (await conversations.verify("c")).unwrap()
    return [entry.id for entry in (await conversations.read("c")).unwrap()][2:]


async def test_a_batch_is_one_write_and_reads_nothing(store: Faulty, claim: Claim) -> None:
    store.writes = store.reads = 0
    await claim.log.append(said("a"), said("b"))
    await claim.log.append(said("c"))
    assert (store.writes, store.reads) == (2, 0)


async def test_a_claim_is_one_write_and_the_next_reads_only_what_is_new(
    store: Faulty, claim: Claim, conversations: StoredConversations
) -> None:
    for at in range(1_500):
        await claim.log.append(said(f"{at}"))
    await claim.log.append(RunEnded("r", "completed"))
    await conversations.claim("c", "r2")
    await conversations.abort("c", "r2")
    store.writes = store.reads = 0
    (await conversations.claim("c", "r3")).unwrap()
    assert (store.writes, store.reads) == (1, 1), "the row alone: nothing came since"


@pytest.mark.parametrize("error", [StoreFull(), StoreLocked(), StoreUnavailable("lost")])
async def test_an_append_that_failed_may_be_tried_again(
    store: Faulty, claim: Claim, conversations: StoredConversations, error: StoreError
) -> None:
    store.before = [error]
    failed = await claim.log.append(said("a"))
    assert isinstance(failed, Failure)
    assert failed.failure() == JournalFailed("input:in-a", str(error).rstrip("."), error)
    assert await claim.log.append(said("b")) == Success(None)
    assert await claim.log.append(said("a")) == Success(None)
    assert await ids(conversations) == ["input:in-b", "input:in-a"]


@pytest.mark.parametrize("landed", [True, False], ids=["it was kept", "it was not"])
@pytest.mark.parametrize("between", [True, False], ids=["another comes between", "it is tried again at once"])
async def test_an_append_in_doubt_is_found_or_done_again(
    store: Faulty, claim: Claim, conversations: StoredConversations, landed: bool, between: bool
) -> None:
    doubt = StoreUnavailable("lost", in_doubt=True)
    store.before, store.after = ([], [doubt]) if landed else ([doubt], [])
    assert isinstance(await claim.log.append(said("a")), Failure)
    if between:
        assert await claim.log.append(said("b")) == Success(None)
    assert await claim.log.append(said("a")) == Success(None)
    assert await claim.log.append(said("c")) == Success(None)
    expected = ["a", *(["b"] if between else []), "c"] if landed or not between else ["b", "a", "c"]
    assert await ids(conversations) == [f"input:in-{each}" for each in expected]


async def test_several_appends_in_doubt(store: Faulty, claim: Claim, conversations: StoredConversations) -> None:
    doubt = StoreUnavailable("lost", in_doubt=True)
    store.before = [doubt, None, doubt]
    store.after = [doubt]
    for each in "abc":  # the second is kept, the others are not
        assert isinstance(await claim.log.append(said(each)), Failure)
    for each in "cab":
        assert await claim.log.append(said(each)) == Success(None)
    assert await ids(conversations) == ["input:in-b", "input:in-c", "input:in-a"]


async def test_an_end_in_doubt_is_found(store: Faulty, claim: Claim, conversations: StoredConversations) -> None:
    store.after = [StoreUnavailable("lost", in_doubt=True)]
    assert isinstance(await claim.log.append(RunEnded("r", "completed")), Failure)
    (await conversations.claim("c", "r2", opening=(RunBegan("r2", "agent"),))).unwrap()
    assert await claim.log.append(RunEnded("r", "completed")) == Success(None)
    failed = await claim.log.append(RunEnded("r", "failed", "Boom"))
    assert isinstance(failed, Failure)


async def test_a_defect_of_the_store_leaves_the_log_usable(
    store: Faulty, claim: Claim, conversations: StoredConversations
) -> None:
    store.after = [RuntimeError("broken")]
    with pytest.raises(RuntimeError):
        await claim.log.append(said("a"))
    assert await claim.log.append(said("b")) == Success(None)
    assert await claim.log.append(said("a")) == Success(None)
    assert await ids(conversations) == ["input:in-a", "input:in-b"]


async def test_tasks_wait_for_each_other_and_one_that_is_cancelled_lets_the_next_through(
    store: Faulty, claim: Claim, conversations: StoredConversations
) -> None:
    store.gate, store.entered = anyio.Event(), anyio.Event()
    done: list[str] = []

    async def append(text: str, started: Callable[[], object], scope: anyio.CancelScope) -> None:
        with scope:
            started()
            (await claim.log.append(said(text))).unwrap()
            done.append(text)

    scopes = {text: anyio.CancelScope() for text in "abcd"}
    async with anyio.create_task_group() as group:
        for text, scope in scopes.items():
            group.start_soon(append, text, lambda: None, scope)
            await anyio.lowlevel.checkpoint()
        await store.entered.wait()
        scopes["a"].cancel()  # it is being written
        scopes["c"].cancel()  # it waits
        await anyio.wait_all_tasks_blocked()
        store.gate.set()
    assert sorted(done) == ["b", "d"]
    assert await claim.log.append(said("a")) == Success(None)
    assert sorted(await ids(conversations)) == ["input:in-a", "input:in-b", "input:in-d"]


async def test_what_is_appended_again_in_another_grouping_is_not_taken_for_the_same(
    claim: Claim, conversations: StoredConversations
) -> None:
    await claim.log.append(said("a"))
    mixed = await claim.log.append(said("b"), said("a"))
    assert isinstance(mixed, Failure)
    assert await ids(conversations) == ["input:in-a"]


async def test_the_same_record_with_its_members_in_another_order_is_the_same(
    claim: Claim, conversations: StoredConversations
) -> None:
    await claim.log.append(ResponseDeclared("r", 1, AssistantMessage((ToolCall("c", "pay", "{}"),))))
    assert await claim.log.append(ResultSettled(KEY, ToolSuccess({"b": 1, "a": 2}))) == Success(None)
    assert await claim.log.append(ResultSettled(KEY, ToolSuccess({"a": 2, "b": 1}))) == Success(None)
    history = (await conversations.history("c")).unwrap()
    assert list(history.messages[-1].results[0].content) == ["b", "a"]  # type: ignore[union-attr]


# --- the ids that the store does not guard ------------------------------------------------------------------------


def turn_of(turn: int, text: str = "x") -> tuple[ResponseDeclared, ResultSettled, TurnAdvanced]:
    call = AssistantMessage((ToolCall("c", "pay", "{}"),))
    settled = ResultSettled(CallKey("r", turn, "c"), ToolSuccess(text))
    return ResponseDeclared("r", turn, call), settled, TurnAdvanced("r", turn)


@pytest.mark.parametrize("later", [0, 1, 5], ids=["in its turn", "in the next", "much later"])
async def test_what_is_appended_again_is_there_once(
    claim: Claim, conversations: StoredConversations, later: int
) -> None:
    declared, settled, advanced = turn_of(1)
    for record in (declared, settled):
        (await claim.log.append(record)).unwrap()
    for turn in range(1, 1 + later):
        (await claim.log.append(TurnAdvanced("r", turn), turn_of(turn + 1)[0])).unwrap()
        (await claim.log.append(turn_of(turn + 1)[1])).unwrap()
    before = await ids(conversations)
    again = [declared, settled, *([] if later == 0 else [turn_of(2)[0]])]
    for record in again:
        assert await claim.log.append(record) == Success(None)
    assert isinstance(await claim.log.append(turn_of(1, "other")[1]), Failure)
    assert isinstance(await claim.log.append(ResponseDeclared("r", 1, AssistantMessage(()))), Failure)
    assert isinstance(await claim.log.append(said("new"), settled), Failure)
    assert await ids(conversations) == before
    if later:
        assert await claim.log.append(TurnAdvanced("r", 1), turn_of(2)[0]) == Success(None)
        assert isinstance(await claim.log.append(TurnAdvanced("r", 1), turn_of(3)[0]), Failure)
        assert await ids(conversations) == before
    (await claim.log.append(advanced if later == 0 else TurnAdvanced("r", later + 1))).unwrap()


@pytest.mark.parametrize("landed", [True, False], ids=["it was kept", "it was not"])
async def test_a_result_in_doubt_is_there_once(
    store: Faulty, claim: Claim, conversations: StoredConversations, landed: bool
) -> None:
    declared, settled, advanced = turn_of(1)
    (await claim.log.append(declared)).unwrap()
    doubt = StoreUnavailable("lost", in_doubt=True)
    store.before, store.after = ([], [doubt]) if landed else ([doubt], [])
    assert isinstance(await claim.log.append(settled), Failure)
    assert await claim.log.append(settled) == Success(None)
    assert await claim.log.append(settled) == Success(None)
    (await claim.log.append(advanced, RunEnded("r", "completed"))).unwrap()
    assert await claim.log.append(advanced, RunEnded("r", "completed")) == Success(None)
    assert await ids(conversations) == ["declared:r/1", "settled:r/1/c", "advanced:r/1", "ended:r"]


async def test_a_store_that_does_not_answer_whether_it_is_there(
    store: Faulty, claim: Claim, conversations: StoredConversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared, settled, _ = turn_of(1)
    for record in (declared, settled):
        (await claim.log.append(record)).unwrap()

    async def refuses(sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return Failure(StoreLocked())

    with monkeypatch.context() as patch:
        patch.setattr(store, "read", refuses)
        failed = await claim.log.append(settled)
    assert isinstance(failed, Failure)
    assert failed.failure().cause == StoreLocked()
    assert await claim.log.append(settled) == Success(None)
    assert await ids(conversations) == ["declared:r/1", "settled:r/1/c"]


async def test_a_run_that_was_resumed_knows_what_is_there(claim: Claim, conversations: StoredConversations) -> None:
    first, second = turn_of(1), turn_of(2)
    (await claim.log.append(*first, second[0])).unwrap()
    (await claim.log.append(RunSuspended("r", 2, None))).unwrap()
    resumed = (await conversations.resume("c", "r")).unwrap()
    log = resumed.claim.log
    before = await ids(conversations)
    for record in (*first, second[0]):
        assert await log.append(record) == Success(None)
    assert isinstance(await log.append(turn_of(1, "other")[1]), Failure)
    assert await ids(conversations) == before
    for _ in range(2):
        assert await log.append(second[1]) == Success(None)
    (await log.append(second[2], *turn_of(3))).unwrap()
    assert await ids(conversations) == [
        *before,
        "settled:r/2/c",
        "advanced:r/2",
        "declared:r/3",
        "settled:r/3/c",
        "advanced:r/3",
    ]


async def test_an_append_of_nothing_is_nothing(store: Faulty, claim: Claim) -> None:
    store.writes = 0
    assert await claim.log.append() == Success(None)
    assert store.writes == 0


async def test_an_ending_is_the_last_of_its_batch(claim: Claim, conversations: StoredConversations) -> None:
    wrong = await claim.log.append(RunEnded("r", "completed"), said("a"))
    assert isinstance(wrong, Failure)
    assert await claim.log.append(said("a"), RunEnded("r", "completed")) == Success(None)
    assert (await conversations.get("c")).unwrap().run is None


# --- rivals, part 2, by their number: what they lose here ------------------------------------------------------------


async def test_rival_9_a_result_whose_write_failed_is_written_before_anything_else(
    store: Faulty, claim: Claim, conversations: StoredConversations
) -> None:
    call = AssistantMessage((ToolCall("c", "pay", "{}"),))
    await claim.log.append(ResponseDeclared("r", 1, call))
    await claim.log.append(CallStarted(KEY, "d", None))
    result = ResultSettled(KEY, ToolSuccess("paid"))
    store.before = [StoreLocked()]
    assert isinstance(await claim.log.append(result), Failure)
    assert await claim.log.append(result) == Success(None)
    history = (await conversations.history("c")).unwrap()
    assert history.messages[-1].results[0].content == "paid"  # type: ignore[union-attr]


async def test_rival_21_a_stale_writer_is_told_of_the_conflict_and_writes_nothing(
    store: Faulty, claim: Claim, conversations: StoredConversations
) -> None:
    await conversations.abort("c", "r")
    before = await ids(conversations)
    other = (await conversations.claim("c", "r2")).unwrap()
    failed = await claim.log.append(said("late"))
    assert isinstance(failed, Failure)
    assert failed.failure().cause == AppendConflict("c", 2, other.tail.seq)
    assert await ids(conversations) == before
