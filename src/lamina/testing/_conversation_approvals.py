"""What conversations are held to where decisions come from outside: listed, recorded, bound, and never too late."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import anyio
from returns.result import Failure, Result, Success

from lamina.approval import ApprovalRequest, Approved, Denied
from lamina.call import CallKey
from lamina.conversation import (
    AlreadyDecided,
    AppendConflict,
    ApprovalDecided,
    ApprovalLapsed,
    ApprovalRequested,
    ArgumentsDiffer,
    InvalidId,
    NotAllowed,
    NotAsked,
    Pending,
    RunBegan,
    RunSuspended,
)
from lamina.testing._conversation_scene import Case, Scene, declared, refused, said, settled, taken
from lamina.testing._suite import require

DIGEST = "ab" * 32


def asked(
    call: str, *, tool: str = "read", run: str = "run-1", expires_at: datetime | None = None
) -> ApprovalRequested:
    """Give a request."""
    key = CallKey(run, 1, call)
    return ApprovalRequested(
        ApprovalRequest(
            id=f"approval:{key}",
            key=key,
            agent="agent",
            conversation="c",
            tool=tool,
            execution="uncertain",
            summary="Do it",
            targets=(),
            risk="medium",
            preview=None,
            arguments_digest=DIGEST,
            recoverable=False,
            expires_at=expires_at,
        )
    )


async def suspend(scene: Scene, name: str, *requests: ApprovalRequested, principal: str | None = None) -> str:
    """Suspend a run that asked, and give its conversation."""
    claim = await scene.claim(name, "run-1", RunBegan("run-1", "agent"), said("go"), principal=principal)
    taken(await claim.log.append(declared(*[each.request.key.call for each in requests])))
    taken(await claim.log.append(*requests))
    taken(await claim.log.append(RunSuspended("run-1", 1, None)))
    return claim.log.conversation


async def what_waits_is_listed_until_it_is_decided(scene: Scene) -> None:
    conversations, lister = scene.conversations, f"lister-{scene.fresh}"
    soon = scene.clock.now() + timedelta(seconds=60)
    for name in ("one", "two"):
        await suspend(scene, name, asked("b"), asked("a", expires_at=soon), principal=lister)
    active = await scene.claim("active", "run-1", principal=lister)
    taken(await active.log.append(declared("a")))
    taken(await active.log.append(asked("a")))
    await suspend(scene, "another's", asked("a"), principal=f"other-{scene.fresh}")
    seen: list[Pending] = []
    while page := taken(await conversations.pending(principal=lister, after=seen[-1].cursor if seen else "", limit=1)):
        require(len(page) == 1, "a page is longer than it may be")
        seen += page
        require(len(seen) < 9, "a list does not end")
    one, two = scene.named("one"), scene.named("two")
    require([(each.conversation, each.call) for each in seen] == [(one, "b"), (one, "a"), (two, "b"), (two, "a")], "it")
    first = seen[0]
    require((first.run, first.agent, first.turn) == ("run-1", "agent", 1), "what waits is told wrongly")
    require(first.request == asked("b").request and not first.expired, "what was asked is another")
    taken(await conversations.decide(one, "run-1", "b", Approved("ada"), DIGEST, principal=lister))
    await scene.clock.advance(61)
    left = taken(await conversations.pending(principal=lister))
    told = [(each.conversation, each.call, each.expired) for each in left]
    require(told == [(one, "a", True), (two, "b", False), (two, "a", True)], "what is decided is listed")
    taken(await conversations.abort(two, "run-1", principal=lister))
    taken(await conversations.resume(one, "run-1", principal=lister))
    require(taken(await conversations.pending(principal=lister)) == (), "what is not suspended is listed")
    cursors: list[Any] = ["nonsense", "a/b/c", "c/", "c/-1", "/1", f"{one}/{10**30}", 7]
    for wrong in cursors:
        refused(await conversations.pending(after=wrong), InvalidId, "a cursor")


async def a_decision_from_outside_keeps_the_suspension(scene: Scene) -> None:
    conversations = scene.conversations
    name = await suspend(scene, "outside", asked("a"), asked("b"))
    before = taken(await conversations.get(name))
    made = taken(await conversations.decide(name, "run-1", "a", Approved("ada"), DIGEST))
    require((made.decision, made.by, made.arguments_digest) == ("approved", "ada", DIGEST), "a decision is another")
    after = taken(await conversations.get(name))
    require((after.run, after.state) == (before.run, "suspended"), "a decision ended the suspension")
    taken(await conversations.decide(name, "run-1", "a", Approved("ada"), DIGEST))
    require(taken(await conversations.get(name)).tail == after.tail, "the same decision twice is two")
    changed = taken(await conversations.decide(name, "run-1", "a", Denied("bob", "no"), DIGEST))
    require(
        (changed.decision, changed.by, changed.reason) == ("denied", "bob", "no"), "a later decision does not count"
    )
    records = [record for record in await scene.records("outside") if isinstance(record, ApprovalDecided)]
    require([record.decision for record in records] == ["approved", "denied"], "a decision is not in the log")
    taken(await conversations.verify(name))
    resumed = taken(await conversations.resume(name, "run-1"))
    require(set(resumed.decisions) == {"a"} and resumed.decisions["a"] == changed, "a resume does not see a decision")
    refused(await conversations.decide(name, "run-1", "b", Approved("ada"), DIGEST), AlreadyDecided, "a late decision")


async def a_decision_on_what_was_not_asked_is_refused(scene: Scene) -> None:
    conversations = scene.conversations
    soon = scene.clock.now() + timedelta(seconds=60)
    name = await suspend(scene, "bound", asked("a"), asked("b", expires_at=soon), principal="ada")
    tail = taken(await conversations.get(name, principal="ada")).tail
    await scene.clock.advance(60)

    async def decide(
        call: str = "a",
        *,
        run: str = "run-1",
        by: Any = "x",
        digest: str = DIGEST,
        principal: str | None = "ada",
        turn: int = 1,
    ) -> Result[ApprovalDecided, Any]:
        return await conversations.decide(name, run, call, Approved(by), digest, turn=turn, principal=principal)

    refused(await decide("zzz"), NotAsked, "a call that nobody asked about")
    refused(await decide(turn=2), NotAsked, "a call of another turn")
    refused(await decide(digest="00" * 32), ArgumentsDiffer, "other arguments")
    refused(await decide("b"), ApprovalLapsed, "a request whose time is over")
    refused(await decide(run="run-2"), AlreadyDecided, "a run that is not suspended")
    for principal in (None, "bob"):
        refused(await decide(principal=principal), NotAllowed, "another principal's")
    for by in ("", "a\0b", "x" * 257, " x", None, 7):
        refused(await decide(by=by), InvalidId, "a name of nobody")
    require(taken(await conversations.get(name, principal="ada")).tail == tail, "a refusal changed something")


async def of_decisions_the_most_specific_counts_and_then_the_latest(scene: Scene) -> None:
    conversations = scene.conversations
    requests = (asked("a"), asked("b"), asked("c"), asked("d", tool="write"))
    name = await suspend(scene, "specific", *requests)

    async def decide(call: str, decision: Approved | Denied) -> str:
        return taken(await conversations.decide(name, "run-1", call, decision, DIGEST)).decision

    require(await decide("a", Denied("ada")) == "denied", "a denial")
    require(await decide("b", Approved("bob", covers="tool")) == "approved", "a grant of the tool")
    waiting = [each.call for each in taken(await conversations.pending()) if each.conversation == name]
    require(waiting == ["d"], "a grant of the tool does not answer its other requests, or answers another tool's")
    require(await decide("c", Denied("eve", covers="tool")) == "denied", "a denial of the tool")
    require(await decide("b", Approved("bob", covers="tool")) == "denied", "a grant overrides a denial of the tool")
    require(await decide("b", Approved("cat")) == "approved", "a decision on the call does not beat one on its tool")
    require(await decide("a", Approved("bob", covers="tool")) == "denied", "a grant overrides a denial of the call")
    resumed = taken(await conversations.resume(name, "run-1"))
    counts = {call: made.decision for call, made in resumed.decisions.items()}
    require(counts == {"a": "denied", "b": "approved", "c": "denied"}, f"what counts is another: {counts}")
    require({tool: made.by for tool, made in resumed.blanket.items()} == {"read": "eve"}, "what covers the tool")
    records = [record for record in await scene.records("specific") if isinstance(record, ApprovalDecided)]
    covered = {record.key.call for record in records if record.under == asked("b").request.id}
    require(covered == {"c"}, "a request that a grant answered has no record of it")
    taken(await conversations.verify(name))


async def decisions_and_a_resume_race_and_the_log_is_whole(scene: Scene) -> None:
    conversations = scene.conversations
    name = await suspend(scene, "race", asked("a"))
    taken(await conversations.decide(name, "run-1", "a", Approved("first"), DIGEST))
    kept: list[str] = ["first"]
    won: list[Any] = []

    async def decide(at: int) -> None:
        answer = await conversations.decide(name, "run-1", "a", Denied(f"d-{at}"), DIGEST)
        if isinstance(answer, Success):
            kept.append(f"d-{at}")
        else:
            require(isinstance(answer.failure(), AlreadyDecided | AppendConflict), f"a decision that lost: {answer}")

    async def resume() -> None:
        answer = await conversations.resume(name, "run-1")
        if not isinstance(answer, Failure):
            won.append(answer.unwrap())

    async with anyio.create_task_group() as group:
        for at in range(4):
            group.start_soon(decide, at)
        group.start_soon(resume)
        group.start_soon(resume)
        for at in range(4, 8):
            group.start_soon(decide, at)
    require(len(won) == 1, f"{len(won)} resumes won")
    records = [record for record in await scene.records("race") if isinstance(record, ApprovalDecided)]
    require(sorted(record.by for record in records) == sorted(kept), "a decision is lost, or one that lost is there")
    require(won[0].decisions["a"] == records[-1], "a resume does not see the last decision before it")
    taken(await won[0].claim.log.append(settled("a")))
    taken(await conversations.verify(name))


APPROVAL_CASES: tuple[Case, ...] = (
    what_waits_is_listed_until_it_is_decided,
    a_decision_from_outside_keeps_the_suspension,
    a_decision_on_what_was_not_asked_is_refused,
    of_decisions_the_most_specific_counts_and_then_the_latest,
    decisions_and_a_resume_race_and_the_log_is_whole,
)
