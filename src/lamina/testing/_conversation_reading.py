"""What conversations are held to of those who read them: forks, principals, pages, exports, and what is kept."""

from __future__ import annotations

from typing import Any

import anyio
from returns.result import Failure, Result, Success

from lamina.conversation import (
    AppendConflict,
    ConversationBusy,
    ConversationExists,
    Conversations,
    ForkRefused,
    InputRecorded,
    InvalidId,
    JournalFailed,
    NotAllowed,
    RecordRefused,
    RunBegan,
    RunEnded,
    RunSuspended,
    history_problems,
    verify_export,
)
from lamina.model import UserMessage
from lamina.testing._conversation_scene import (
    Case,
    Scene,
    declared,
    every_record,
    refused,
    said,
    settled,
    taken,
    whole_turn,
)
from lamina.testing._suite import for_durable, require


async def a_fork_is_a_copy_up_to_a_position(scene: Scene) -> None:
    conversations, source = scene.conversations, scene.named("source")
    claim = await scene.claim("source", "run-1", RunBegan("run-1", "agent"), said("one"))
    await whole_turn(claim, "run-1")
    taken(await claim.log.append(RunEnded("run-1", "completed")))
    stable = claim.log.tail
    second = await scene.claim("source", "run-2", RunBegan("run-2", "agent"), said("two", "run-2"))
    taken(await second.log.append(declared("c1", run="run-2")))
    tail = taken(await conversations.fork(source, scene.named("copy")))
    require(tail.seq == stable.seq + 1, "a fork does not end where no run was in progress")
    require(taken(await conversations.fork(source, scene.named("copy"))) == tail, "the same fork twice is two")
    require(taken(await conversations.verify(scene.named("copy"))) == tail, "a fork does not verify")
    entries = taken(await conversations.read(scene.named("copy")))
    original = taken(await conversations.read(source, limit=stable.seq))
    same = [(one.id, one.digest) for one in entries[:-1]] == [(one.id, one.digest) for one in original]
    require(same, "a fork's beginning is not the other's, digest for digest")
    summary = taken(await conversations.get(scene.named("copy")))
    require((summary.forked_from, summary.forked_seq, summary.run) == (source, stable.seq, None), "its origin is lost")
    inside = refused(await conversations.fork(source, scene.named("b"), at=2), ForkRefused, "a fork inside a batch")
    require(inside.nearest == 1, "the nearest position is wrong")
    at = second.log.tail.seq
    waiting = refused(await conversations.fork(source, scene.named("b"), at=at), ForkRefused, "a fork of open calls")
    require(waiting.nearest == at - 1, "the nearest position is wrong")
    for beyond in (at + 1, -1):
        refused(await conversations.fork(source, scene.named("b"), at=beyond), ForkRefused, "a fork past the end")
    taken(await conversations.fork(source, scene.named("b"), at=at - 1))
    refused(await conversations.fork(source, scene.named("copy"), at=1), ConversationExists, "a fork with a taken name")
    refused(await conversations.fork(scene.named("none"), scene.named("c")), NotAllowed, "a fork of nothing")
    refused(await conversations.fork(source, "a/b"), InvalidId, "a fork with a wrong id")
    third = await scene.claim("copy", "run-3", RunBegan("run-3", "agent"))
    require(third.history == second.history and third.repairs == (), "a fork's history is another")
    taken(await second.log.append(settled("c1", run="run-2")))


async def another_principals_conversation_is_not_there(scene: Scene) -> None:
    conversations, name = scene.conversations, scene.named("ada's")
    claim = await scene.claim("ada's", "run-1", said("secret"), principal="ada")
    taken(await claim.log.append(RunSuspended("run-1", 1, None)))
    for other in (None, "bob", "Ada"):
        answers: list[Result[Any, Any]] = [
            await conversations.claim(name, "run-2", principal=other),
            await conversations.resume(name, "run-1", principal=other),
            await conversations.suspended(name, "run-1", principal=other),
            await conversations.abort(name, "run-1", principal=other),
            await conversations.fork(name, scene.named("copy"), principal=other),
            await conversations.read(name, principal=other),
            await conversations.history(name, principal=other),
            await conversations.get(name, principal=other),
            await conversations.export(name, principal=other),
            await conversations.verify(name, principal=other),
        ]
        for answer in answers:
            refused(answer, NotAllowed, "another principal's conversation")
        missing = refused(
            await conversations.get(scene.named("none"), principal=other), NotAllowed, "what is not there"
        )
        foreign = refused(await conversations.get(name, principal=other), NotAllowed, "another's")
        require(type(missing) is type(foreign) and missing.what == foreign.what, "the two are told apart")
        listed = taken(await conversations.list(principal=other, after=name[:-1], limit=1_000))
        require(all(one.id != name for one in listed), "another principal's conversation is listed")
    require(len(await scene.records("ada's", "ada")) == 3, "a refusal changed something")
    refused(await conversations.fork(name, name, principal="ada"), ConversationExists, "a fork onto itself")


