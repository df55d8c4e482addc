"""Steering in conversations: from the handle, from another process, and by `busy="steer"`; on every store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from returns.result import Failure

from lamina.approval import Approval, Approved, DeferredApproval
from lamina.audit import Audit, MemoryAudit
from lamina.conversation import (
    ConversationBusy,
    Conversations,
    InputRecorded,
    InvalidId,
    JournalFailed,
    NotAllowed,
    RunEnded,
    stored_conversations,
)
from lamina.effect import Clock, ConstructionError, bind, handler
from lamina.engine import RunSuspended, Steered, SteeringDelivered, SteeringFailed
from lamina.redaction import Secrets
from lamina.runtime import Runtime, build
from lamina.steering import (
    CommandConflict,
    CommandRefused,
    Placed,
    Steering,
    SteeringClosed,
    SteeringFull,
    stored_steering,
)
from lamina.store import Statement, Store
from lamina.testing import VirtualClock, call_tool, hang, say
from tests.conversing import Faulty, Ledger, act, send, the_conversations
from tests.speaking import Listener, admitted, recorded, said, texts
from tests.stores import DURABLE, STORES, Place
from tests.unit.engine.world import after_steps, agent_with, echo, events_of, until


@handler
async def the_steering(_: None, steering: Steering) -> Steering:
    """Give the steering of a runtime."""
    return steering


@attrs.frozen
class Room:
    """A runtime in which runs are spoken to."""

    rt: Runtime[Any]
    conversations: Conversations
    steering: Steering
    ledger: Ledger

    def start(self, binding: Any, given: str = "go", **options: Any) -> Any:
        return self.rt.start(binding, given, **{"conversation": "c"} | options)

    async def run(self, binding: Any, given: str = "go", **options: Any) -> Any:
        return await self.rt.run(binding, given, **{"conversation": "c"} | options)

    async def inputs(self, conversation: str = "c") -> list[tuple[str, str, str | None, str]]:
        entries = (await self.conversations.read(conversation)).unwrap()
        return recorded([entry.record for entry in entries])

    async def placed(self, run: str) -> list[tuple[str, str]]:
        found: tuple[Placed, ...] = (await self.steering.commands(run)).unwrap()
        return [(placed.command.text, placed.state) for placed in found]


@asynccontextmanager
async def speaking(
    place: Place,
    *,
    clock: Clock | None = None,
    lease: float = 30.0,
    refuses: Callable[[int, tuple[Statement, ...]], bool] | None = None,
    steering: Any = None,
) -> AsyncGenerator[Room, None]:
    """Open a runtime over a test's database; one of several, where the store is durable."""
    ledger = Ledger()
    async with place.open() as opened:
        store = opened if refuses is None else Faulty(opened, refuses)
        kept: Any = stored_conversations(clock=clock, lease=lease)
        kept = kept | (stored_steering(clock=clock) if steering is None else bind(Steering).value(steering))
        app: Any = kept.provide(bind(Store).value(store)) | bind(Ledger).value(ledger)
        app = app | bind(Approval).value(DeferredApproval(same_process=not store.durable))
        if clock is not None:
            app = app | bind(Clock).value(clock)
        async with build(app) as rt:
            yield Room(rt, await rt.run(the_conversations, None), await rt.run(the_steering, None), ledger)


def talker(model: Any, toolkit: Any = act, **changes: Any) -> Any:
    return agent_with(toolkit, **{"steering": True} | changes).on(model)


