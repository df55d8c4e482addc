"""What steering is held to, case by case; each name is a sentence of the report."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, timedelta
from typing import Any, TypeAlias

import anyio
import attrs
from returns.result import Failure

from lamina.conversation import InvalidId
from lamina.steering import (
    LONGEST_TEXT,
    Command,
    CommandConflict,
    CommandKind,
    CommandRefused,
    Placed,
    Receipt,
    Steering,
    SteeringClosed,
    SteeringFull,
)
from lamina.testing._clock import VirtualClock
from lamina.testing._conversation_scene import refused, taken
from lamina.testing._suite import for_durable, require


@attrs.frozen
class Ground:
    """Where a case happens.

    Attributes:
        steering: Open.
        clock: What tells when something was admitted.
        fresh: A text that no other case has in its ids.
        again: Opens it once more; where it is durable, at the same place.
    """

    steering: Steering
    clock: VirtualClock
    fresh: str
    again: Callable[[], AbstractAsyncContextManager[Steering]]

    def named(self, name: str) -> str:
        """Give an id of this case's own."""
        return f"check-{self.fresh}-{name}"

    async def open(self, run: str, conversation: str | None = "talk", principal: str | None = None) -> str:
        """Open the queue of a run, and give its id."""
        where = None if conversation is None else self.named(conversation)
        taken(await self.steering.open(self.named(run), conversation=where, principal=principal))
        return self.named(run)

    async def say(self, run: str, text: str, kind: CommandKind = "steering") -> Receipt:
        """Say something whose id is its text."""
        return taken(await self.steering.submit(run, text, id=text, kind=kind))

    async def waits(self, run: str, kind: CommandKind = "steering", limit: int = 64) -> list[str]:
        """Give what waits for a run."""
        return texts(taken(await self.steering.waiting(run, kind, limit)))

    async def became(self, run: str) -> list[tuple[str, str]]:
        """Give what was said to a run, and what became of it, after looking at what every list owes."""
        placed = taken(await self.steering.commands(run))
        require([each.position for each in placed] == list(range(1, len(placed) + 1)), "positions have gaps")
        require(all(each.command.created.tzinfo is UTC for each in placed), "a command has no time in UTC")
        return [(each.command.text, each.state) for each in placed]


Case: TypeAlias = Callable[[Ground], Awaitable[None]]


def texts(commands: tuple[Command, ...]) -> list[str]:
    """Give what commands say."""
    return [command.text for command in commands]


async def it_gives_back_what_was_admitted(ground: Ground) -> None:
    run, kept = await ground.open("run"), list[Placed]()
    odd = ("é😀\u2028\r\n\t'\"\\", "x" * LONGEST_TEXT, " a ")
    kinds: tuple[CommandKind, ...] = ("steering", "follow-up")
    said: list[tuple[str, CommandKind]] = [(text, kind) for text in odd for kind in kinds]
    for position, (text, kind) in enumerate(said, 1):
        await ground.clock.advance(1.5)
        author = None if kind == "steering" else "ada@example.org"
        receipt = taken(await ground.steering.submit(run, text, id=f"c{position}", kind=kind, author=author))
        where = ground.named("talk")
        durable = ground.steering.durable
        require(
            receipt == Receipt(command=f"c{position}", run=run, conversation=where, position=position, durable=durable),
            "a receipt is another one",
        )
        created = ground.clock.now()
        command = Command(
            id=f"c{position}", run=run, conversation=where, kind=kind, author=author, text=text, created=created
        )
        kept.append(Placed(command=command, position=position, state="queued"))
    for kind in kinds:
        expected = [placed.command for placed in kept if placed.command.kind == kind]
        require(taken(await ground.steering.waiting(run, kind, 64)) == tuple(expected), "what waits is something else")
        require(taken(await ground.steering.waiting(run, kind, 2)) == tuple(expected[:2]), "a limit is not kept")
    require(taken(await ground.steering.commands(run)) == tuple(kept), "what was said is something else")
    require(taken(await ground.steering.find(ground.named("talk"), "c2")) == kept[1], "a command is not found")
    require(
        taken(await ground.steering.find(ground.named("talk"), "c9")) is None, "a command is found that is not there"
    )
    require(kept[1].command.created - kept[0].command.created == timedelta(seconds=1.5), "its time is another one")