async def what_cannot_be_an_id_is_refused(scene: Scene) -> None:
    conversations, good = scene.conversations, scene.named("ids")
    wrong: list[Any] = ["", "a/b", "a\\b", "..", ".", "a\0b", "a\nb", " a", "x" * 129, "x" * 10_000, "\ud800", 7, None]
    for each in wrong:
        refused(await conversations.claim(each, "run-1"), InvalidId, "a claim")
        refused(await conversations.read(each), InvalidId, "a look")
        if each is not None:
            refused(await conversations.claim(good, each), InvalidId, "a run's id")
    for each in ("", "a\0b", "x" * 257, 7):
        answer = await conversations.claim(good, "run-1", principal=each)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - what callers may get wrong
        require(refused(answer, InvalidId, "a principal").what == "principal", "a refusal names something else")
    refused(await conversations.get(good), NotAllowed, "a refused claim left something behind")
    claim = await scene.claim("ids", "run-1", principal="https://example.org/ada?x=1")
    refused(await claim.log.append(InputRecorded("run-1", "", "user", None, "x")), JournalFailed, "an input's id")
    opened = await conversations.claim(scene.named("more"), "run-1", opening=(said("a", "run-2"),))
    refused(opened, RecordRefused, "another run's record in a claim")


async def pages_have_everything_once(scene: Scene) -> None:
    claim = await scene.claim("pages", "run-1")
    for start in range(0, 2_500, 250):
        batch = [InputRecorded("run-1", f"i-{at}", "user", None, f"{at}") for at in range(start, start + 250)]
        taken(await claim.log.append(*batch))
    seen: list[int] = []
    while page := taken(await scene.conversations.read(claim.log.conversation, after=len(seen), limit=10_000)):
        require(len(page) <= 1_024, "a page has more than 1,024 records")
        seen += [entry.seq for entry in page]
    require(seen == list(range(1, 2_502)), "pages have something twice, or not at all")
    history = taken(await scene.conversations.history(claim.log.conversation))
    require(
        [message.text for message in history.messages if isinstance(message, UserMessage)][2_499] == "2499", "order"
    )
    for at in range(5):
        await scene.claim(f"list-{at}", "run-1", principal=f"lister-{scene.fresh}")
    names: list[str] = []
    while listed := taken(
        await scene.conversations.list(principal=f"lister-{scene.fresh}", after=names[-1] if names else "", limit=2)
    ):
        names += [one.id for one in listed]
    require(names == [scene.named(f"list-{at}") for at in range(5)], "a list has something twice, or not at all")


async def an_export_tells_what_was_changed(scene: Scene) -> None:
    claim = await scene.claim("export", "run-1", RunBegan("run-1", "agent"), said("one"))
    taken(await claim.log.append(*every_record()[1:]))
    lines = taken(await scene.conversations.export(claim.log.conversation))
    require(verify_export(lines) == Success(claim.log.tail), "an export does not verify")
    later = taken(await scene.conversations.export(claim.log.conversation, after=1))
    require(verify_export(later) == Success(claim.log.tail), "an export that begins later does not verify")
    for at in range(1, len(lines)):
        changed = (*lines[:at], lines[at].replace('"run":"run-1"', '"run":"run-2"'), *lines[at + 1 :])
        if changed != lines:
            require(isinstance(verify_export(changed), Failure), "a changed line verifies")
        if at < len(lines) - 1:
            require(isinstance(verify_export((*lines[:at], *lines[at + 1 :])), Failure), "a missing line verifies")


@for_durable
async def it_keeps_what_was_appended(scene: Scene) -> None:
    claim = await scene.claim("durable", "run-1", RunBegan("run-1", "agent"), *every_record()[1:])
    async with scene.again() as other:
        require(isinstance(await other.verify(scene.named("durable")), Success), "it does not verify elsewhere")
        refused(await other.claim(scene.named("durable"), "run-2"), ConversationBusy, "a claim from elsewhere")
        before = taken(await scene.conversations.history(scene.named("durable")))
        require(taken(await other.history(scene.named("durable"))) == before, "a history is another elsewhere")
        await scene.clock.advance(scene.lease + 1)
        taken(await other.claim(scene.named("durable"), "run-2"))
    failed = refused(await claim.log.append(said("late")), JournalFailed, "an append after a takeover from elsewhere")
    require(isinstance(failed.cause, AppendConflict), "a takeover from elsewhere is no conflict")


@for_durable
async def two_processes_race_for_each_position(scene: Scene) -> None:
    won: list[int] = []

    async def writer(at: int, conversations: Conversations) -> None:
        for turn in range(10):
            run = f"run-{at}-{turn}"
            while True:
                answer = await conversations.claim(scene.named("two"), run, opening=(said("x", run),))
                if isinstance(answer, Success):
                    break
                require(isinstance(answer.failure(), ConversationBusy | AppendConflict), "a claim that lost")
                await anyio.lowlevel.checkpoint()
            log = answer.unwrap().log
            taken(await log.append(declared(run=run)))
            taken(await log.append(RunEnded(run, "completed")))
            won.append(at)

    async with scene.again() as other, anyio.create_task_group() as group:
        group.start_soon(writer, 1, scene.conversations)
        group.start_soon(writer, 2, other)
    records = (await scene.records("two"))[1:]
    runs = [getattr(record, "run", None) for record in records]
    blocks = [runs[start : start + 3] for start in range(0, len(runs), 3)]
    require(len(won) == 20 and len(records) == 60, "a run of two writers is lost")
    require(all(len(set(block)) == 1 for block in blocks), "runs of two writers interleave")
    require(history_problems(taken(await scene.conversations.history(scene.named("two"))).messages) == [], "history")


READING_CASES: tuple[Case, ...] = (
    a_fork_is_a_copy_up_to_a_position,
    another_principals_conversation_is_not_there,
    what_cannot_be_an_id_is_refused,
    pages_have_everything_once,
    an_export_tells_what_was_changed,
    it_keeps_what_was_appended,
    two_processes_race_for_each_position,
)
