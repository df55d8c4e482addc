"""Every operation of conversations, their logs and sessions goes through the wrapper, and tells nothing of content."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lamina.approval import Approved
from lamina.conversation import (
    Conversations,
    InputRecorded,
    Journal,
    MemoryJournal,
    RunBegan,
    RunEnded,
    RunLog,
    RunSuspended,
    StoredConversations,
)
from lamina.session import Metadata, SessionPatch, SessionStore, StoredSessions
from lamina.store import Store, memory_store
from lamina.telemetry import operations_of
from lamina.testing import VirtualClock, check_operations
from lamina.testing._store_ground import opened

CANARY = "canary-7f3a"


@asynccontextmanager
async def filled() -> AsyncIterator[tuple[Store, StoredConversations]]:
    async with opened(memory_store()) as store:
        conversations = StoredConversations(store, VirtualClock())
        for name, run in (("c", "r"), ("suspended", "s")):
            opening = (RunBegan(run, "agent"), InputRecorded(run, f"in-{run}", "user", None, CANARY))
            claim = (await conversations.claim(name, run, opening=opening)).unwrap()
            last = RunEnded(run, "completed") if name == "c" else RunSuspended(run, 1, CANARY)
            (await claim.log.append(last)).unwrap()
        yield store, conversations


async def test_conversations() -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Conversations]:
        async with filled() as (_, conversations):
            yield conversations

    opening = (InputRecorded("r2", "in-2", "user", CANARY, CANARY),)
    report = await check_operations(
        Conversations,
        make,
        {
            "claim": lambda it: it.claim("c", "r2", opening=opening),
            "resume": lambda it: it.resume("suspended", "s"),
            "suspended": lambda it: it.suspended("suspended", "s"),
            "pending": lambda it: it.pending(),
            "decide": lambda it: it.decide("suspended", "s", CANARY, Approved(CANARY), CANARY),
            "abort": lambda it: it.abort("suspended", "s"),
            "fork": lambda it: it.fork("c", "d"),
            "read": lambda it: it.read("c"),
            "history": lambda it: it.history("c"),
            "get": lambda it: it.get("c"),
            "list": lambda it: it.list(),
            "export": lambda it: it.export("c"),
            "verify": lambda it: it.verify("c"),
        },
        canary=CANARY,
    )
    assert len(report.checked) == 13


async def test_the_log_of_a_run() -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[RunLog]:
        async with filled() as (_, conversations):
            yield (await conversations.claim("c", "r2")).unwrap().log

    said = InputRecorded("r2", "in-2", "user", CANARY, CANARY)
    report = await check_operations(Journal, make, {"append": lambda it: it.append(said)}, canary=CANARY)
    assert report.checked == ("journal.append",)
    assert {name: one.name for name, one in operations_of(RunLog).items()} == {"renew": "journal.renew"}


async def test_any_journal() -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Journal]:
        yield MemoryJournal()

    said = InputRecorded("r2", "in-2", "user", CANARY, CANARY)
    report = await check_operations(Journal, make, {"append": lambda it: it.append(said)}, canary=CANARY)
    assert report.checked == ("journal.append",)


async def test_sessions() -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[SessionStore]:
        async with filled() as (store, conversations):
            sessions = StoredSessions(store, conversations, VirtualClock())
            (await sessions.create("s", metadata=Metadata(1, CANARY), conversations=("c",))).unwrap()
            yield sessions

    patch = SessionPatch(metadata=Metadata(1, CANARY))
    report = await check_operations(
        SessionStore,
        make,
        {
            "create": lambda it: it.create("t", metadata=Metadata(1, {CANARY: CANARY})),
            "get": lambda it: it.get("s"),
            "update": lambda it: it.update("s", patch, 1),
            "close": lambda it: it.close("s", 1),
            "list": lambda it: it.list(),
            "fork_conversation": lambda it: it.fork_conversation("s", "c", "d", 1),
        },
        canary=CANARY,
    )
    assert len(report.checked) == 6
