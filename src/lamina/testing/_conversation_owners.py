"""What conversations are held to of those who have them: one run at a time, and honest ends."""

from __future__ import annotations

from typing import Any

import anyio
from returns.result import Success

from lamina.call import CallKey, ToolRejected
from lamina.conversation import (
    AlreadyDecided,
    AppendConflict,
    ApprovalDecided,
    CallStarted,
    ConversationBusy,
    History,
    JournalFailed,
    NotAllowed,
    RepairAnnotated,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunSuspended,
    TurnAdvanced,
    history_problems,
)
from lamina.model import UserMessage
from lamina.testing._conversation_scene import Case, Scene, declared, refused, results, said, settled, taken, whole_turn
from lamina.testing._suite import require


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


OWNER_CASES: tuple[Case, ...] = (
    a_run_has_its_conversation_alone,
    a_run_sees_what_was_said_before_as_a_prefix,
    of_many_claims_one_wins,
    an_owner_whose_lease_is_over_is_fenced_off,
    appends_and_renewals_keep_a_conversation,
    of_many_resumes_one_wins,
    a_run_is_aborted_from_outside,
)
