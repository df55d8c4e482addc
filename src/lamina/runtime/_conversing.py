"""Runs in conversations: one at a time, never interleaved, never lost (seed 004 §3; design §5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from returns.result import Failure

from lamina.conversation import (
    ConversationBusy,
    ConversationError,
    InputRecorded,
    Record,
    Transcript,
    check_id,
    check_principal,
)
from lamina.effect import Clock, log
from lamina.engine import ConversationFailed, Run, RunCause, Steered, SteeringFailed, admission
from lamina.runtime._lanes import Lanes
from lamina.runtime._place import Place
from lamina.steering import SteeringClosed
from lamina.store import StoreUnavailable

Owned: TypeAlias = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
_LOOK_AGAIN = 0.25
"""Seconds between two looks at a conversation that a run of another process has."""


async def enter_conversation(
    run: Run, place: Place, opening: tuple[Record, ...], lanes: Lanes, owned: Owned
) -> RunCause | None:
    """Take the conversation with the run's first records in one unit; give what keeps the run from beginning.

    A claim that a cancellation meets is finished all the same, in a task that the runtime owns: the run then knows
    that it has the conversation, and frees it.
    """
    if place.refused is not None:
        return ConversationFailed(place.refused)
    if place.busy in ("reject", "fork"):
        return await _take(run, place, opening, owned, asyncio.Event())
    if (refused := check_id("conversation", place.conversation) or check_principal(place.principal)) is not None:
        return ConversationFailed(refused)
    with lanes.watching(place.conversation) as left:
        if place.busy == "steer":
            return await _take(run, place, opening, owned, left)
        run.wait()
        return await lanes.through(place.principal, place.conversation, lambda: _take(run, place, opening, owned, left))


async def _take(
    run: Run, place: Place, opening: tuple[Record, ...], owned: Owned, left: asyncio.Event
) -> RunCause | None:
    conversation = place.conversation
    turned_down: str | None = None
    waits = place.busy in ("queue", "steer")
    while True:
        if waits:
            run.begin()  # should it get the conversation now, its time begins here
        left.clear()  # before it is looked, so that whoever leaves after that is noticed
        error = await _claim(run, place, conversation, opening, owned)
        if error is None:
            return None
        if not isinstance(error, ConversationBusy):
            return ConversationFailed(error)
        if place.busy == "reject":
            return error
        if place.busy == "steer":
            told = await _steer(run, place, error, opening)
            if told is not None and (told is not error or error.run == turned_down or error.state == "suspended"):
                return told
            # The run is about to end, or has just begun: then it takes commands, or the conversation, in a moment.
            turned_down = None if told is None else error.run
        if waits:
            run.wait()
            await _set_or_time(left, run.prepared.clock)
            continue
        conversation = run.prepared.ids.new("conversation")
        forked = await place.conversations.fork(place.conversation, conversation, principal=place.principal)
        if isinstance(forked, Failure):
            return ConversationFailed(forked.failure())


async def _set_or_time(left: asyncio.Event, clock: Clock) -> None:
    alarm = clock.alarm(clock.monotonic() + _LOOK_AGAIN, left.set)
    try:
        await left.wait()
    finally:
        alarm.cancel()


async def _steer(run: Run, place: Place, busy: ConversationBusy, opening: tuple[Record, ...]) -> RunCause | None:
    """Give a run's input to the one that is active; None where that has ended, `busy` where it takes none."""
    steering = run.prepared.steering
    (said,) = [record for record in opening if isinstance(record, InputRecorded)]
    assert steering is not None, "the preflight has seen it"
    answer = await steering.submit(busy.run, said.text, id=run.id, author=said.author, principal=place.principal)
    admission(run, "steering", answer)
    if not isinstance(answer, Failure):
        return Steered(busy.conversation, busy.run, answer.unwrap())
    refused = answer.failure()
    if not isinstance(refused, SteeringClosed):
        return SteeringFailed(refused)
    return None if refused.why == "ended" else busy


async def _claim(
    run: Run, place: Place, conversation: str, opening: tuple[Record, ...], owned: Owned
) -> ConversationError | None:
    errors: list[ConversationError] = []

    async def claim() -> None:
        answer = await place.conversations.claim(conversation, run.id, principal=place.principal, opening=opening)
        if isinstance(answer, Failure):
            errors.append(answer.failure())
            return
        claimed = answer.unwrap()
        run.conversation = conversation
        run.journal = claimed.log
        run.transcript = Transcript(place.said.of(run.prepared.secrets, conversation, claimed.history))
        if run.emit is not None:
            run.emit.moved(conversation)
        if conversation != place.conversation:
            run.watched.moved(conversation)
        for repair in claimed.repairs:
            log().warning("a conversation was repaired", conversation=conversation, repair=repair)

    try:
        await owned(claim)
    except TimeoutError:  # the runtime is being closed; should it have the conversation, then for a lease only
        return StoreUnavailable("timeout", in_doubt=True)
    return errors[0] if errors else None
