from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from returns.result import Failure, Result, Success

from lamina.audit import (
    Audit,
    AuditEntry,
    MemoryAudit,
    StoredAudit,
    audit_entries,
    record_decision,
    stored_audit,
)
from lamina.effect import Layer
from lamina.redaction import MASK, Secrets
from lamina.runtime import build
from lamina.store import (
    Row,
    Rows,
    Statement,
    Store,
    StoreError,
    StoreFull,
    StoreLocked,
    Unmet,
    ValueRefused,
    memory_store,
    sqlite_store,
)
from lamina.testing import FixedIds, VirtualClock

CANARY = "canary-77ab"


def record(audit: Audit | None, subject: str = "write_file", **fields: Any) -> None:
    record_decision(audit, "authorization", subject, "refused", reason="unauthorized", **fields)


# --- what an entry holds ------------------------------------------------------------------------------------------


def test_an_entry_has_who_what_and_why() -> None:
    audit, clock = MemoryAudit(), VirtualClock()

    record(
        audit,
        outcome="not-run",
        agent="triage",
        conversation="c-1",
        run="run-1",
        turn=2,
        call="c7",
        by="policy",
        about={"path": CANARY},
        names=("path",),
        clock=clock,
        ids=FixedIds(),
    )

    assert audit.entries == (
        AuditEntry(
            id="audit-1",
            at=clock.now(),
            kind="authorization",
            subject="write_file",
            decision="refused",
            reason="unauthorized",
            outcome="not-run",
            agent="triage",
            conversation="c-1",
            run="run-1",
            turn=2,
            call="c7",
            by="policy",
            shape={"path": "[REDACTED:string]"},
        ),
    )


def test_words_and_principals_are_kept_only_where_somebody_says_so() -> None:
    quiet, open_ = MemoryAudit(), MemoryAudit(principal=lambda who: getattr(who, "id"), details=True)

    class User:
        id = "user-7"
        mail = CANARY

    for audit in (quiet, open_):
        record(audit, principal=User(), detail=f"{CANARY} " * 100)
        record(audit)

    assert CANARY not in repr(quiet.entries)
    assert [entry.principal for entry in quiet.entries] == [None, None]
    assert [entry.principal for entry in open_.entries] == ["user-7", None]
    assert open_.entries[0].detail.startswith(CANARY)
    assert len(open_.entries[0].detail) == 512


def test_names_are_short_and_storable_and_hold_no_secret() -> None:
    audit = MemoryAudit(details=True, principal=str)

    record(
        audit,
        "a\0b\ud800" + "x" * 500,
        principal="the s3cr3t-token",
        detail="s3cr3t-token",
        by="s3cr3t-token",
        call="s3cr3t-token",
        secrets=Secrets("s3cr3t-token"),
    )

    entry = audit.entries[0]
    assert entry.subject.startswith("a\ufffdb\ufffdxxx")
    assert len(entry.subject) == 128
    assert (entry.principal, entry.detail, entry.by, entry.call) == (f"the {MASK}", MASK, MASK, MASK)


# --- what goes wrong changes nothing ------------------------------------------------------------------------------


def test_without_an_audit_nothing_is_looked_at() -> None:
    record(None, about=object(), principal=object())


def _broken(_: object) -> str:
    raise ValueError(CANARY)


class BrokenAudit(Audit):
    def record(self, entry: AuditEntry) -> None:
        raise ValueError(CANARY)


@pytest.mark.parametrize("audit", [BrokenAudit(), MemoryAudit(principal=_broken)], ids=["sink", "projection"])
def test_what_raises_is_logged_without_its_text(audit: Audit, caplog: pytest.LogCaptureFixture) -> None:
    record(audit, principal=object())

    assert "not in the audit" in caplog.text
    assert CANARY not in caplog.text
    # A projection takes its own part of an entry with it, and not the decision.
    assert [one.principal for one in getattr(audit, "entries", ())] == (
        [None] if isinstance(audit, MemoryAudit) else []
    )
    assert [vars(one)["error"] for one in caplog.records] == ["ValueError"]


def test_an_audit_in_memory_keeps_the_last_and_counts_the_others() -> None:
    audit = MemoryAudit(limit=2)

    for index in range(5):
        record(audit, f"tool-{index}")

    assert [entry.subject for entry in audit.entries] == ["tool-3", "tool-4"]
    assert audit.dropped == 3
    audit.clear()
    assert (audit.entries, audit.dropped) == ((), 3)
    with pytest.raises(ValueError, match="at least one"):
        MemoryAudit(limit=0)


# --- in the store -------------------------------------------------------------------------------------------------


def _sqlite(tmp_path: Path) -> Layer[Any, Store, Any]:
    return sqlite_store(tmp_path / "audit.db").catch(memory_store())


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Layer[Any, Store, Any]:
    return memory_store() if request.param == "memory" else _sqlite(tmp_path)


async def _use(service: type[Any], rt: Any) -> Any:
    from lamina.effect import handler

    async def give(_: None, it: Any) -> Any:
        return it

    give.__annotations__ = {"_": None, "it": service}
    return await rt.run(handler(give), None)