async def nothing_is_taken_where_no_run_is_active(ground: Ground) -> None:
    run = ground.named("run")
    for why in ("takes none", "ended"):
        error = refused(await ground.steering.submit(run, "x", id="x"), SteeringClosed, "before or after a run")
        require(
            error == SteeringClosed(run, "takes none" if why == "takes none" else "ended"), "another reason is given"
        )
        if why == "takes none":
            await ground.open("run")
            require(taken(await ground.steering.close(run)), "an empty queue does not close")
    refused(
        await ground.steering.open(run, conversation=ground.named("talk")), SteeringClosed, "a run that begins twice"
    )
    refused(await ground.steering.close(run), SteeringClosed, "closing what is closed")
    require(await ground.became(run) == [], "something was kept")


async def a_queue_closes_when_nothing_waits(ground: Ground) -> None:
    run = await ground.open("run")
    await ground.say(run, "a")
    await ground.say(run, "b", "follow-up")
    for kind, text in (("steering", "a"), ("follow-up", "b")):
        require(not taken(await ground.steering.close(run)), "a queue closes in which something waits")
        found = taken(await ground.steering.waiting(run, "steering" if kind == "steering" else "follow-up", 1))
        require(texts(found) == [text], "another command waits")
        taken(await ground.steering.delivered(run, found))
        refused(await ground.steering.delivered(run, found), SteeringClosed, "a delivery that was noted before")
    require(taken(await ground.steering.close(run)), "an empty queue does not close")
    require(await ground.became(run) == [("a", "delivered"), ("b", "delivered")], "what was delivered is not so")


async def what_waits_is_given_back_at_the_end(ground: Ground) -> None:
    run = await ground.open("run")
    for text in ("a", "b", "c", "d"):
        await ground.say(run, text, "follow-up" if text == "c" else "steering")
    a, b, _ = taken(await ground.steering.waiting(run, "steering", 64))
    taken(await ground.steering.delivered(run, [a]))
    for _ in range(2):
        require(texts(taken(await ground.steering.end(run, [a, b]))) == ["c", "d"], "something else is given back")
    expected = [("a", "delivered"), ("b", "delivered"), ("c", "dropped"), ("d", "dropped")]
    require(await ground.became(run) == expected, "what became of them is something else")
    require(await ground.waits(run) == [], "something waits for a run that has ended")
    require(taken(await ground.steering.end(ground.named("never"))) == (), "a run that never was gives something back")


async def a_paused_queue_takes_nothing_and_keeps_what_it_has(ground: Ground) -> None:
    run = await ground.open("run")
    for text in ("a", "b"):
        await ground.say(run, text)
    taken(await ground.steering.delivered(run, taken(await ground.steering.waiting(run, "steering", 1))))
    require(texts(taken(await ground.steering.pause(run))) == ["b"], "what waits is something else")
    error = refused(await ground.steering.submit(run, "c", id="c"), SteeringClosed, "a suspended run")
    require(error == SteeringClosed(run, "suspended"), "another reason is given")
    await ground.open("run")
    await ground.say(run, "c")
    require(await ground.waits(run) == ["b", "c"], "what waited does not wait any more")


async def the_same_command_twice_is_one(ground: Ground) -> None:
    run = await ground.open("run")
    first = await ground.say(run, "a")
    submit = ground.steering.submit
    require(await ground.say(run, "a") == first, "the same command has another receipt")
    refused(await submit(run, "b", id="a"), CommandConflict, "another text")
    refused(await submit(run, "a", id="a", kind="follow-up"), CommandConflict, "another kind")
    refused(await submit(run, "a", id="a", author="ada"), CommandConflict, "another author")
    taken(await ground.steering.delivered(run, taken(await ground.steering.waiting(run, "steering", 1))))
    require(await ground.say(run, "a") == first, "a command that was delivered has another receipt")
    await ground.say(run, "b")
    taken(await ground.steering.end(run))
    require(await ground.say(run, "a") == first, "it is forgotten when its run has ended")
    refused(await submit(run, "b", id="b"), SteeringClosed, "a command that was dropped")
    later = await ground.open("later")
    require(taken(await submit(later, "a", id="a")) == first, "in the conversation's next run it is another one")
    refused(await submit(later, "c", id="a"), CommandConflict, "another text, in the conversation's next run")
    refused(await submit(later, "b", id="b"), SteeringClosed, "a command that was dropped, in the next run")
    require(await ground.became(later) == [], "it is in the next run as well")


