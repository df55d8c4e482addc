"""Steering and follow-ups: at their places, in order, once each, or given back (RUN-014, RUN-015)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from returns.result import Failure, Result

from lamina.conversation import InvalidId, Journal, JournalFailed, MemoryJournal, history_problems
from lamina.effect import Ids, bind
from lamina.engine import (
    PolicyExceeded,
    RunCompleted,
    RunHandle,
    RunInterrupted,
    SteeringAdmitted,
    SteeringDelivered,
    SteeringFailed,
    TurnStarted,
)
from lamina.model import AssistantMessage, Authentication, ToolMessage, UserMessage
from lamina.runtime import RuntimeBuilder, build
from lamina.steering import (
    Command,
    CommandConflict,
    CommandRefused,
    MemorySteering,
    Steering,
    SteeringClosed,
    SteeringError,
    SteeringFull,
    stored_steering,
)
from lamina.store import StoreFull, memory_store
from lamina.testing import FixedIds, call_tool, fail, hang, say
from tests.speaking import Hook, Listener, admitted, inputs, recorded, said, texts
from tests.unit.engine.world import agent_with, echo, events_of

KINDS = ["memory", "stored"]


class Scene:
    """One run during whose requests somebody speaks to it."""

    def __init__(self) -> None:
        self.run: RunHandle[Any] | None = None

    def steer(self, *said: str, **options: Any) -> Hook:
        async def speak() -> None:
            assert self.run is not None
            for text in said:
                admitted(await self.run.steer(text, **options))

        return speak

    def follow_up(self, *said: str, **options: Any) -> Hook:
        async def speak() -> None:
            assert self.run is not None
            for text in said:
                admitted(await self.run.follow_up(text, **options))

        return speak

    def both(self, *hooks: Hook) -> Hook:
        async def speak() -> None:
            for hook in hooks:
                await hook()

        return speak

    async def play(
        self, model: Any, toolkit: Any = None, kind: str = "memory", layer: Any = None, **changes: Any
    ) -> tuple[Any, list[Any]]:
        binding = agent_with(toolkit, **{"steering": True} | changes).on(model)
        keeps: Any = bind(Steering).value(MemorySteering()) if kind == "memory" else None
        keeps = keeps or stored_steering().provide(memory_store())
        builder: Any = RuntimeBuilder().provide(layer if layer is not None else keeps).agent(binding)
        async with build(builder) as rt, rt.start(binding, "go") as run:
            self.run = run
            result = await run.result()
            return result, await events_of(run)


@pytest.mark.parametrize("kind", KINDS)
async def test_steering_goes_into_the_next_request_and_not_into_what_is_under_way(kind: str) -> None:
    scene = Scene()
    during = {1: scene.steer("Be brief.")}
    model = Listener(call_tool("echo", text="a"), say("done"), during=during)
    result, events = await scene.play(model, echo, kind)

    assert inputs(model.requests[0]) == ["go"]
    kinds = [type(message) for message in model.requests[1].messages[1:]]
    assert kinds == [UserMessage, AssistantMessage, ToolMessage, UserMessage]
    assert inputs(model.requests[1]) == ["go", "Be brief."]
    report = result.unwrap().report
    assert said(report.history) == ["go", "> ", "Be brief.", "> done"]
    assert (report.undelivered, report.turns) == ((), 2)
    told = [(type(event), event.turn) for event in events if isinstance(event, SteeringAdmitted | SteeringDelivered)]
    assert told == [(SteeringAdmitted, None), (SteeringDelivered, 2)]
    at = [type(event) for event in events]
    assert at.index(SteeringDelivered) < len(at) - 1 - at[::-1].index(TurnStarted)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_said_before_the_first_request_is_in_it(kind: str) -> None:
    model = Listener(say("done"))
    binding = agent_with(steering=True).on(model)
    keeps: Any = bind(Steering).value(MemorySteering()) if kind == "memory" else None
    keeps = keeps or stored_steering().provide(memory_store())
    builder: Any = RuntimeBuilder().provide(keeps).agent(binding)
    async with build(builder) as rt, rt.start(binding, "go") as run:
        receipt = admitted(await run.steer("And quickly."))
        result = await run.result()
    assert said(result.unwrap().report.history) == ["go", "And quickly.", "> done"]
    assert (receipt.run, receipt.conversation, receipt.position, receipt.durable) == (run.id, None, 1, False)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_follow_up_goes_in_where_the_run_would_stop(kind: str) -> None:
    scene = Scene()
    during = {1: scene.follow_up("And now?", author="ada")}
    model = Listener(call_tool("echo", text="a"), say("first"), say("second"), during=during)
    result, events = await scene.play(model, echo, kind)

    assert [inputs(request) for request in model.requests] == [["go"], ["go"], ["go", "And now?"]]
    completed = result.unwrap()
    assert (completed.output, completed.report.turns) == ("second", 3)
    assert said(completed.report.history) == ["go", "> ", "> first", "And now?", "> second"]
    (delivered,) = [event for event in events if isinstance(event, SteeringDelivered)]
    assert (delivered.kind, delivered.author, delivered.text) == ("follow-up", "ada", "And now?")
    assert [event.output for event in events if isinstance(event, RunCompleted)] == ["second"]


async def test_steering_comes_before_follow_ups_where_the_run_would_stop() -> None:
    scene = Scene()
    during = {1: scene.both(scene.follow_up("f1", "f2"), scene.steer("s1"))}
    model = Listener(say("a"), say("b"), say("c"), say("d"), during=during)
    result, _ = await scene.play(model)

    assert said(result.unwrap().report.history) == ["go", "> a", "s1", "> b", "f1", "> c", "f2", "> d"]


async def test_one_command_a_request_or_all() -> None:
    for drain, expected in (
        ("one", ["go", "> ", "s1", "> ", "s2", "> done", "s3", "> again"]),
        ("all", ["go", "> ", "s1", "s2", "s3", "> ", "> done"]),
    ):
        scene = Scene()
        turns = (call_tool("echo", text="a"), call_tool("echo", text="b"), say("done"), say("again"))
        model = Listener(*turns, during={1: scene.steer("s1", "s2", "s3")})
        result, _ = await scene.play(model, echo, steering_drain=drain)
        assert said(result.unwrap().report.history) == expected


async def test_all_follow_ups_at_once() -> None:
    scene = Scene()
    model = Listener(say("a"), say("b"), during={1: scene.follow_up("f1", "f2")})
    result, _ = await scene.play(model, steering_drain="all")
    assert said(result.unwrap().report.history) == ["go", "> a", "f1", "f2", "> b"]


@pytest.mark.parametrize("kind", KINDS)
async def test_where_no_turn_is_left_what_waits_is_given_back(kind: str) -> None:
    scene = Scene()
    model = Listener(say("done"), during={1: scene.both(scene.follow_up("more"), scene.steer("now"))})
    result, events = await scene.play(model, kind=kind, max_turns=1)

    completed = result.unwrap()
    assert completed.output == "done"
    assert texts(completed.report.undelivered) == ["more", "now"]
    assert [command.kind for command in completed.report.undelivered] == ["follow-up", "steering"]
    assert said(completed.report.history) == ["go", "> done"]
    assert [type(event) for event in events].count(SteeringAdmitted) == 2
    assert not any(isinstance(event, SteeringDelivered) for event in events)


async def test_at_a_limit_steering_is_in_the_last_request_still() -> None:
    scene = Scene()
    during = {1: scene.both(scene.steer("now"), scene.follow_up("later"))}
    model = Listener(call_tool("echo", text="a"), say("done"), during=during)
    result, _ = await scene.play(model, echo, max_turns=1)

    completed = result.unwrap()
    assert completed.exhausted == "turns"
    assert said(completed.report.history) == ["go", "> ", "now", "> done"]
    assert texts(completed.report.undelivered) == ["later"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_fails_gives_back_what_waits(kind: str) -> None:
    scene = Scene()
    model = Listener(fail(Authentication()), during={1: scene.steer("s")})
    result, _ = await scene.play(model, kind=kind)
    assert texts(result.failure().report.undelivered) == ["s"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_is_interrupted_gives_back_what_waits(kind: str) -> None:
    scene, spoken = Scene(), asyncio.Event()

    async def interrupt() -> None:
        await spoken.wait()
        assert scene.run is not None
        scene.run.interrupt()

    async def speak() -> None:
        await scene.steer("s")()
        spoken.set()

    model = Listener(hang(), during={1: speak})
    task = asyncio.create_task(interrupt())
    result, _ = await scene.play(model, kind=kind)
    await task
    assert isinstance(result.failure().cause, RunInterrupted)
    assert texts(result.failure().report.undelivered) == ["s"]
    assert said(result.failure().report.history) == ["go"]


@pytest.mark.parametrize("kind", KINDS)
async def test_when_the_run_has_ended_nothing_is_taken(kind: str) -> None:
    scene = Scene()
    await scene.play(Listener(say("done")), kind=kind)
    assert scene.run is not None
    for speak in (scene.run.steer, scene.run.follow_up):
        assert (await speak("late")).failure() == SteeringClosed(scene.run.id, "ended")


async def test_a_run_without_steering_takes_nothing_and_pays_nothing() -> None:
    model, scene = Listener(say("done")), Scene()
    steering = MemorySteering()
    await scene.play(model, layer=bind(Steering).value(steering), steering=False)
    assert scene.run is not None
    assert (await scene.run.steer("x")).failure() == SteeringClosed(scene.run.id, "takes none")
    assert steering._queues == {}


async def test_a_run_that_is_cancelled_before_its_first_step_lets_go_who_speaks_to_it() -> None:
    binding = agent_with(steering=True).on(Listener(say("done")))
    builder: Any = RuntimeBuilder().provide(bind(Steering).value(MemorySteering())).agent(binding)
    async with build(builder) as rt, rt.start(binding, "go") as run:
        run._started()[1].cancel()
        assert (await run.steer("x")).failure() == SteeringClosed(run.id, "takes none")
        assert isinstance((await run.result()).failure().cause, RunInterrupted)


async def test_what_cannot_be_said_is_refused_at_once() -> None:
    scene, refused = Scene(), list[Any]()

    async def speak() -> None:
        assert scene.run is not None
        for options in (
            {"text": ""},
            {"text": " \n"},
            {"text": "x" * 65_537},
            {"text": "a\0b"},
            {"text": "\ud800"},
            {"text": 7},
            {"text": "x", "id": "run:1"},
            {"text": "x", "id": "a/b"},
            {"text": "x", "author": ""},
        ):
            refused.append((await scene.run.steer(**options)).failure())  # type: ignore[arg-type]

    result, events = await scene.play(Listener(say("done"), during={1: speak}))
    assert [type(each) for each in refused] == [CommandRefused] * 6 + [InvalidId] * 3
    assert result.unwrap().report.undelivered == ()
    assert not [event for event in events if isinstance(event, SteeringAdmitted)]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_queue_is_bounded(kind: str) -> None:
    scene, answers = Scene(), list[Any]()

    async def speak() -> None:
        assert scene.run is not None
        answers.extend([await scene.run.steer(f"s{number}") for number in range(3)])

    keeps: Any = bind(Steering).value(MemorySteering(limit=2))
    if kind == "stored":
        keeps = stored_steering(limit=2).provide(memory_store())
    model = Listener(call_tool("echo", text="a"), say("done"), during={1: speak})
    result, _ = await scene.play(model, echo, layer=keeps, steering_drain="all")
    assert answers[2].failure() == SteeringFull(scene.run.id if scene.run else "", 2)
    assert said(result.unwrap().report.history) == ["go", "> ", "s0", "s1", "> done"]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_same_command_twice_is_one(kind: str) -> None:
    scene, answers = Scene(), list[Any]()

    async def again(text: str) -> None:
        assert scene.run is not None
        answers.append(await scene.run.steer(text, id="c"))

    during: dict[int, Hook] = {1: lambda: again("s"), 2: lambda: again("s"), 3: lambda: again("other")}
    model = Listener(call_tool("echo", text="a"), call_tool("echo", text="b"), say("done"), during=during)
    result, events = await scene.play(model, echo, kind)
    assert answers[0] == answers[1]
    assert admitted(answers[0]).command == "c"
    assert answers[2].failure() == CommandConflict("c")
    assert said(result.unwrap().report.history) == ["go", "> ", "s", "> ", "> done"]
    assert [type(event) for event in events].count(SteeringAdmitted) == 1


async def test_it_is_in_the_log_before_the_request_that_holds_it() -> None:
    scene, journal = Scene(), MemoryJournal()
    seen: list[Any] = []

    async def look() -> None:
        seen.append(recorded(journal.records))

    during = {1: scene.both(scene.steer("s", id="c-1", author="ada"), scene.follow_up("f", id="c-2")), 2: look, 3: look}
    model = Listener(call_tool("echo", text="a"), say("x"), say("y"), during=during)
    layer = bind(Steering).value(MemorySteering()) | bind(Journal).value(journal)
    result, _ = await scene.play(model, echo, layer=layer)
    run = result.unwrap().report.run
    first = (f"{run}:0", "user", None, "go")
    assert seen[0] == [first, (f"{run}+c-1", "steering", "ada", "s")]
    assert seen[1] == [*seen[0], (f"{run}+c-2", "follow-up", None, "f")]


class Refusing(MemorySteering):
    """Fails at one of its operations, or breaks there."""

    def __init__(self, at: str, breaks: bool = False) -> None:
        super().__init__()
        self._at = at
        self._breaks = breaks

    def _refused(self, name: str) -> Failure[SteeringError] | None:
        if name != self._at:
            return None
        if self._breaks:
            raise ValueError("canary")
        return Failure(StoreFull())

    async def open(self, run: str, **options: Any) -> Result[None, SteeringError]:
        return self._refused("open") or await super().open(run, **options)

    async def waiting(self, run: str, kind: Any, limit: int) -> Result[tuple[Command, ...], SteeringError]:
        return self._refused("waiting") or await super().waiting(run, kind, limit)

    async def delivered(self, run: str, commands: Any) -> Result[None, SteeringError]:
        return self._refused("delivered") or await super().delivered(run, commands)

    async def close(self, run: str) -> Result[bool, SteeringError]:
        return self._refused("close") or await super().close(run)

    async def end(self, run: str, delivered: Any = ()) -> Result[tuple[Command, ...], SteeringError]:
        return self._refused("end") or await super().end(run, delivered)


@pytest.mark.parametrize(
    ("at", "undelivered", "history"),
    [
        ("open", [], ["go"]),
        ("waiting", [], ["go"]),
        ("delivered", [], ["go", "> ", "s"]),
        ("close", ["f"], ["go", "> ", "s", "> done"]),
    ],
)
async def test_where_it_cannot_be_asked_the_run_fails_and_says_so(
    at: str, undelivered: list[str], history: list[str]
) -> None:
    scene = Scene()
    model = Listener(
        call_tool("echo", text="a"),
        say("done"),
        during={1: scene.steer("s"), 2: scene.follow_up("f")},
    )
    result, _ = await scene.play(model, echo, layer=bind(Steering).value(Refusing(at)))
    failure = result.failure()
    assert failure.cause == SteeringFailed(StoreFull())
    assert str(failure) == "What is said to the run could not be handled: The store has no space left."
    assert texts(failure.report.undelivered) == undelivered
    assert said(failure.report.history) == history
    assert history_problems(failure.report.history.messages) == []


@pytest.mark.parametrize("breaks", [False, True])
async def test_an_answer_does_not_hide_that_what_was_admitted_cannot_be_told(breaks: bool) -> None:
    scene = Scene()
    model = Listener(say("done"), during={1: scene.follow_up("f")})
    result, _ = await scene.play(model, max_turns=1, layer=bind(Steering).value(Refusing("end", breaks)))
    assert isinstance(result.failure().cause, SteeringFailed)


async def test_a_journal_that_does_not_take_it_leaves_it_undelivered() -> None:
    class Full(MemoryJournal):
        async def append(self, *records: Any) -> Any:
            if any(getattr(record, "kind", "") == "steering" for record in records):
                return Failure(JournalFailed(records[0].id, "full"))
            return await super().append(*records)

    scene = Scene()
    model = Listener(call_tool("echo", text="a"), say("done"), during={1: scene.steer("s")})
    layer = bind(Steering).value(MemorySteering()) | bind(Journal).value(Full())
    result, _ = await scene.play(model, echo, layer=layer)
    assert isinstance(result.failure().cause, JournalFailed)
    assert texts(result.failure().report.undelivered) == ["s"]


async def test_the_turns_and_repairs_are_the_runs() -> None:
    scene = Scene()
    model = Listener(say("a"), say("b"), during={1: scene.follow_up("f1"), 2: scene.follow_up("f2")})
    result, _ = await scene.play(model, max_turns=2, on_exhaustion="fail")
    assert result.unwrap().output == "b"
    assert texts(result.unwrap().report.undelivered) == ["f2"]


async def test_time_goes_on_for_what_follows() -> None:
    scene = Scene()
    model = Listener(say("a"), hang(), during={1: scene.follow_up("f")})
    result, _ = await scene.play(model, max_duration=0.05)
    assert result.failure().cause == PolicyExceeded("duration")
    assert said(result.failure().report.history) == ["go", "> a", "f"]
    assert result.failure().report.undelivered == ()


async def test_ids_are_those_of_the_runtime() -> None:
    scene = Scene()
    model = Listener(say("a"), say("b"), during={1: scene.follow_up("f")})
    layer = bind(Steering).value(MemorySteering()) | bind(Ids).value(FixedIds())
    _, events = await scene.play(model, layer=layer)
    assert [event.command for event in events if isinstance(event, SteeringAdmitted)] == ["command-1"]


async def test_many_speak_at_once_and_each_is_heard_once_in_its_order() -> None:
    scene = Scene()

    async def speak() -> None:
        assert scene.run is not None
        run = scene.run

        async def one(who: int) -> None:
            for number in range(4):
                admitted(await run.steer(f"{who}.{number}"))

        await asyncio.gather(*[one(who) for who in range(8)])

    model = Listener(call_tool("echo", text="a"), say("done"), during={1: speak})
    result, _ = await scene.play(model, echo, "stored", steering_drain="all")
    heard = [text for text in said(result.unwrap().report.history) if "." in text]
    assert sorted(heard) == sorted(f"{who}.{number}" for who in range(8) for number in range(4))
    for who in range(8):
        assert [text for text in heard if text.startswith(f"{who}.")] == [f"{who}.{number}" for number in range(4)]


async def test_a_caller_that_is_cancelled_while_it_is_admitted_leaves_it_whole_or_not_there() -> None:
    for steps in range(12):
        scene = Scene()

        async def speak(steps: int = steps, scene: Scene = scene) -> None:
            assert scene.run is not None
            task = asyncio.create_task(scene.run.steer("s", id="c"))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
            for _ in range(3):
                admitted(await scene.run.steer("s", id="c"))

        model = Listener(call_tool("echo", text="a"), say("done"), during={1: speak})
        result, _ = await scene.play(model, echo, "stored")
        assert said(result.unwrap().report.history) == ["go", "> ", "s", "> done"]


def test_the_sentences() -> None:
    assert str(SteeringClosed("r", "takes none")) == "Nothing was added to a run: the run takes none."
    assert str(SteeringFull("r", 2)) == "Nothing was added to the run r: 2 commands wait for it."