async def test_entries_are_in_the_store_when_the_runtime_is_closed(tmp_path: Path) -> None:
    app: Any = stored_audit(principal=str).provide_merge(_sqlite(tmp_path))
    async with build(app) as rt:
        audit = await _use(Audit, rt)
        for index in range(300):
            record(audit, f"tool-{index}", about={"x": CANARY}, principal=index, detail=CANARY)
        assert audit.waiting > 0

    async with build(_sqlite(tmp_path)) as rt:
        database: Store = await _use(Store, rt)
        entries = (await audit_entries(database)).unwrap()
        rows = (await database.read("SELECT id, created, kind, subject, outcome, entry FROM audit")).unwrap()
        only = (await audit_entries(database, subject="tool-7")).unwrap()
        few = (await audit_entries(database, limit=3)).unwrap()

    assert {entry.subject for entry in entries} == {f"tool-{index}" for index in range(300)}
    assert {entry.principal for entry in entries} == {str(index) for index in range(300)}
    assert [entry.subject for entry in only] == ["tool-7"]
    assert len(few) == 3
    assert CANARY not in repr(rows)
    assert audit.lost == 0


async def test_an_entry_comes_back_as_it_was(store: Layer[Any, Store, Any]) -> None:
    memory = MemoryAudit(details=True)
    record(memory, "a\0'\"\ud800é", turn=3, call="c", about=[1, {"k": None}], detail="said")
    async with build(store) as rt:
        database: Store = await _use(Store, rt)
        audit = StoredAudit(database)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(audit.write_all)
            audit.record(memory.entries[0])
            audit.record(memory.entries[0])  # a commit that was in doubt is written once more
            audit.close()
        entries = (await audit_entries(database)).unwrap()

    assert entries == memory.entries
    assert audit.lost == 0


class Faulty(Store):
    """Answers as it is told to, and takes everything afterwards."""

    durable = False

    def __init__(self, *answers: StoreError | Unmet | Exception, refuse: str | None = None) -> None:
        self.answers = list(answers)
        self.refuse = refuse
        self.units: list[int] = []
        self.taken: list[str] = []
        self.hold = anyio.Event()
        self.hold.set()

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        await self.hold.wait()
        self.units.append(len(statements))
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return Failure(answer)
        subjects = [str(statement.parameters[3]) for statement in statements]
        if self.refuse in subjects:
            return Failure(ValueRefused(0, 1, "size"))
        self.taken += subjects
        return Success(())

    async def read(self, sql: str, *parameters: object) -> Result[tuple[Row, ...], StoreError]:
        return Failure(StoreLocked())


@asynccontextmanager
async def writing(audit: StoredAudit) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(audit.write_all)
        yield
        audit.close()


async def test_what_may_pass_is_tried_again() -> None:
    store, clock = Faulty(StoreLocked(), StoreLocked(), StoreLocked()), VirtualClock()
    audit = StoredAudit(store, clock=clock)

    async with writing(audit):
        record(audit)
        await clock.advance(2)

    assert (store.taken, audit.lost) == (["write_file"], 0)
    assert store.units == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("answers", "units"),
    [
        pytest.param([StoreLocked()] * 4, [2, 2, 2, 2], id="locked for too long"),
        pytest.param([StoreFull()] * 3, [2, 1, 1], id="full"),
        pytest.param([ValueError(CANARY)] * 3, [2, 1, 1], id="a store that breaks"),
    ],
)
async def test_what_the_store_does_not_take_is_lost_counted_and_logged(
    answers: list[Any], units: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    store, clock = Faulty(*answers), VirtualClock()
    audit = StoredAudit(store, clock=clock)

    async with writing(audit):
        record(audit, "one")
        record(audit, "two")
        await clock.advance(2)
        assert (store.units, audit.lost, audit.waiting) == (units, 2, 0)
        record(audit, "three")
        await clock.advance(2)

    assert store.taken == ["three"]
    assert "could not be kept" in caplog.text


@pytest.mark.anyio
async def test_one_entry_that_is_refused_does_not_take_others_with_it() -> None:
    store = Faulty(refuse="bad")
    audit = StoredAudit(store)

    async with writing(audit):
        for subject in ("one", "bad", "two"):
            record(audit, subject)

    assert (store.taken, audit.lost) == (["one", "two"], 1)


@pytest.mark.anyio
async def test_a_full_queue_loses_what_comes_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    store = Faulty()
    store.hold = anyio.Event()
    audit = StoredAudit(store, limit=3, batch=2)

    async with writing(audit):
        for index in range(8):
            record(audit, f"tool-{index}")
        assert (audit.waiting, audit.lost) == (3, 5)
        store.hold.set()
        await anyio.wait_all_tasks_blocked()
        record(audit, "later")

    record(audit, "after it was closed")
    assert store.taken == ["tool-0", "tool-1", "tool-2", "later"]
    assert audit.lost == 6
    assert caplog.text.count("queue is full") == 2
    assert caplog.text.count("keeps decisions again") == 1


@pytest.mark.anyio
async def test_what_is_cut_off_is_counted() -> None:
    store = Faulty()
    store.hold = anyio.Event()
    audit = StoredAudit(store)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(audit.write_all)
        record(audit)
        record(audit)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert (audit.lost, audit.waiting) == (2, 0)


async def test_a_store_that_cannot_be_read_says_so() -> None:
    assert await audit_entries(Faulty()) == Failure(StoreLocked())


@pytest.mark.parametrize("make", [lambda: StoredAudit(Faulty(), limit=0), lambda: StoredAudit(Faulty(), batch=0)])
def test_its_bounds_are_numbers_that_make_sense(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        make()
