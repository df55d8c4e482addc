"""What conversations are held to, case by case; each name is a sentence of the report."""

from __future__ import annotations

from typing import Any

import anyio
from returns.result import Failure, Result, Success

from lamina.call import (
    CallKey,
    ToolFailure,
    ToolRejected,
    ToolSuccess,
)
from lamina.conversation import (
    AlreadyDecided,
    AppendConflict,
    ApprovalDecided,
    CallStarted,
    ConversationBusy,
    ConversationExists,
    Conversations,
    ForkRefused,
    History,
    InputRecorded,
    InvalidId,
    JournalFailed,
    NotAllowed,
    RecordRefused,
    RepairAnnotated,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunSuspended,
    TurnAdvanced,
    history_problems,
    verify_export,
)
from lamina.effect import message_of, tag_of
from lamina.model import UserMessage
from lamina.testing._conversation_approvals import APPROVAL_CASES
from lamina.testing._conversation_scene import (
    Case,
    Scene,
    declared,
    every_record,
    for_durable,
    refused,
    results,
    said,
    settled,
    taken,
    whole_turn,
)
from lamina.testing._outcomes import require


async def it_gives_back_every_record(scene: Scene) -> None:
    claim, records = await scene.claim("all", "run-1"), every_record()
    taken(await claim.log.append(*records))
    back = (await scene.records("all"))[1:]
    require(len(back) == len(records), "records are missing")
    for given, got in zip(records, back, strict=True):
        if isinstance(given, ResultSettled) and isinstance(given.outcome, ToolFailure):
            require(isinstance(got, ResultSettled) and isinstance(got.outcome, ToolFailure), "a failure is another")
            outcome: Any = got.outcome if isinstance(got, ResultSettled) else None
            same = (outcome.value, outcome.message) == (given.outcome.value, given.outcome.message)
            names = (tag_of(outcome.error), message_of(outcome.error)) == ("Gone", "The file a is gone")
            require(same and names, "a declared failure has lost its value, its tag or its sentence")
        else:
            require(got == given, f"a record comes back as another: {type(given).__name__}")


async def a_batch_is_kept_whole_or_not_at_all(scene: Scene) -> None:
    claim = await scene.claim("whole", "run-1")
    nan = ResultSettled(CallKey("run-1", 1, "c1"), ToolSuccess(float("nan")))
    for wrong in (nan, settled("c1", "x" * 2_000_000), TurnAdvanced("run-2", 1)):
        refused(await claim.log.append(said("a"), wrong), JournalFailed, "a batch with a record that cannot be kept")
    refused(await claim.log.append(said("a"), said("a")), JournalFailed, "a batch with one id twice")
    many = [InputRecorded("run-1", f"i-{at}", "user", None, "x") for at in range(257)]
    refused(await claim.log.append(*many), JournalFailed, "a batch of 257")
    require(len(await scene.records("whole")) == 1, "something of a refused batch was kept")
    taken(await claim.log.append(*many[:256]))
    entries = taken(await scene.conversations.read(scene.named("whole"), after=1, limit=1_024))
    require(len({(entry.batch, entry.digest) for entry in entries}) == 1, "a batch has no id and digest of its own")
    require(claim.log.tail.seq == 257, "a log does not know where it ends")
    taken(await scene.conversations.verify(scene.named("whole")))


async def the_same_append_twice_is_one(scene: Scene) -> None:
    claim = await scene.claim("twice", "run-1", said("a"))
    batch = (declared("c1", "c2"), CallStarted(CallKey("run-1", 1, "c1"), "0" * 64, None))
    for _ in range(3):
        taken(await claim.log.append(*batch))
    taken(await claim.log.append(settled("c1")))
    taken(await claim.log.append(*batch))
    taken(await claim.log.append(settled("c1")))
    require(len(await scene.records("twice")) == 5, "what was appended again is there twice")
    failed = refused(await claim.log.append(settled("c1", "other")), JournalFailed, "another record of one id")
    require(failed.record == "settled:run-1/1/c1", "a failure does not name the record")
    taken(await claim.log.append(settled("c2")))


