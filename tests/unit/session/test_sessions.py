"""Sessions on every store: a revision that exactly one of many changes, and nothing of another principal's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from returns.result import Failure, Result, Success

from lamina.conversation import (
    ConversationExists,
    Conversations,
    ForkRefused,
    InputRecorded,
    InvalidId,
    NotAllowed,
    RunBegan,
    RunEnded,
    StoredConversations,
    stored_conversations,
)
from lamina.effect import handler
from lamina.runtime import build
from lamina.session import (
    Metadata,
    Session,
    SessionClosed,
    SessionConflict,
    SessionExists,
    SessionPatch,
    SessionRefused,
    SessionStore,
    StoredSessions,
    stored_sessions,
)
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


@pytest.fixture
def conversations(store: Store, clock: VirtualClock) -> Conversations:
    return StoredConversations(store, clock)


@pytest.fixture
def sessions(store: Store, conversations: Conversations, clock: VirtualClock) -> SessionStore:
    return StoredSessions(store, conversations, clock)


def failure(answer: Result[Any, Any]) -> Any:
    assert isinstance(answer, Failure), answer
    return answer.failure()


async def test_what_was_made_is_found(sessions: SessionStore, clock: VirtualClock) -> None:
    metadata = Metadata(3, {"title": "Tea é\0", "n": [1, 2.5, 2**70, None], "deep": {"a": {}}})
    made = (await sessions.create("s", metadata=metadata, conversations=("c2", "c1", "c2"), principal="ada")).unwrap()
    assert made == Session(
        id="s",
        principal="ada",
        revision=1,
        metadata=metadata,
        conversations=("c2", "c1"),
        created=clock.now(),
        updated=clock.now(),
        closed=False,
    )
    assert await sessions.get("s", principal="ada") == Success(made)
    assert await sessions.get("none", principal="ada") == Success(None)
    assert failure(await sessions.create("s", principal="ada")) == SessionExists("s")
    assert failure(await sessions.create("s", principal="bob")) == SessionExists("s")


async def test_a_change_raises_the_revision_and_gives_what_is_kept(sessions: SessionStore, clock: VirtualClock) -> None:
    made = (await sessions.create("s", metadata=Metadata(1, "old"), conversations=("a", "b"))).unwrap()
    await clock.advance(60)
    patch = SessionPatch(metadata=Metadata(2, "new"), add=("c", "a", "c"), remove=("b", "x"))
    changed = (await sessions.update("s", patch, 1)).unwrap()
    assert (changed.revision, changed.metadata, changed.conversations) == (2, Metadata(2, "new"), ("a", "c"))
    assert (changed.created, changed.updated) == (made.created, clock.now())
    assert await sessions.get("s") == Success(changed)

    again = (await sessions.update("s", SessionPatch(add=("b",)), 2)).unwrap()
    assert (again.metadata, again.conversations) == (Metadata(2, "new"), ("a", "c", "b"))
    moved = (await sessions.update("s", SessionPatch(add=("a",), remove=("a",)), 3)).unwrap()
    assert moved.conversations == ("c", "b", "a")
    assert await sessions.get("s") == Success(moved)


async def test_a_change_for_another_revision_is_a_conflict_with_both(sessions: SessionStore) -> None:
    await sessions.create("s")
    for expected in (0, 2, -1):
        refused = await sessions.update("s", SessionPatch(add=("c",)), expected)
        assert failure(refused) == SessionConflict("s", expected, 1)
    assert str(SessionConflict("s", 2, 1)) == "The session s was expected at revision 2, and is at 1."


async def test_of_many_changes_for_one_revision_one_is_kept(sessions: SessionStore) -> None:
    await sessions.create("s")
    won: list[int] = []

    async def change(at: int) -> None:
        answer = await sessions.update("s", SessionPatch(metadata=Metadata(1, at), add=(f"c{at}",)), 1)
        if isinstance(answer, Success):
            won.append(at)
        else:
            assert answer.failure() == SessionConflict("s", 1, 2)

    async with anyio.create_task_group() as group:
        for at in range(10):
            group.start_soon(change, at)
    assert len(won) == 1
    kept = (await sessions.get("s")).unwrap()
    assert kept is not None
    assert (kept.metadata.value, kept.conversations) == (won[0], (f"c{won[0]}",))


@pytest.mark.parametrize("kind", DURABLE)
async def test_rival_12_first_writes_that_race_to_a_fresh_session_are_all_kept(
    kind: str, tmp_path: Path, clock: VirtualClock
) -> None:
    place = Place(kind, tmp_path)

    async def first(at: int) -> None:
        async with place.open() as store:
            sessions = StoredSessions(store, StoredConversations(store, clock), clock)
            made = await sessions.create("s")
            assert isinstance(made, Success) or made.failure() == SessionExists("s")
            while True:
                seen = (await sessions.get("s")).unwrap()
                assert seen is not None
                if isinstance(await sessions.update("s", SessionPatch(add=(f"c{at}",)), seen.revision), Success):
                    return

    async with anyio.create_task_group() as group:
        for at in range(8):
            group.start_soon(first, at)
    async with place.open() as store:
        kept = (await StoredSessions(store, StoredConversations(store, clock), clock).get("s")).unwrap()
        assert kept is not None
        assert (kept.revision, sorted(kept.conversations)) == (9, [f"c{at}" for at in range(8)])


async def test_a_closed_session_is_read_and_never_changed(sessions: SessionStore) -> None:
    await sessions.create("s", conversations=("c",))
    assert failure(await sessions.close("s", 7)) == SessionConflict("s", 7, 1)
    closed = (await sessions.close("s", 1)).unwrap()
    assert (closed.closed, closed.revision, closed.conversations) == (True, 2, ("c",))
    assert await sessions.get("s") == Success(closed)
    for answer in (
        await sessions.close("s", 2),
        await sessions.update("s", SessionPatch(), 2),
        await sessions.fork_conversation("s", "c", "d", 2),
    ):
        assert failure(answer) == SessionClosed("s")


async def test_another_principals_session_is_not_there(sessions: SessionStore) -> None:
    await sessions.create("s", conversations=("c",), principal="ada")
    for other in (None, "bob"):
        assert await sessions.get("s", principal=other) == Success(None)
        for answer in (
            await sessions.update("s", SessionPatch(), 1, principal=other),
            await sessions.close("s", 1, principal=other),
            await sessions.fork_conversation("s", "c", "d", 1, principal=other),
        ):
            assert failure(answer) == NotAllowed("session", "s")
        assert await sessions.list(principal=other) == Success(())
    kept = (await sessions.get("s", principal="ada")).unwrap()
    assert kept is not None
    assert kept.revision == 1


async def test_pages_have_every_session_once(sessions: SessionStore) -> None:
    for at in range(7):
        await sessions.create(f"s{at}", conversations=tuple(f"c{each}" for each in range(at)), principal="ada")
        await sessions.create(f"n{at}")
    for principal, prefix in (("ada", "s"), (None, "n")):
        seen: list[Session] = []
        while page := (await sessions.list(principal=principal, after=seen[-1].id if seen else "", limit=3)).unwrap():
            assert len(page) <= 3
            seen += page
        assert [each.id for each in seen] == [f"{prefix}{at}" for at in range(7)]
        if principal:
            assert [len(each.conversations) for each in seen] == list(range(7))
    assert len((await sessions.list(principal="ada", limit=0)).unwrap()) == 1
    assert len((await sessions.list(principal="ada", limit=10**9)).unwrap()) == 7


WRONG: list[Any] = ["", "a/b", "a\\b", "..", "a\0", "x" * 10_000, None, 7]


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_cannot_be_an_id_is_refused(sessions: SessionStore, wrong: Any) -> None:
    await sessions.create("s")
    answers: list[Result[Any, Any]] = [
        await sessions.create(wrong),
        await sessions.get(wrong),
        await sessions.update(wrong, SessionPatch(), 1),
        await sessions.close(wrong, 1),
        await sessions.create("t", conversations=(wrong,)),
        await sessions.update("s", SessionPatch(add=(wrong,)), 1),
        await sessions.fork_conversation("s", "c", wrong, 1),
    ]
    assert all(isinstance(failure(answer), InvalidId) for answer in answers)
    if wrong is not None:
        assert failure(await sessions.create("t", principal="\0")).what == "principal"
    assert await sessions.get("t") == Success(None)


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        (Metadata(1, float("nan")), "no JSON"),
        (Metadata(1, (1, 2)), "no JSON"),  # type: ignore[arg-type]
        (Metadata(1, "x" * (1 << 20)), "bytes"),
        (Metadata(0, None), "version"),
        (Metadata(True, None), "version"),
        (Metadata(2**31, None), "version"),
    ],
)
async def test_metadata_that_cannot_be_kept_is_refused(sessions: SessionStore, metadata: Metadata, why: str) -> None:
    refused = failure(await sessions.create("s", metadata=metadata))
    assert isinstance(refused, SessionRefused)
    assert why in refused.why
    (await sessions.create("s")).unwrap()
    assert isinstance(failure(await sessions.update("s", SessionPatch(metadata=metadata), 1)), SessionRefused)


async def test_a_session_points_to_so_many_conversations_and_no_more(sessions: SessionStore) -> None:
    many = tuple(f"c{at}" for at in range(1_024))
    assert isinstance(failure(await sessions.create("s", conversations=(*many, "one"))), SessionRefused)
    (await sessions.create("s", conversations=many)).unwrap()
    assert isinstance(failure(await sessions.update("s", SessionPatch(add=("one",)), 1)), SessionRefused)
    (await sessions.update("s", SessionPatch(add=("one",), remove=("c0",)), 1)).unwrap()


async def test_metadata_is_shown_by_its_version_only() -> None:
    assert "secret" not in repr(Metadata(1, "secret"))


# --- forks ------------------------


async def filled(conversations: Conversations, name: str = "c", principal: str | None = None) -> int:
    opening = (RunBegan("r", "agent"), InputRecorded("r", "in", "user", None, "hello"))
    claim = (await conversations.claim(name, "r", principal=principal, opening=opening)).unwrap()
    (await claim.log.append(RunEnded("r", "completed"))).unwrap()
    return claim.log.tail.seq


async def test_a_conversation_is_forked_within_its_session(
    sessions: SessionStore, conversations: Conversations
) -> None:
    end = await filled(conversations, principal="ada")
    await sessions.create("s", conversations=("c",), principal="ada")
    forked = (await sessions.fork_conversation("s", "c", "d", 1, principal="ada")).unwrap()
    assert (forked.revision, forked.conversations) == (2, ("c", "d"))
    assert (await conversations.get("d", principal="ada")).unwrap().forked_seq == end
    early = (await sessions.fork_conversation("s", "c", "e", 2, at=1, principal="ada")).unwrap()
    assert early.conversations == ("c", "d", "e")
    history = (await conversations.history("e", principal="ada")).unwrap()
    assert history.messages == ()


async def test_a_fork_that_is_refused_leaves_the_session_and_no_fork(
    sessions: SessionStore, conversations: Conversations
) -> None:
    await filled(conversations)
    await filled(conversations, "other")
    await sessions.create("s", conversations=("c", "gone"))
    assert failure(await sessions.fork_conversation("s", "c", "d", 9)) == SessionConflict("s", 9, 1)
    assert failure(await sessions.fork_conversation("s", "other", "d", 1)) == NotAllowed("conversation", "other")
    assert failure(await sessions.fork_conversation("s", "gone", "d", 1)) == NotAllowed("conversation", "gone")
    assert isinstance(failure(await sessions.fork_conversation("s", "c", "d", 1, at=2)), ForkRefused)
    assert failure(await sessions.fork_conversation("s", "c", "other", 1)) == ConversationExists("other")
    assert failure(await conversations.get("d")) == NotAllowed("conversation", "d")
    kept = (await sessions.get("s")).unwrap()
    assert kept is not None
    assert kept.revision == 1


async def test_a_fork_whose_session_changed_meanwhile_is_found_by_the_next_try(
    sessions: SessionStore, conversations: Conversations
) -> None:
    await filled(conversations)
    await sessions.create("s", conversations=("c",))
    (await conversations.fork("c", "d")).unwrap()  # all that the first try came to
    forked = (await sessions.fork_conversation("s", "c", "d", 1)).unwrap()
    assert forked.conversations == ("c", "d")


async def test_a_session_is_no_history(sessions: SessionStore, conversations: Conversations, store: Store) -> None:
    await filled(conversations)
    await sessions.create("s", conversations=("c",))
    (await store.write(Statement("DELETE FROM session"), Statement("DELETE FROM session_conversation"))).unwrap()
    assert len((await conversations.history("c")).unwrap().messages) == 1


# --- the service ------------------------


@handler
async def make_one(name: str, sessions: SessionStore) -> bool:
    return isinstance(await sessions.create(name), Success)


async def test_it_is_offered_over_a_store_and_conversations() -> None:
    app = stored_sessions().provide(stored_conversations().provide_merge(memory_store()))
    async with build(app) as rt:
        assert await rt.run(make_one, "s")
        assert not await rt.run(make_one, "s")