@pytest.mark.parametrize("kind", STORES)
async def test_what_is_said_is_canonical_once_and_its_receipt_says_where(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:
        receipts: list[Any] = []

        async def speak() -> None:
            receipts.append(admitted(await run.steer("s1", id="a", author="ada")))
            receipts.append(admitted(await run.follow_up("f1", id="b")))
            receipts.append(admitted(await run.steer("s2", id="c")))

        turns = (call_tool("act", text="1"), say("x"), say("y"), say("z"))
        model = Listener(*turns, during={1: speak})
        async with room.start(talker(model)) as run:
            result = await run.result()
        report = result.unwrap().report
        assert said(report.history) == ["go", "> ", "s1", "> x", "s2", "> y", "f1", "> z"]
        assert (await room.inputs())[1:] == [
            ("a", "steering", "ada", "s1"),
            ("c", "steering", None, "s2"),
            ("b", "follow-up", None, "f1"),
        ]
        assert (await room.conversations.history("c")).unwrap() == report.history
        durable = kind != "memory"
        told = [(each.command, each.run, each.conversation, each.position, each.durable) for each in receipts]
        assert told == [(name, run.id, "c", at, durable) for at, name in enumerate("abc", 1)]
        assert await room.placed(run.id) == [(text, "delivered") for text in ("s1", "f1", "s2")]
        assert report.undelivered == ()
        found = (await room.steering.find("c", "a")).unwrap()
        assert found is not None
        assert (found.command.author, found.state, found.position) == ("ada", "delivered", 1)
        assert (await room.steering.find("c", "z")).unwrap() is None


@pytest.mark.parametrize("kind", DURABLE)
async def test_two_processes_speak_to_one_run(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    async with speaking(place) as room, speaking(place) as other:

        async def speak() -> None:
            admitted(await other.rt.steer("from afar", conversation="c", author="bob", id="far"))
            admitted(await other.rt.steer("then", conversation="c", kind="follow-up"))
            admitted(await run.steer("from here"))

        model = Listener(call_tool("act", text="1"), say("x"), say("y"), say("z"), during={1: speak})
        async with room.start(talker(model)) as run:
            result = await run.result()
            events = await events_of(run)
        assert said(result.unwrap().report.history) == [
            "go",
            "> ",
            "from afar",
            "> x",
            "from here",
            "> y",
            "then",
            "> z",
        ]
        told = [event.text for event in events if isinstance(event, SteeringDelivered)]
        assert told == ["from afar", "from here", "then"]
        # The run is over: what was admitted is known, and nothing new is.
        assert admitted(await other.rt.steer("from afar", conversation="c", author="bob", id="far")).position == 1
        late = await other.rt.steer("late", conversation="c")
        assert late.failure() == SteeringClosed(None, "no run")


@pytest.mark.parametrize("kind", DURABLE)
async def test_two_processes_race_with_the_end_of_runs_and_nothing_is_lost(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    async with speaking(place) as room, speaking(place) as other:
        accepted: list[str] = []
        over = asyncio.Event()

        async def speak(who: Room, name: str) -> None:
            number = 0
            while not over.is_set():
                text = f"{name}{number}"
                answer = await who.rt.steer(
                    text, conversation="c", id=text, kind="follow-up" if number % 2 else "steering"
                )
                if not isinstance(answer, Failure):
                    accepted.append(text)
                    number += 1
                else:
                    assert isinstance(answer.failure(), SteeringClosed | SteeringFull | NotAllowed), answer
                    await asyncio.sleep(0)

        speakers = [asyncio.create_task(speak(room, "a")), asyncio.create_task(speak(other, "b"))]
        undelivered: list[str] = []
        for _ in range(8):
            result = await room.run(talker(Listener(*[say("ok")] * 4), max_turns=4))
            undelivered += texts(result.unwrap().report.undelivered)
        over.set()
        await asyncio.gather(*speakers)
        delivered = [text for _, kind_, _, text in await room.inputs() if kind_ != "user"]
        assert sorted(delivered + undelivered) == sorted(accepted)
        assert delivered


@pytest.mark.parametrize("kind", STORES)
async def test_steer_gives_the_input_to_the_active_run(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:
        answers: list[Any] = []

        async def second() -> None:
            answers.append(await room.run(talker(Listener()), "me too", busy="steer", principal=None))

        model = Listener(call_tool("act", text="1"), say("done"), during={1: second})
        async with room.start(talker(model)) as run:
            result = await run.result()
        (failure,) = [answer.failure() for answer in answers]
        assert isinstance(failure.cause, Steered)
        assert (failure.cause.conversation, failure.cause.run) == ("c", run.id)
        assert failure.cause.receipt.durable is (kind != "memory")
        assert (failure.report.turns, failure.report.undelivered) == (0, ())
        assert str(failure) == f"The input was given to the run {run.id}, which is active in the conversation c."
        assert said(result.unwrap().report.history) == ["go", "> ", "me too", "> done"]
        assert (await room.inputs())[1:] == [(failure.report.run, "steering", None, "me too")]


@pytest.mark.parametrize("kind", DURABLE)
async def test_steer_reaches_the_run_of_another_process(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    async with speaking(place) as room, speaking(place) as other:

        async def second() -> None:
            failure = (await other.run(talker(Listener()), "me too", busy="steer")).failure()
            assert isinstance(failure.cause, Steered)

        model = Listener(say("done"), say("and that"), during={1: second})
        result = await room.run(talker(model))
        assert said(result.unwrap().report.history) == ["go", "> done", "me too", "> and that"]


async def test_steer_is_refused_where_the_active_run_takes_none(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with speaking(Place("memory", tmp_path), clock=clock) as room:
        answers: list[Any] = []

        async def second() -> None:
            before = clock.pending + 1  # its deadline
            task = asyncio.create_task(room.run(talker(Listener()), "me too", busy="steer"))
            await until(lambda: clock.pending > before)
            await clock.advance(0.25)
            answers.append(await task)

        result = await room.run(talker(Listener(say("done"), during={1: second}), steering=False))
        assert said(result.unwrap().report.history) == ["go", "> done"]
        assert isinstance(answers[0].failure().cause, ConversationBusy)


async def test_steer_is_an_ordinary_run_where_the_conversation_is_free(tmp_path: Path) -> None:
    async with speaking(Place("memory", tmp_path)) as room:
        first = await room.run(talker(Listener(say("one"))), busy="steer")
        second = await room.run(talker(Listener(say("two"))), "again", busy="steer")
        assert first.unwrap().output == "one"
        assert said(second.unwrap().report.history) == ["go", "> one", "again", "> two"]


async def test_steer_becomes_a_run_of_its_own_when_the_active_one_ends_meanwhile(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with speaking(Place("memory", tmp_path), clock=clock) as room:
        # The window between the closing of a queue and the end of its run is held open.
        waits, goes = asyncio.Event(), asyncio.Event()
        room_store = room.conversations._shelf.store  # type: ignore[attr-defined]
        write = room_store.write

        async def slow(*statements: Statement) -> Any:
            if any("RunEnded" in str(statement.parameters) for statement in statements) and not goes.is_set():
                waits.set()
                await goes.wait()
            return await write(*statements)

        room_store.write = slow
        first = asyncio.create_task(room.run(talker(Listener(say("one")))))
        await waits.wait()
        second = asyncio.create_task(room.run(talker(Listener(say("two"))), "again", busy="steer"))
        await after_steps(50)
        assert not second.done()
        goes.set()
        assert (await first).unwrap().output == "one"
        await clock.advance(0.25)
        assert said((await second).unwrap().report.history) == ["go", "> one", "again", "> two"]


async def test_what_is_too_long_for_steering_is_no_steering(tmp_path: Path) -> None:
    async with speaking(Place("memory", tmp_path)) as room:
        answers: list[Any] = []

        async def second() -> None:
            answers.append(await room.run(talker(Listener()), "x" * 65_537, busy="steer"))

        await room.run(talker(Listener(say("done"), during={1: second})))
        cause = answers[0].failure().cause
        assert isinstance(cause, SteeringFailed)
        assert isinstance(cause.error, CommandRefused)


async def test_steer_without_steering_is_a_construction_error(tmp_path: Path) -> None:
    async with Place("memory", tmp_path).open() as store:
        app: Any = stored_conversations().provide(bind(Store).value(store))
        async with build(app) as rt:
            binding: Any = agent_with().on(Listener(say("x")))
            with pytest.raises(ConstructionError, match=r"MISSING Steering\n .*busy=\"steer\""):
                await rt.run(binding, "go", conversation="c", busy="steer")
            with pytest.raises(ConstructionError, match="MISSING Steering"):
                await rt.steer("x", conversation="c")


@pytest.mark.parametrize("kind", STORES)
async def test_a_suspended_run_takes_nothing_and_keeps_what_it_was_told(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:

        async def speak() -> None:
            admitted(await run.steer("s", id="s"))

        binding = talker(Listener(call_tool("send", text="m"), say("sent"), during={1: speak}), send)
        async with room.start(binding) as run:
            failure = (await run.result()).failure()
        assert isinstance(failure.cause, RunSuspended)
        assert texts(failure.report.undelivered) == ["s"]
        assert await room.placed(run.id) == [("s", "queued")]
        assert (await room.rt.steer("t", conversation="c")).failure() == SteeringClosed(run.id, "suspended")
        busy = await room.run(talker(Listener()), busy="steer")
        assert isinstance(busy.failure().cause, ConversationBusy)
        resumed: Any = await room.rt.resume(binding, failure.cause, {"call-1": Approved("ada")})
        report = resumed.unwrap().report
        assert said(report.history) == ["go", "> ", "s", "> sent"]
        assert report.undelivered == ()
        assert await room.placed(run.id) == [("s", "delivered")]


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_that_goes_on_takes_what_is_said_then(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:

        async def speak() -> None:
            admitted(await room.rt.steer("more", conversation="c", kind="follow-up", principal="ada"))

        model = Listener(call_tool("send", text="m"), say("sent"), say("and more"), during={2: speak})
        binding = talker(model, send)
        cause = (await room.run(binding, principal="ada")).failure().cause
        resumed: Any = await room.rt.resume(binding, cause, {"call-1": Approved("ada")}, principal="ada")
        assert said(resumed.unwrap().report.history) == ["go", "> ", "> sent", "more", "> and more"]


@pytest.mark.parametrize("kind", STORES)
async def test_a_conversation_of_somebody_else_is_not_there(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:
        answers: list[Any] = []

        async def speak() -> None:
            for principal in (None, "bob"):
                answers.append(await room.rt.steer("x", conversation="c", principal=principal))
                answers.append(await room.steering.submit(run.id, "x", id="x", principal=principal))
                assert (await room.steering.commands(run.id, principal=principal)).unwrap() == ()
                assert (await room.steering.find("c", "ok", principal=principal)).unwrap() is None
            admitted(await room.rt.steer("mine", conversation="c", principal="ada", id="ok"))

        model = Listener(call_tool("act", text="1"), say("done"), during={1: speak})
        async with room.start(talker(model), principal="ada") as run:
            result = await run.result()
        gone = [NotAllowed("conversation", "c"), SteeringClosed(run.id, "takes none")]
        assert [answer.failure() for answer in answers] == gone * 2
        assert said(result.unwrap().report.history) == ["go", "> ", "mine", "> done"]
        entries = (await room.conversations.read("c", principal="ada")).unwrap()
        assert recorded([entry.record for entry in entries])[1:] == [("ok", "steering", "ada", "mine")]
        missing = await room.rt.steer("x", conversation="nowhere")
        assert missing.failure() == NotAllowed("conversation", "nowhere")


@pytest.mark.parametrize("kind", STORES)
async def test_what_a_run_left_behind_that_is_gone_is_dropped_and_nothing_more_is_taken(
    kind: str, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with speaking(Place(kind, tmp_path), clock=clock) as room:
        # A process that dies: it has the conversation, some commands, and of one the record but not the note of it.
        claim = (await room.conversations.claim("c", "lost")).unwrap()
        (await room.steering.open("lost", conversation="c")).unwrap()
        for text in ("a", "b"):
            admitted(await room.rt.steer(text, conversation="c", id=text))
        (await claim.log.append(InputRecorded("lost", "a", "steering", None, "a"))).unwrap()
        await clock.advance(31)
        assert (await room.rt.steer("late", conversation="c")).failure() == SteeringClosed("lost", "ended")

        result = await room.run(talker(Listener(say("done"))))
        assert said(result.unwrap().report.history) == ["a", "go", "> done"]
        assert await room.placed("lost") == [("a", "delivered"), ("b", "dropped")]
        again = await room.steering.submit("lost", "b", id="b")
        assert again.failure() == SteeringClosed("lost", "ended")
        assert admitted(await room.steering.submit("lost", "a", id="a")).position == 1


@pytest.mark.parametrize("kind", STORES)
async def test_in_a_fork_an_id_is_that_of_what_was_said_before(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:

        async def speak() -> None:
            admitted(await run.steer("s", id="s"))

        model = Listener(call_tool("act", text="1"), say("done"), during={1: speak})
        async with room.start(talker(model)) as run:
            await run.result()
        assert not isinstance(await room.conversations.fork("c", "d"), Failure)
        answers: list[Any] = []

        async def again() -> None:
            answers.append(await second.steer("s", id="s"))

        model = Listener(say("x"), during={1: again})
        async with room.start(talker(model), conversation="d") as second:
            result = await second.result()
        assert answers[0].failure() == CommandConflict("s")
        assert result.unwrap().output == "x"


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("place", range(12))
async def test_a_store_that_fails_at_any_write_loses_nothing(kind: str, place: int, tmp_path: Path) -> None:
    """Each command is in the log, or reported, or its caller was told that it was not taken."""
    at = Place(kind, tmp_path)
    taken: list[str] = []
    async with speaking(at, refuses=lambda number, _: number == place) as room:

        async def speak() -> None:
            for name, say_ in (("s1", run.steer), ("f1", run.follow_up), ("s2", run.steer)):
                if not isinstance(await say_(name, id=name), Failure):
                    taken.append(name)

        turns = (call_tool("act", text="1"), say("x"), say("y"), say("z"))
        async with room.start(talker(Listener(*turns, during={1: speak}))) as run:
            result = await run.result()
        report = result.failure().report if isinstance(result, Failure) else result.unwrap().report
        log = (await room.conversations.read("c")).value_or(())
        delivered = [text for _, kind_, _, text in recorded([entry.record for entry in log]) if kind_ != "user"]
        if isinstance(result, Failure):
            assert isinstance(result.failure().cause, JournalFailed | SteeringFailed) or place <= 1, result
        assert sorted(delivered + texts(report.undelivered)) == sorted(taken)
        assert len(set(delivered)) == len(delivered)


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_that_is_cancelled_leaves_no_open_queue(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:
        told = asyncio.Event()

        async def speak() -> None:
            admitted(await run.steer("s"))
            told.set()

        async with room.start(talker(Listener(hang(), during={1: speak}))) as run:
            await told.wait()
        failure = (await run.result()).failure()
        assert texts(failure.report.undelivered) == ["s"]
        assert await room.placed(run.id) == [("s", "dropped")]
        assert (await room.steering.submit(run.id, "t", id="t")).failure() == SteeringClosed(run.id, "ended")
        assert isinstance((await room.conversations.read("c")).unwrap()[-1].record, RunEnded)


async def test_a_secret_that_is_said_reaches_neither_queue_nor_log_nor_event_nor_model(tmp_path: Path) -> None:
    canary, audit = "canary-7f3a-secret", MemoryAudit()
    async with Place("memory", tmp_path).open() as store:
        app: Any = (stored_conversations() | stored_steering()).provide(bind(Store).value(store))
        app = app | bind(Secrets).value(Secrets(canary)) | bind(Audit).value(audit)
        async with build(app) as rt:
            steering: Steering = await rt.run(the_steering, None)

            async def speak() -> None:
                admitted(await run.steer(f"here {canary}"))
                admitted(await rt.steer(f"there {canary}", conversation="c"))
                # What a process wrote that does not know the secret.
                admitted(await steering.submit(run.id, f"raw {canary}", id="raw"))
                admitted(await run.follow_up(f"late {canary}"))

            model = Listener(call_tool("echo", text="1"), say("a"), during={1: speak})
            binding: Any = agent_with(echo, steering=True, steering_drain="all", max_turns=2).on(model)
            async with rt.start(binding, "go", conversation="c") as run:
                result = await run.result()
                events = await events_of(run)
            conversations: Conversations = await rt.run(the_conversations, None)
            log = (await conversations.read("c")).unwrap()
            placed = (await steering.commands(run.id)).unwrap()
    report = result.unwrap().report
    hidden = "[REDACTED:secret]"
    assert said(report.history) == ["go", "> ", f"here {hidden}", f"there {hidden}", f"raw {hidden}", "> a"]
    assert texts(report.undelivered) == [f"late {hidden}"]
    assert [each.command.text.partition(" ")[0] for each in placed if canary in each.command.text] == ["raw"]
    seen = [*model.requests, *events, *log, report, *[each for each in placed if each.command.id != "raw"]]
    assert all(canary not in repr(attrs.asdict(each)) for each in seen if attrs.has(type(each)))
    noted = [(entry.subject, entry.decision, entry.reason, entry.outcome) for entry in audit.entries]
    assert [each for each in noted if each[0] in ("steering", "follow-up")] == [
        ("steering", "allowed", "", "waits"),
        ("steering", "allowed", "", "waits"),
        ("follow-up", "allowed", "", "waits"),
    ]


async def test_refusals_are_audited(tmp_path: Path) -> None:
    audit = MemoryAudit()
    async with Place("memory", tmp_path).open() as store:
        app: Any = (stored_conversations() | stored_steering()).provide(bind(Store).value(store))
        async with build(app | bind(Audit).value(audit)) as rt:
            binding: Any = agent_with(steering=True).on(Listener(say("x")))
            async with rt.start(binding, "go", conversation="c") as run:
                await run.result()
            late = (await rt.steer("late", conversation="c")).failure()
            none = (await rt.steer("x", conversation="c", id="")).failure()
            empty = (await rt.steer("", conversation="c")).failure()
    assert late == SteeringClosed(None, "no run")
    assert none == InvalidId("command", "it is empty")
    assert empty == CommandRefused("it is empty")
    told = [(entry.kind, entry.reason, entry.outcome, entry.run) for entry in audit.entries]
    reasons = ("SteeringClosed", "InvalidId", "CommandRefused")
    assert told == [("steering", reason, "not-run", None) for reason in reasons]


@pytest.mark.parametrize("kind", STORES)
async def test_the_handle_of_a_resumed_run_speaks_to_it(kind: str, tmp_path: Path) -> None:
    async with speaking(Place(kind, tmp_path)) as room:
        binding = talker(Listener(call_tool("send", text="m"), say("sent"), say("and more")), send)
        cause = (await room.run(binding, principal="ada")).failure().cause
        handle: Any = room.rt.start_resumed(binding, cause, {"call-1": Approved("ada")}, principal="ada")
        async with handle as run:
            admitted(await run.steer("early"))
            admitted(await run.follow_up("more"))
            result = await run.result()
        assert said(result.unwrap().report.history) == ["go", "> ", "early", "> sent", "more", "> and more"]


async def test_the_handle_of_a_run_that_is_not_resumed_takes_nothing(tmp_path: Path) -> None:
    async with speaking(Place("memory", tmp_path)) as room:
        binding = talker(Listener(call_tool("send", text="m")), send)
        cause = (await room.run(binding)).failure().cause
        async with room.rt.start_resumed(binding, cause) as run:
            answer: Any = await run.steer("early")
            assert isinstance((await run.result()).failure().cause, RunSuspended)
        assert answer.failure() == SteeringClosed(run.id, "ended")