async def appends_of_many_tasks_are_all_kept(scene: Scene) -> None:
    claim = await scene.claim("tasks", "run-1")
    calls = [f"c{at}" for at in range(12)]
    taken(await claim.log.append(declared(*calls)))

    async def run(call: str) -> None:
        taken(await claim.log.append(CallStarted(CallKey("run-1", 1, call), "0" * 64, None)))
        taken(await claim.log.append(settled(call)))

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(run, call)
    require(len(await scene.records("tasks")) == 2 + 24, "records of parallel calls are missing")
    taken(await scene.conversations.verify(scene.named("tasks")))


async def an_append_that_was_cancelled_may_be_done_again(scene: Scene) -> None:
    claim = await scene.claim("cancelled", "run-1")
    for at in range(8):
        with anyio.CancelScope() as scope:
            if at % 2:
                scope.cancel()
            await claim.log.append(said(f"{at}"))
        if at % 4 > 1:  # another one may come between
            taken(await claim.log.append(said(f"{at}-b")))
        taken(await claim.log.append(said(f"{at}")))
    records = await scene.records("cancelled")
    require(len(records) == 1 + 8 + 4, "what was cancelled and done again is there twice, or not at all")
    taken(await scene.conversations.verify(scene.named("cancelled")))


# --- owners -----------------------------------------------------------------------------------------------------------


async def a_run_has_its_conversation_alone(scene: Scene) -> None:
    first = await scene.claim("alone", "run-1", RunBegan("run-1", "agent"), said("a"))
    require(first.history == History() and first.repairs == (), "a new conversation has a history")
    busy = refused(
        await scene.conversations.claim(scene.named("alone"), "run-2"), ConversationBusy, "a second run at once"
    )
    require((busy.run, busy.state, busy.until is not None) == ("run-1", "active", True), "a busy one is told wrongly")
    summary = taken(await scene.conversations.get(scene.named("alone")))
    require((summary.run, summary.state, summary.tail) == ("run-1", "active", first.log.tail), "a summary is wrong")
    taken(await first.log.append(RunEnded("run-1", "completed")))
    require(taken(await scene.conversations.get(scene.named("alone"))).run is None, "an ended run keeps it")
    refused(await first.log.append(said("late")), JournalFailed, "an append after the end")
    taken(await first.log.append(RunEnded("run-1", "completed")))
    await scene.claim("alone", "run-2", RunBegan("run-2", "agent"))


async def a_run_sees_what_was_said_before_as_a_prefix(scene: Scene) -> None:
    seen: tuple[Any, ...] = ()
    for at in range(1, 5):
        run = f"run-{at}"
        claim = await scene.claim("prefix", run, RunBegan(run, "agent"), said(f"question {at}", run))
        messages = claim.history.messages
        require(messages[: len(seen)] == seen, "a later history does not begin with the one before")
        require(len(messages) == 4 * (at - 1), "a later history lacks something")
        require(history_problems(messages) == [], "a history is not valid")
        await whole_turn(claim, run)
        taken(await claim.log.append(declared(run=run, turn=2)))
        taken(await claim.log.append(RunEnded(run, "completed")))
        seen = messages
    history = taken(await scene.conversations.history(scene.named("prefix")))
    require(history.messages[0] == UserMessage.of("question 1"), "a history does not begin with what was said first")
    require(len(history.messages) == 16, "a history lacks something")


async def of_many_claims_one_wins(scene: Scene) -> None:
    won: list[str] = []

    async def race(run: str) -> None:
        answer = await scene.conversations.claim(scene.named("race"), run, opening=(RunBegan(run, "agent"),))
        if isinstance(answer, Success):
            won.append(run)
        else:
            refused(answer, ConversationBusy, "a claim that lost")

    for _ in range(2):  # where there is none yet, and where there is one
        async with anyio.create_task_group() as group:
            for at in range(12):
                group.start_soon(race, f"run-{len(won)}-{at}")
        summary = taken(await scene.conversations.get(scene.named("race")))
        require(won[-1:] == [summary.run] and len(won) in (1, 2), "more than one claim won, or none")
        taken(await scene.conversations.abort(scene.named("race"), won[-1]))
    began = [record for record in await scene.records("race") if isinstance(record, RunBegan)]
    require([record.run for record in began] == won, "a claim that lost left something behind")