async def runs_without_a_conversation_are_apart(ground: Ground) -> None:
    one, two = await ground.open("one", None), await ground.open("two", None)
    require((await ground.say(one, "a")).conversation is None, "it has a conversation")
    require((await ground.say(two, "a")).run == two, "it went to another run")
    require(texts(taken(await ground.steering.end(one))) == ["a"], "it is lost")
    require(await ground.waits(two) == ["a"], "another run's end took it")


async def a_queue_is_bounded(ground: Ground) -> None:
    run, limit = await ground.open("run"), ground.steering.limit
    for number in range(limit):
        await ground.say(run, f"c{number}", "follow-up" if number % 2 else "steering")
    error = refused(await ground.steering.submit(run, "more", id="more"), SteeringFull, "one more than the limit")
    require(error == SteeringFull(run, limit), "another limit is told")
    require((await ground.say(run, "c0")).position == 1, "what is there is not, when it is full")
    taken(await ground.steering.delivered(run, taken(await ground.steering.waiting(run, "steering", 1))))
    require((await ground.say(run, "more")).position == limit + 1, "it has another place")
    refused(await ground.steering.submit(run, "again", id="again"), SteeringFull, "one more than the limit")


async def what_cannot_be_said_is_refused(ground: Ground) -> None:
    run = await ground.open("run")
    for text in ("", " \n ", "x" * (LONGEST_TEXT + 1), "a\0b", "\ud83d"):
        refused(await ground.steering.submit(run, text, id="x"), CommandRefused, "a text that is none")
    for name in ("", "a/b", "a:1", "x" * 129, "a\n"):
        refused(await ground.steering.submit(run, "x", id=name), InvalidId, "an id that is none")
    refused(await ground.steering.submit(run, "x", id="x", author="a\0"), InvalidId, "an author that is none")
    wrong: Any = "directive"  # what no run ever asks for would wait for ever
    refused(await ground.steering.submit(run, "x", id="x", kind=wrong), CommandRefused, "a kind that is none")
    require(await ground.became(run) == [], "something was kept")


async def what_is_another_principals_is_not_there(ground: Ground) -> None:
    run = await ground.open("run", principal="ada")
    steering, talk = ground.steering, ground.named("talk")
    taken(await steering.submit(run, "mine", id="mine", principal="ada"))
    for principal in (None, "bob"):
        error = refused(await steering.submit(run, "x", id="x", principal=principal), SteeringClosed, "another's run")
        require(error == SteeringClosed(run, "takes none"), "a run that is there is told from one that is not")
        require(taken(await steering.commands(run, principal=principal)) == (), "another reads it")
        require(taken(await steering.find(talk, "mine", principal=principal)) is None, "another finds it")
    require(len(taken(await steering.commands(run, principal="ada"))) == 1, "its own cannot read it")


async def a_conversations_next_run_drops_what_is_left(ground: Ground) -> None:
    lost, other = await ground.open("lost"), await ground.open("other", "elsewhere")
    await ground.say(lost, "a")
    taken(await ground.steering.submit(other, "a", id="a"))
    later = await ground.open("later")
    refused(await ground.steering.submit(lost, "b", id="b"), SteeringClosed, "a run that has lost its conversation")
    refused(await ground.steering.close(lost), SteeringClosed, "closing what another has closed")
    require(await ground.became(lost) == [("a", "dropped")], "what it left behind is not dropped")
    require(texts(taken(await ground.steering.end(lost))) == ["a"], "it is not told of it")
    require(await ground.waits(other) == ["a"], "another conversation lost something")
    await ground.say(later, "c")


async def admissions_of_many_tasks_are_all_kept(ground: Ground) -> None:
    run = await ground.open("run")
    places: dict[str, int] = {}

    async def speaker(who: int) -> None:
        for number in range(4):
            text = f"{who}-{number}"
            places[text] = (await ground.say(run, text)).position
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        for who in range(4):
            group.start_soon(speaker, who)
    heard = [text for text, _ in await ground.became(run)]
    require(
        len(heard) == 16 and {text: at for at, text in enumerate(heard, 1)} == places, "a receipt has another place"
    )
    for who in range(4):
        mine = [text for text in heard if text.startswith(f"{who}-")]
        require(mine == sorted(mine), "what one said is in another order")


async def the_end_races_with_admissions_and_loses_none(ground: Ground) -> None:
    for number in range(12):
        await _race_with_the_end(ground, await ground.open(f"run-{number}", f"talk-{number}"), number)


