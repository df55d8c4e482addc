"""The laws of steering: however it interleaves the history is valid and FIFO, and nothing is lost or told twice."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import attrs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from returns.result import Failure

from lamina.conversation import Conversations, history_problems, stored_conversations
from lamina.effect import bind
from lamina.engine import RunHandle, SteeringAdmitted, SteeringDelivered
from lamina.model import Authentication
from lamina.runtime import build
from lamina.steering import CommandKind, MemorySteering, Steering, SteeringClosed, SteeringFull, stored_steering
from lamina.store import Store, memory_store
from lamina.testing import ScriptedModel, Turn, call_tool, fail, hang, say
from lamina.testing._store_ground import opened
from tests.conversing import the_conversations
from tests.speaking import inputs, recorded
from tests.unit.engine.world import agent_with, echo, events_of

Ends = Literal["answers", "fails", "hangs"]


@attrs.frozen
class Saying:
    """One thing that somebody says: after so many steps of the loop, and whether its caller is cut off, and asks again.

    Attributes:
        after: Steps before it.
        kind: What it is.
        cut_after: Steps after which the caller is cancelled; None lets it be.
    """

    after: int
    kind: CommandKind
    cut_after: int | None = None


@attrs.frozen
class Play:
    """A run, and who speaks to it.

    Attributes:
        turns: What the model does, first to last: calls, or an answer.
        ends: What its last turn does.
        speakers: What each of them says, one after the other.
        drain: The policy's.
        max_turns: The policy's.
        limit: How many may wait.
        interrupt_after: Steps after which the run is interrupted.
        stored: Whether commands are in a store, and the run in a conversation.
    """

    turns: tuple[Literal["calls", "answers"], ...]
    ends: Ends
    speakers: tuple[tuple[Saying, ...], ...]
    drain: Literal["one", "all"]
    max_turns: int
    limit: int
    interrupt_after: int | None
    stored: bool


kinds: st.SearchStrategy[CommandKind] = st.sampled_from(["steering", "follow-up"])
sayings = st.builds(
    Saying,
    after=st.integers(0, 12),
    kind=kinds,
    cut_after=st.one_of(st.none(), st.integers(0, 6)),
)
plays = st.builds(
    Play,
    turns=st.lists(st.sampled_from(["calls", "answers"]), max_size=4).map(tuple),
    ends=st.sampled_from(["answers", "answers", "fails", "hangs"]),
    speakers=st.lists(st.lists(sayings, max_size=5).map(tuple), max_size=3).map(tuple),
    drain=st.sampled_from(["one", "all"]),
    max_turns=st.integers(1, 8),
    limit=st.sampled_from([1, 3, 64]),
    interrupt_after=st.one_of(st.none(), st.integers(0, 80)),
    stored=st.booleans(),
)


def turns_of(play: Play) -> list[Turn]:
    made = [call_tool("echo", text="x") if turn == "calls" else say("a") for turn in play.turns]
    last: dict[Ends, Turn] = {"answers": say("last"), "fails": fail(Authentication()), "hangs": hang()}
    # Past its script a model answers, so that a run which is told more always has something to go on with.
    return [*made, last[play.ends], *[say("more")] * 20]


async def spoken(
    run: RunHandle[Any], who: int, saying: tuple[Saying, ...], admitted: list[tuple[int, str, str]]
) -> None:
    for number, each in enumerate(saying):
        for _ in range(each.after):
            await asyncio.sleep(0)
        text = f"{who}.{number}"
        speak = run.steer if each.kind == "steering" else run.follow_up
        if each.cut_after is not None:
            task = asyncio.create_task(speak(text, id=text))
            for _ in range(each.cut_after):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
        answer = await speak(text, id=text)  # again, where it was cut off: the id makes it one
        if isinstance(answer, Failure):
            assert isinstance(answer.failure(), SteeringClosed | SteeringFull), answer
        else:
            admitted.append((who, each.kind, text))


async def played(play: Play) -> None:
    model = ScriptedModel(*turns_of(play))
    binding: Any = agent_with(
        echo, steering=True, steering_drain=play.drain, max_turns=play.max_turns, repeated_failure_limit=0
    ).on(model)
    admitted: list[tuple[int, str, str]] = []
    async with opened(memory_store()) as store:
        keeps: Any = stored_steering(limit=play.limit) | stored_conversations()
        if not play.stored:
            keeps = bind(Steering).value(MemorySteering(limit=play.limit)) | stored_conversations()
        async with build(keeps.provide(bind(Store).value(store))) as rt:
            handle: RunHandle[Any] = rt.start(binding, "go", conversation="c")
            async with handle as run:
                speakers = [
                    asyncio.create_task(spoken(run, who, saying, admitted)) for who, saying in enumerate(play.speakers)
                ]
                if play.interrupt_after is not None or play.ends == "hangs":
                    for _ in range(play.interrupt_after or 100):
                        await asyncio.sleep(0)
                    run.interrupt()
                result: Any = await run.result()
                await asyncio.gather(*speakers)
                events = await events_of(run)
            conversations: Conversations = await rt.run(the_conversations, None)
            log = [entry.record for entry in (await conversations.read("c")).value_or(())]
    report = result.failure().report if isinstance(result, Failure) else result.unwrap().report
    delivered = [text for _, kind, _, text in recorded(log) if kind != "user"]
    undelivered = [command.text for command in report.undelivered]

    # What was admitted is in the history or is reported, once. A caller that was cut off knows nothing of a command
    # whose run ended before it asked again: such a one is reported, or delivered, all the same.
    known = {text for _, _, text in admitted}
    cut = {
        f"{who}.{number}"
        for who, saying in enumerate(play.speakers)
        for number, each in enumerate(saying)
        if each.cut_after is not None
    }
    assert len({*delivered, *undelivered}) == len(delivered) + len(undelivered)
    assert known <= {*delivered, *undelivered} <= known | cut
    # The history is valid, holds the same as the log, and each request held what was delivered until then.
    assert history_problems(report.history.messages) == []
    assert [text for text in inputs_of(report.history) if text != "go"] == delivered
    assert (
        inputs(model.requests[-1])[1:] == delivered[: len(inputs(model.requests[-1])) - 1] if model.requests else True
    )
    # In its order, for each who speaks and each kind.
    for who in range(len(play.speakers)):
        for kind in ("steering", "follow-up"):
            mine = [text for _, of, _, text in recorded(log) if of == kind and text.startswith(f"{who}.")]
            assert mine == sorted(mine)
    # Each is announced before it is delivered, both once.
    announced = [event.text for event in events if isinstance(event, SteeringAdmitted)]
    told = [event.text for event in events if isinstance(event, SteeringDelivered)]
    assert len(set(announced)) == len(announced)
    assert set(announced) == {*delivered, *undelivered}
    assert [text for text in told if text in delivered] == told
    assert len(set(told)) == len(told)
    # Whatever follows an answer is within the turns; only a limit that calls have reached has one more.
    over = play.max_turns + (isinstance(result, Failure) or result.unwrap().exhausted is not None)
    assert report.turns <= over
    # A request takes one, or all that wait.
    if play.drain == "one":
        counts = [len(inputs(request)) for request in model.requests]
        assert all(after - before <= 1 for before, after in zip(counts, counts[1:], strict=False))


def inputs_of(history: Any) -> list[str]:
    return [message.text for message in history.messages if type(message).__name__ == "UserMessage"]


@settings(deadline=None)
@given(plays)
@example(Play((), "answers", ((Saying(0, "steering"),),), "one", 1, 64, None, True))
@example(Play(("answers",), "answers", ((Saying(3, "follow-up"), Saying(0, "steering")),), "all", 8, 1, None, False))
def test_nothing_is_lost_doubled_or_out_of_order(play: Play) -> None:
    asyncio.run(played(play))