async def an_owner_whose_lease_is_over_is_fenced_off(scene: Scene) -> None:
    lost = await scene.claim("lost", "run-1", RunBegan("run-1", "agent"), said("go"))
    taken(await lost.log.append(declared("done", "begun", "reads", "never", "safe", readonly=("reads",))))
    keys = {name: CallKey("run-1", 1, name) for name in ("begun", "safe")}
    taken(await lost.log.append(settled("done", 1)))
    taken(await lost.log.append(CallStarted(keys["begun"], "0" * 64, None)))
    taken(await lost.log.append(CallStarted(keys["safe"], "0" * 64, "ada", "approval", "readonly")))
    await scene.clock.advance(scene.lease - 1)
    refused(await scene.conversations.claim(scene.named("lost"), "run-2"), ConversationBusy, "a claim within the lease")
    await scene.clock.advance(2)
    expected = taken(await scene.conversations.history(scene.named("lost")))
    claim = await scene.claim("lost", "run-2", RunBegan("run-2", "agent"))
    require(claim.history == expected, "a claim sees another history than a look before it")
    told = {name: result.content for name, result in results(claim.history).items()}
    tags = {name: content["_tag"] for name, content in told.items() if isinstance(content, dict)}
    require(told["done"] == 1, "a result that was there is lost")
    require(tags["begun"] == "ToolUnknownOutcome", "a call that had started is not of unknown outcome")
    require(tags["safe"] == tags["reads"] == "ToolDefect", "a call that only reads is not told as interrupted")
    require(tags["never"] == "ToolRejected", "a call that never started is not told so")
    require(len(claim.repairs) == 5, "a repair is not told, or told twice")
    failed = refused(await lost.log.append(settled("begun")), JournalFailed, "an append of a fenced owner")
    require(isinstance(failed.cause, AppendConflict), "a fenced owner is not told of the conflict")
    refused(await lost.log.append(RunEnded("run-1", "completed")), JournalFailed, "the end of a fenced owner")
    refused(await lost.log.renew(), JournalFailed, "a renewal of a fenced owner")
    records = await scene.records("lost")
    require(len([one for one in records if isinstance(one, RepairAnnotated)]) == 1, "a repair is not recorded once")
    require(RunEnded("run-1", "interrupted", "OwnerLost") in records, "a lost run has no ending")
    taken(await claim.log.append(RunEnded("run-2", "completed")))
    after = await scene.claim("lost", "run-3")
    require(after.repairs == () and after.history == expected, "a repair is told again, or made another time")
    taken(await scene.conversations.verify(scene.named("lost")))


async def appends_and_renewals_keep_a_conversation(scene: Scene) -> None:
    claim = await scene.claim("kept", "run-1")
    require(0 < claim.log.renew_within <= scene.lease / 2, "a renewal would come too late")
    for at in range(4):
        await scene.clock.advance(scene.lease * 0.75)
        taken(await (claim.log.renew() if at % 2 else claim.log.append(said(f"{at}"))))
    refused(await scene.conversations.claim(scene.named("kept"), "run-2"), ConversationBusy, "a claim of what is kept")
    await scene.clock.advance(scene.lease * 2)
    taken(await claim.log.append(said("nobody else came")))