async def _race_with_the_end(ground: Ground, run: str, number: int) -> None:
    """Let three speak while a run takes what they say, and ends: empty, or after it took so many."""
    admitted, delivered, given_back = list[str](), list[str](), list[str]()

    async def take() -> None:
        for _ in range(number):
            await anyio.lowlevel.checkpoint()
        while not taken(await ground.steering.close(run)):
            found = taken(await ground.steering.waiting(run, "steering", 1))
            taken(await ground.steering.delivered(run, found))
            delivered.extend(texts(found))
            if len(delivered) > number:
                given_back.extend(texts(taken(await ground.steering.end(run))))
                return

    async with anyio.create_task_group() as group:
        for who in range(3):
            group.start_soon(_speak, ground.steering, run, f"{who}-", 3, admitted)
        group.start_soon(take)
    require(sorted(delivered + given_back) == sorted(admitted), "something that was admitted is lost")
    expected = {**dict.fromkeys(delivered, "delivered"), **dict.fromkeys(given_back, "dropped")}
    require(dict(await ground.became(run)) == expected, "what became of something is something else")


async def _speak(steering: Steering, run: str, who: str, count: int, admitted: list[str]) -> None:
    """Speak to a run until it takes no more, and note what it has taken."""
    for number in range(count):
        answer = await steering.submit(run, f"{who}{number}", id=f"{who}{number}")
        if isinstance(answer, Failure):
            require(isinstance(answer.failure(), SteeringClosed), "another refusal")
            return
        admitted.append(f"{who}{number}")


async def an_admission_that_was_cancelled_may_be_made_again(ground: Ground) -> None:
    run = await ground.open("run")
    for steps in range(10):
        async with anyio.create_task_group() as group:
            group.start_soon(ground.say, run, f"c{steps}")
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        first = await ground.say(run, f"c{steps}")
        require(await ground.say(run, f"c{steps}") == first, "it has two places")
    require([text for text, _ in await ground.became(run)] == [f"c{steps}" for steps in range(10)], "it is there twice")


@for_durable
async def it_keeps_what_was_admitted(ground: Ground) -> None:
    run = await ground.open("run")
    await ground.say(run, "a")
    async with ground.again() as reopened:
        require(texts(taken(await reopened.waiting(run, "steering", 1))) == ["a"], "it is forgotten")
        first = taken(await reopened.submit(run, "a", id="a"))
        require(first.position == 1 and first.durable, "it is another one")
        taken(await reopened.submit(run, "b", id="b"))
    require(await ground.waits(run) == ["a", "b"], "what another process said is not there")


@for_durable
async def two_processes_race_with_the_end(ground: Ground) -> None:
    async with ground.again() as other:
        for number in range(10):
            await _race_of_processes(ground, other, await ground.open(f"run-{number}", f"talk-{number}"), number)


async def _race_of_processes(ground: Ground, other: Steering, run: str, number: int) -> None:
    admitted = list[str]()

    async def take() -> None:
        for _ in range(number * 2):
            await anyio.lowlevel.checkpoint()
        while not taken(await ground.steering.close(run)):
            found = taken(await ground.steering.waiting(run, "steering", 64))
            taken(await ground.steering.delivered(run, found))

    async with anyio.create_task_group() as group:
        group.start_soon(_speak, ground.steering, run, "a", 8, admitted)
        group.start_soon(_speak, other, run, "b", 8, admitted)
        group.start_soon(take)
    became = await ground.became(run)
    require(sorted(text for text, _ in became) == sorted(admitted), "something that was admitted is lost")
    require(all(state == "delivered" for _, state in became), "a queue closed in which something waited")


CASES: tuple[Case, ...] = (
    it_gives_back_what_was_admitted,
    nothing_is_taken_where_no_run_is_active,
    a_queue_closes_when_nothing_waits,
    what_waits_is_given_back_at_the_end,
    a_paused_queue_takes_nothing_and_keeps_what_it_has,
    the_same_command_twice_is_one,
    runs_without_a_conversation_are_apart,
    a_queue_is_bounded,
    what_cannot_be_said_is_refused,
    what_is_another_principals_is_not_there,
    a_conversations_next_run_drops_what_is_left,
    admissions_of_many_tasks_are_all_kept,
    the_end_races_with_admissions_and_loses_none,
    an_admission_that_was_cancelled_may_be_made_again,
    it_keeps_what_was_admitted,
    two_processes_race_with_the_end,
)
