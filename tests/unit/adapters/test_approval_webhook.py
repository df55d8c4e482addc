"""Approvals over HTTP: who signed decides, once, on what was asked, and a refusal says nothing of why."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from returns.result import Failure, Result

from lamina.adapters.approval_webhook import Key, StoredDesk, WaitingDesk, approval_app, sign
from lamina.adapters.approval_webhook._nonces import StoredNonces
from lamina.approval import WaitingApproval
from lamina.conversation import StoredConversations
from lamina.effect import ConstructionError
from lamina.engine import RunSuspended
from lamina.store import Row, Rows, Statement, Store, StoreError, StoreFull, Unmet, Value
from lamina.testing import ScriptedModel, call_tool, say
from tests.conversing import Talk, act, post, send, talking
from tests.stores import DURABLE, STORES, Place
from tests.unit.adapters.approving import ADA, BOB, SECRET, Client, ticking, verdict_on
from tests.unit.approval.requests import request
from tests.unit.engine.world import agent_with, until

TOOLS = act | send | post
BATCH = call_tool("send", text="s", id="s") & call_tool("post", text="p", id="p")


@asynccontextmanager
async def waiting(**app: Any) -> AsyncIterator[tuple[Client, WaitingApproval, asyncio.Task[Any]]]:
    """Give a client of an application over one request that waits."""
    approval, clock = WaitingApproval(), ticking()
    task = asyncio.create_task(approval.request(request()))
    await until(lambda: bool(approval.waiting))
    made = approval_app(WaitingDesk(approval, clock), [ADA, BOB], clock=clock, **app)
    try:
        yield Client(made, clock), approval, task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def items(client: Client) -> Any:
    """Give what is listed."""
    answer = await client.get()
    assert answer.status == 200
    return answer.body["pending"]


async def suspend(talk: Talk, **options: Any) -> RunSuspended:
    """Run an agent until it waits."""
    cause = (await talk.run(agent_with(TOOLS).on(ScriptedModel(BATCH)), **options)).failure().cause
    assert isinstance(cause, RunSuspended)
    return cause


# --- the two desks ----------------------------------------------------------------------------------------------------


async def test_what_waits_in_the_process_is_listed_and_decided_once_by_whoever_signed() -> None:
    async with waiting() as (client, approval, task):
        (item,) = await items(client)
        assert (item["request"]["summary"], item["expired"]) == ("Write a label", False)
        done = await client.decide(verdict_on(item, "deny", reason="not today"))
        assert (done.status, done.body) == (200, {"decision": "denied"})
        decided = (await task).unwrap()
        assert (decided.by, decided.reason) == ("ada", "not today")
        assert (await client.decide(verdict_on(item))).status == 404
        assert await items(client) == []


async def test_pages_of_what_waits_in_the_process_have_everything_once() -> None:
    approval, clock = WaitingApproval(), ticking()
    tasks = [asyncio.create_task(approval.request(request(id=f"approval:{at}"))) for at in range(5)]
    await until(lambda: len(approval.waiting) == 5)
    client = Client(approval_app(WaitingDesk(approval, clock), [ADA], clock=clock), clock)
    seen: list[str] = []
    after = ""
    while True:
        page = (await client.get(f"/pending?limit=2&after={after}")).body
        seen += [item["request"]["id"] for item in page["pending"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == [f"approval:{at}" for at in range(5)]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.mark.parametrize("kind", STORES)
async def test_suspended_runs_are_decided_in_the_store_and_resumed_by_anybody(kind: str, tmp_path: Path) -> None:
    clock = ticking()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        reference = await suspend(talk)
        client = Client(approval_app(StoredDesk(talk.conversations), [ADA, BOB], clock=clock), clock)
        first = (await client.get("/pending?limit=1")).body
        second = (await client.get(f"/pending?limit=1&after={first['next']}")).body
        (s,), (p,) = first["pending"], second["pending"]
        assert (await client.decide(verdict_on(s))).body == {"decision": "approved"}
        client.key = BOB
        assert (await client.decide(verdict_on(p, "deny", reason="no"))).body == {"decision": "denied"}
        binding = agent_with(TOOLS).on(ScriptedModel(say("done")))
        assert (await talk.rt.resume(binding, reference)).unwrap().output == "done"
        assert talk.ledger.ran == ["s"]
        assert (await client.decide(verdict_on(s))).status == 409
        by = {entry.id: entry.record.by for entry in await talk.log() if entry.kind == "ApprovalDecided"}  # type: ignore[union-attr]
        assert sorted(by.values()) == ["ada", "bob"]


async def test_a_key_sees_the_runs_of_its_principal_alone(tmp_path: Path) -> None:
    clock = ticking()
    async with talking(Place("memory", tmp_path), clock=clock) as talk:
        await suspend(talk, principal="carol")
        carols, bobs = (Key(id=name, secret=SECRET, principal=name) for name in ("carol", "bob"))
        app = approval_app(StoredDesk(talk.conversations), [ADA, carols, bobs], clock=clock)
        client = Client(app, clock, carols)
        item = (await items(client))[0]
        for other in (ADA, bobs):
            client.key = other
            assert await items(client) == []
            answer = await client.decide(verdict_on(item))
            assert (answer.status, answer.body) == (404, {"error": "not-found"})
            missing = await client.decide(verdict_on(item, conversation="nothing"))
            assert (missing.status, missing.body) == (answer.status, answer.body)
        assert (await talk.conversations.pending(principal="carol")).unwrap()[0].call == "s"
        client.key = carols
        assert (await client.decide(verdict_on(item))).status == 200


async def test_a_key_of_a_principal_sees_nothing_of_what_is_nobodys() -> None:
    async with waiting() as (client, approval, _):
        (item,) = await items(client)
        carol = Key(id="carol", secret=SECRET, principal="carol")
        other = Client(
            approval_app(WaitingDesk(approval, client.clock), [carol], clock=client.clock), client.clock, carol
        )
        assert await items(other) == []
        assert (await other.decide(verdict_on(item))).status == 404
        assert len(approval.waiting) == 1


async def test_a_key_that_only_sees_does_not_decide() -> None:
    async with waiting() as (client, approval, _):
        (item,) = await items(client)
        watcher = Key(id="eve", secret=SECRET, decides=False)
        desk = WaitingDesk(approval, client.clock)
        other = Client(approval_app(desk, [watcher], clock=client.clock), client.clock, watcher)
        assert len(await items(other)) == 1
        assert (await other.decide(verdict_on(item))).status == 403
        assert len(approval.waiting) == 1


@pytest.mark.parametrize("kind", STORES)
async def test_of_two_that_decide_at_once_both_are_in_the_log_and_one_counts(kind: str, tmp_path: Path) -> None:
    clock = ticking()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        await suspend(talk)
        app = approval_app(StoredDesk(talk.conversations), [ADA, BOB], clock=clock)
        ada, bob = Client(app, clock), Client(app, clock, BOB)
        item = (await items(ada))[0]
        answers = await asyncio.gather(ada.decide(verdict_on(item)), bob.decide(verdict_on(item, "deny")))
        assert [answer.status for answer in answers] == [200, 200]
        records: list[Any] = [entry.record for entry in await talk.log() if entry.kind == "ApprovalDecided"]
        assert sorted((record.by, record.decision) for record in records) == [("ada", "approved"), ("bob", "denied")]


async def test_of_two_that_decide_at_once_on_what_waits_one_is_told_that_it_is_over() -> None:
    async with waiting() as (client, _, task):
        (item,) = await items(client)
        bob = Client(client.app, client.clock, BOB)
        answers = await asyncio.gather(client.decide(verdict_on(item)), bob.decide(verdict_on(item, "deny")))
        assert sorted(answer.status for answer in answers) == [200, 404]
        assert (await task).unwrap().by == "ada"


async def test_a_decision_on_another_turn_or_other_arguments_is_none(tmp_path: Path) -> None:
    clock = ticking()
    async with talking(Place("memory", tmp_path), clock=clock) as talk:
        await suspend(talk)
        client = Client(approval_app(StoredDesk(talk.conversations), [ADA], clock=clock), clock)
        (s, p) = await items(client)
        assert (await client.decide(verdict_on(s, turn=2))).status == 404
        assert (await client.decide(verdict_on(s, call="zzz"))).status == 404
        assert (await client.decide(verdict_on(s, conversation=None))).status == 404
        assert (await client.decide(verdict_on(s, arguments_digest="0" * 64))).status == 409
        await clock.advance(61)
        assert (await client.decide(verdict_on(p))).status == 409  # it has expired
        assert len(await items(client)) == 2


async def test_a_decision_that_covers_the_tool_says_so(tmp_path: Path) -> None:
    async with waiting() as (client, _, task):
        (item,) = await items(client)
        await client.decide(verdict_on(item, covers="tool"))
        assert (await task).unwrap().covers == "tool"


# --- who asks ---------------------------------------------------------------------------------------------------------


async def test_what_is_not_signed_by_a_key_is_refused_and_the_refusals_are_one() -> None:
    async with waiting() as (client, approval, _):
        (item,) = await items(client)
        body = b'{"a":1}'
        good = client.headers("POST", "/decide", body)
        wrong: list[dict[str, str]] = [
            {},
            good | {"Lamina-Signature": "0" * 64},
            good | {"Lamina-Signature": good["Lamina-Signature"].upper()},
            good | {"Lamina-Signature": ""},
            good | {"Lamina-Signature": "\xff" * 64},
            good | {"Lamina-Key": "bob"},
            good | {"Lamina-Key": "nobody"},
            good | {"Lamina-Key": ""},
            good | {"Lamina-Nonce": "m" * 32},
            good | {"Lamina-Nonce": "short"},
            good | {"Lamina-Nonce": "n" * 10_000},
            good | {"Lamina-Timestamp": str(int(good["Lamina-Timestamp"]) + 1)},
            good | {"Lamina-Timestamp": "now"},
            good | {"Lamina-Timestamp": "-1"},
            good | {"Lamina-Timestamp": "9" * 400},
            client.headers("POST", "/decide", body + b" "),
            client.headers("GET", "/decide", body),
            client.headers("POST", "/pending", body),
            client.headers("POST", "/decide?a=1", body),
            client.headers("POST", "/decide", body, secret=BOB.secret),
        ]
        for headers in wrong:
            answer = await client.send("POST", "/decide", body, headers)
            assert (answer.status, answer.raw) == (401, b'{"error":"unauthorized"}'), headers
        assert (await client.send("GET", "/pending", b"", {})).raw == b'{"error":"unauthorized"}'
        assert (await client.send("POST", "/decide", body, good)).status == 422
        assert len(approval.waiting) == 1
        assert item


async def test_a_signed_request_counts_once() -> None:
    async with waiting() as (client, _, _):
        headers = client.headers("GET", "/pending")
        assert (await client.send("GET", "/pending", b"", headers)).status == 200
        for _ in range(3):
            assert (await client.send("GET", "/pending", b"", headers)).status == 401
        # Another key may use the same nonce.
        nonce = headers["Lamina-Nonce"]
        client.key = BOB
        assert (await client.get(nonce=nonce)).status == 200


@pytest.mark.parametrize(("seconds", "status"), [(-300, 200), (-301, 401), (300, 200), (301, 401)])
async def test_a_request_counts_within_the_window(seconds: int, status: int) -> None:
    async with waiting() as (client, _, _):
        await client.clock.advance(1_000)  # type: ignore[attr-defined]
        now = int(client.clock.now().timestamp())
        assert (await client.get(timestamp=now + seconds)).status == status


async def test_a_request_from_the_future_is_remembered_for_as_long_as_it_counts() -> None:
    async with waiting() as (client, _, _):
        clock: Any = client.clock
        headers = client.headers("GET", "/pending", timestamp=int(clock.now().timestamp()) + 300)
        assert (await client.send("GET", "/pending", b"", headers)).status == 200
        for _ in range(6):
            await clock.advance(100)
            await client.get()
            assert (await client.send("GET", "/pending", b"", headers)).status == 401


async def test_what_was_signed_before_the_server_began_does_not_count() -> None:
    async with waiting() as (client, approval, _):
        clock: Any = client.clock
        headers = client.headers("GET", "/pending")
        assert (await client.send("GET", "/pending", b"", headers)).status == 200
        await clock.advance(5)
        client.app = approval_app(WaitingDesk(approval, clock), [ADA], clock=clock)  # it remembers nothing
        assert (await client.send("GET", "/pending", b"", headers)).status == 401
        assert (await client.get()).status == 200


async def test_more_requests_than_can_be_remembered_are_refused_and_none_is_forgotten() -> None:
    async with waiting(nonces=3) as (client, _, _):
        clock: Any = client.clock
        sent = [client.headers("GET", "/pending") for _ in range(3)]
        for headers in sent:
            assert (await client.send("GET", "/pending", b"", headers)).status == 200
        assert (await client.get()).status == 503
        for headers in sent:
            assert (await client.send("GET", "/pending", b"", headers)).status == 401
        await clock.advance(601)
        assert (await client.get()).status == 200


# --- several processes over one store ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DURABLE)
async def test_of_several_processes_over_one_store_one_lets_a_request_in(kind: str, tmp_path: Path) -> None:
    """An approval that somebody has caught does not undo the denial that came after it, wherever it is sent."""
    clock, place = ticking(), Place(kind, tmp_path)
    async with talking(place, clock=clock) as talk, place.open() as other:
        await suspend(talk)
        one = approval_app(StoredDesk(talk.conversations), [ADA, BOB], clock=clock)
        two = approval_app(StoredDesk(StoredConversations(other, clock)), [ADA, BOB], clock=clock)
        client = Client(one, clock)
        (item, _) = await items(client)
        body = json.dumps(verdict_on(item)).encode()
        caught = client.headers("POST", "/decide", body)
        assert (await client.send("POST", "/decide", body, caught)).status == 200
        client.key = BOB
        assert (await client.decide(verdict_on(item, "deny"))).body == {"decision": "denied"}
        client.app = two
        assert (await client.send("POST", "/decide", body, caught)).status == 401
        assert (await client.decide(verdict_on(item, "deny"))).body == {"decision": "denied"}
        # Another key may use the same nonce, and the same key another one.
        client.key = BOB
        assert (await client.get(nonce=caught["Lamina-Nonce"])).status == 200


@pytest.mark.parametrize("kind", DURABLE)
async def test_of_many_at_once_one_is_let_in(kind: str, tmp_path: Path) -> None:
    clock, place = ticking(), Place(kind, tmp_path)
    async with place.open() as one, place.open() as two:
        clients = [
            Client(approval_app(StoredDesk(StoredConversations(each, clock)), [ADA], clock=clock), clock)
            for each in (one, two)
        ]
        headers = clients[0].headers("GET", "/pending")
        answers = await asyncio.gather(
            *(client.send("GET", "/pending", b"", headers) for _ in range(8) for client in clients)
        )

    assert sorted(answer.status for answer in answers) == [200, *[401] * 15]


async def test_what_a_store_remembers_counts_after_a_restart_and_is_forgotten_in_time(tmp_path: Path) -> None:
    clock, place = ticking(), Place("sqlite", tmp_path)

    def serving(store: Store) -> Client:
        return Client(approval_app(StoredDesk(StoredConversations(store, clock)), [ADA], clock=clock, nonces=2), clock)

    async with place.open() as store:
        client = serving(store)
        caught, late = (client.headers("GET", "/pending") for _ in range(2))
        assert (await client.send("GET", "/pending", b"", caught)).status == 200
    await clock.advance(5)
    async with place.open() as store:
        client = serving(store)
        assert (await client.send("GET", "/pending", b"", caught)).status == 401
        assert (await client.send("GET", "/pending", b"", late)).status == 200  # signed before, and new all the same
        assert (await client.get()).status == 503
        await clock.advance(606)
        assert [(await client.get()).status for _ in range(2)] == [200, 200]
        assert (await store.read("SELECT count(*) FROM signed_request")).unwrap() == ((2,),)


async def test_without_its_store_nobody_is_let_in(tmp_path: Path) -> None:
    clock = ticking()
    async with Place("sqlite", tmp_path).open() as store:
        app = approval_app(StoredDesk(StoredConversations(store, clock)), [ADA], clock=clock)
    answer = await Client(app, clock).get()
    assert (answer.status, answer.body) == (503, {"error": "unavailable"})


async def test_a_store_that_fails_between_is_no_answer_either(tmp_path: Path) -> None:
    clock = ticking()
    async with Place("sqlite", tmp_path).open() as store:
        broken = StoredNonces(_Unwritable(store), 5)
        assert await broken.once("ada", "n", clock.now().timestamp(), clock.now().timestamp()) == "down"


class _Unwritable(Store):
    durable = True

    def __init__(self, store: Store) -> None:
        self._store = store

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        return Failure(StoreFull())

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self._store.read(sql, *parameters)


# --- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b"null",
        b"[]",
        b"{}",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"\xff\xfe",
        b'{"run":"r","turn":1}',
        b'{"run":"\\ud800","turn":1,"call":"c","arguments_digest":"","decision":"approve"}',
        b'{"run":"r","turn":NaN,"call":"c","arguments_digest":"","decision":"approve"}',
        b'{"run":"r","turn":"1","call":"c","arguments_digest":"","decision":"approve"}',
        b'{"run":"r","turn":1,"call":"c","arguments_digest":"","decision":"maybe"}',
        b'{"run":"r","turn":1,"call":"c","arguments_digest":"","decision":"approve","covers":"everything"}',
        b'{"run":"r","turn":1,"call":"c","arguments_digest":"","decision":"approve","by":"root"}',
    ],
)
async def test_what_is_no_decision_is_refused(body: bytes) -> None:
    async with waiting() as (client, approval, _):
        answer = await client.decide(body)
        assert (answer.status, answer.raw) == (422, b'{"error":"invalid"}')
        assert len(approval.waiting) == 1


async def test_a_body_that_is_too_large_is_read_no_further() -> None:
    given: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(10 * 1024):
            given.append(1)
            yield b"x" * 1024

    async with waiting() as (client, _, _):
        answer = await client.send("POST", "/decide", endless(), client.headers("POST", "/decide"))
        assert (answer.status, answer.raw) == (413, b'{"error":"too-large"}')
        assert len(given) == 65
        assert (await client.decide(b"x" * 65_536)).status == 422  # which is not too large


async def test_a_body_that_does_not_come_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.adapters.approval_webhook._app.BODY_SECONDS", 0.01)

    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with waiting() as (client, _, _):
        answer = await client.send("POST", "/decide", never(), client.headers("POST", "/decide"))
        assert (answer.status, answer.raw) == (408, b'{"error":"timeout"}')


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [("GET", "/pending/", 404), ("POST", "/decide/", 404), ("GET", "/", 404), ("PUT", "/pending", 405)],
)
async def test_where_nothing_is_served_the_answer_is_json_and_sends_nobody_elsewhere(
    method: str, target: str, status: int
) -> None:
    async with waiting() as (client, _, _):
        answer = await client.send(method, target, b"", client.headers(method, target))

    assert (answer.status, answer.body) == (status, {"error": "not-found" if status == 404 else "method-not-allowed"})


@pytest.mark.parametrize("limit", ["0", "-1", "x", "", "99999", "1.5", "%D9%A1"])
async def test_a_page_of_no_size_is_refused(limit: str) -> None:
    async with waiting() as (client, _, _):
        assert (await client.get(f"/pending?limit={limit}")).status == 422


async def test_a_cursor_of_nobodys_is_refused(tmp_path: Path) -> None:
    clock = ticking()
    async with talking(Place("memory", tmp_path), clock=clock) as talk:
        client = Client(approval_app(StoredDesk(talk.conversations), [ADA], clock=clock), clock)
        assert (await client.get("/pending?after=../etc/passwd")).status == 422


async def test_a_desk_that_breaks_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(WaitingDesk):
        async def pending(self, principal: Any, after: str, limit: int) -> Any:
            raise RuntimeError("canary")

    clock = ticking()
    client = Client(approval_app(Broken(WaitingApproval(), clock), [ADA], clock=clock), clock)
    answer = await client.get()
    assert (answer.status, answer.raw) == (500, b'{"error":"internal"}')
    assert "serving an approval broke" in caplog.text


async def test_a_secret_is_nowhere_to_be_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with waiting() as (client, _, _):
        (item,) = await items(client)
        answers = [await client.get(secret="wrong"), await client.decide(verdict_on(item))]
        assert [answer.status for answer in answers] == [401, 200]
        assert SECRET not in repr(ADA) + str(ADA) + caplog.text + "".join(str(answer.raw) for answer in answers)


def test_everything_that_is_wrong_with_the_arguments_is_told() -> None:
    desk = WaitingDesk(WaitingApproval())
    with pytest.raises(ConstructionError) as refused:
        approval_app(desk, [ADA, ADA], window=0, nonces=0)
    for line in ("each key has an id of its own", "window is 1 to 3,600 seconds", "nonces is a positive number"):
        assert line in str(refused.value)
    with pytest.raises(ConstructionError, match="keys holds at least one key"):
        approval_app(desk, [])
    with pytest.raises(ConstructionError) as refused:
        Key(id="a\nb", secret="short")
    assert "id is 1 to 128" in str(refused.value)
    assert "secret has at least 32 characters" in str(refused.value)
    assert "short" not in str(refused.value)


def test_a_signature_is_made_anew_each_time() -> None:
    once, again = (sign("GET", "/pending", key="ada", secret=SECRET) for _ in range(2))
    assert once["Lamina-Nonce"] != again["Lamina-Nonce"]
    assert once["Lamina-Signature"] != again["Lamina-Signature"]
