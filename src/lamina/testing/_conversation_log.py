"""What the log of a conversation is held to: records whole, in order, and once."""

from __future__ import annotations

from typing import Any

import anyio

from lamina.call import CallKey, ToolFailure, ToolSuccess
from lamina.conversation import CallStarted, InputRecorded, JournalFailed, ResultSettled, TurnAdvanced
from lamina.effect import message_of, tag_of
from lamina.testing._conversation_scene import Case, Scene, declared, every_record, refused, said, settled, taken
from lamina.testing._suite import require


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


LOG_CASES: tuple[Case, ...] = (
    it_gives_back_every_record,
    a_batch_is_kept_whole_or_not_at_all,
    the_same_append_twice_is_one,
    appends_of_many_tasks_are_all_kept,
    an_append_that_was_cancelled_may_be_done_again,
)