async def of_many_resumes_one_wins(scene: Scene) -> None:
    key = CallKey("run-1", 1, "c1")
    first = await scene.claim("wait", "run-1", RunBegan("run-1", "agent"), said("go"))
    taken(await first.log.append(declared("c1", "c2")))
    taken(await first.log.append(ResultSettled(CallKey("run-1", 1, "c2"), ToolRejected("unavailable"))))
    taken(await first.log.append(RunSuspended("run-1", 1, {"turn": 1, "n": [2**70]})))
    await scene.clock.advance(scene.lease * 1_000)
    busy = refused(await scene.conversations.claim(scene.named("wait"), "run-2"), ConversationBusy, "a suspended run")
    require((busy.run, busy.state, busy.until) == ("run-1", "suspended", None), "a suspended run is told wrongly")
    refused(await first.log.append(settled("c1")), JournalFailed, "an append of a suspended run")
    look = taken(await scene.conversations.suspended(scene.named("wait"), "run-1"))
    refused(await look.claim.log.append(settled("c1")), JournalFailed, "an append by somebody who only looks")
    won: list[Any] = []

    async def resume() -> None:
        answer = await scene.conversations.resume(scene.named("wait"), "run-1")
        if isinstance(answer, Success):
            won.append(answer.unwrap())
        else:
            refused(answer, AlreadyDecided, "a resume that lost")

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(resume)
    require(len(won) == 1, f"{len(won)} resumes won")
    resumed = won[0]
    require((resumed.agent, resumed.turn, resumed.nth) == ("agent", 1, 1), "what was suspended is told wrongly")
    require(resumed.state == {"turn": 1, "n": [2**70]}, "the state of a suspended run is another")
    require(resumed.response == declared("c1", "c2").message, "the open response is another")
    require(dict(resumed.outcomes) == {"c2": ToolRejected("unavailable")}, "what was settled is lost")
    require(resumed.claim.history.messages == (UserMessage.of("go"),), "a history holds the open batch")
    log = resumed.claim.log
    taken(await log.append(ApprovalDecided(key, "approval", "approved", "ada", "", "ab" * 32)))
    taken(await log.append(RunSuspended("run-1", 1, None, nth=2)))
    again = taken(await scene.conversations.resume(scene.named("wait"), "run-1"))
    require((again.nth, again.decisions["c1"].by) == (2, "ada"), "a decision is lost by the second suspension")
    refused(await log.append(settled("c1")), JournalFailed, "an append by the owner before")
    log = again.claim.log
    taken(await log.append(CallStarted(key, "ab" * 32, "ada", "approval")))
    taken(await log.append(settled("c1"), TurnAdvanced("run-1", 1)))
    taken(await log.append(RunEnded("run-1", "completed")))
    refused(await scene.conversations.resume(scene.named("wait"), "run-1"), AlreadyDecided, "a resume after the end")
    refused(await scene.conversations.resume(scene.named("none"), "run-1"), NotAllowed, "a resume of nothing")
    claim = await scene.claim("wait", "run-2")
    require(claim.repairs == (), "a run that was suspended leaves something to repair")
    require(len(claim.history.messages) == 3, "a history lacks something")


async def a_run_is_aborted_from_outside(scene: Scene) -> None:
    claim = await scene.claim("abort", "run-1", RunBegan("run-1", "agent"), said("go"))
    taken(await claim.log.append(declared("c1", "c2", readonly=("c2",))))
    taken(await claim.log.append(RunSuspended("run-1", 1, None)))
    refused(await scene.conversations.abort(scene.named("abort"), "run-2"), AlreadyDecided, "an abort of another run")
    taken(await scene.conversations.abort(scene.named("abort"), "run-1"))
    refused(await scene.conversations.abort(scene.named("abort"), "run-1"), AlreadyDecided, "a second abort")
    refused(await scene.conversations.resume(scene.named("abort"), "run-1"), AlreadyDecided, "a resume after an abort")
    after = await scene.claim("abort", "run-2")
    contents: list[Any] = [result.content for result in results(after.history).values()]
    require([content["reason"] for content in contents] == ["not-started"] * 2, "a held call is told as if it ran")
    require(after.repairs == (), "an abort is told to the next run as a repair")
    taken(await scene.conversations.abort(scene.named("abort"), "run-2"))
    refused(await after.log.append(said("late")), JournalFailed, "an append of an aborted run")


# --- forks, principals, pages -----------------------------------------------------------------------------------------


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


CASES: tuple[Case, ...] = (
    it_gives_back_every_record,
    a_batch_is_kept_whole_or_not_at_all,
    the_same_append_twice_is_one,
    appends_of_many_tasks_are_all_kept,
    an_append_that_was_cancelled_may_be_done_again,
    a_run_has_its_conversation_alone,
    a_run_sees_what_was_said_before_as_a_prefix,
    of_many_claims_one_wins,
    an_owner_whose_lease_is_over_is_fenced_off,
    appends_and_renewals_keep_a_conversation,
    of_many_resumes_one_wins,
    a_run_is_aborted_from_outside,
    *APPROVAL_CASES,
    a_fork_is_a_copy_up_to_a_position,
    another_principals_conversation_is_not_there,
    what_cannot_be_an_id_is_refused,
    pages_have_everything_once,
    an_export_tells_what_was_changed,
    it_keeps_what_was_appended,
    two_processes_race_for_each_position,
)
