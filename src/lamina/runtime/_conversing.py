"""Runs in conversations: one at a time, never interleaved, never lost (seed 004 §3; design §5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Generator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias, get_args

import attrs
from returns.result import Failure, Result, Success

from lamina.conversation import (
    AlreadyDecided,
    AppendConflict,
    ConversationBusy,
    ConversationError,
    Conversations,
    InputRecorded,
    InvalidId,
    Record,
    Resumed,
    RunLog,
    Transcript,
    check_clean,
    check_decision,
    check_id,
    check_principal,
)
from lamina.conversation import RunSuspended as SuspensionRecorded
from lamina.effect import Clock, ConstructionError, Problem, caller_where, log
from lamina.engine import (
    CleanHistories,
    ConversationFailed,
    Decisions,
    Run,
    RunCause,
    RunSuspended,
    Steered,
    SteeringFailed,
    Waiting,
    admission,
    reopen,
    restore,
    rulings,
)
from lamina.model import ModelResponse
from lamina.redaction import Secrets
from lamina.steering import SteeringClosed
from lamina.store import StoreUnavailable

Busy: TypeAlias = Literal["reject", "queue", "steer", "fork"]
"""What a run does whose conversation another run has: fail with `ConversationBusy`, wait for it, give it the input, or
go its own way."""
_BUSY = get_args(Busy)
Owned: TypeAlias = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]

_LOOK_AGAIN = 0.25
"""Seconds between two looks at a conversation that a run of another process has."""


@attrs.define(eq=False)
class Lane:
    """The runs of this process that wait for one conversation, first come, first served."""

    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    users: int = 0


class Lanes:
    """The lanes of a runtime, and who waits for a conversation; what nobody uses is not kept."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str | None, str], Lane] = {}
        self._watching: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def watching(self, conversation: str) -> Generator[asyncio.Event]:
        """Give an event that is set whenever a run of this runtime leaves a conversation."""
        left = asyncio.Event()
        watching = self._watching.setdefault(conversation, set())
        watching.add(left)
        try:
            yield left
        finally:
            watching.discard(left)
            if not watching and self._watching.get(conversation) is watching:
                del self._watching[conversation]

    def left(self, run: Run) -> None:
        """Tell whoever waits for a run's conversation that the run has left it, if it ever had it."""
        if run.journal is not None and run.conversation is not None:
            for left in self._watching.get(run.conversation, ()):
                left.set()

    async def through(
        self, principal: str | None, conversation: str, work: Callable[[], Awaitable[RunCause | None]]
    ) -> RunCause | None:
        """Do something about a conversation when everybody who came before has done theirs."""
        key = (principal, conversation)
        lane = self._lanes.setdefault(key, Lane())
        lane.users += 1
        try:
            async with lane.lock:
                return await work()
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[key]


def check_busy(busy: object) -> None:
    """Refuse what is no way to be busy: a word that is misspelt must not make a run go some other way.

    Raises:
        ConstructionError: It is none of `Busy`.
    """
    if busy not in _BUSY:
        line = f"busy is one of {', '.join(_BUSY)}  {caller_where()}"
        raise ConstructionError([Problem("BUSY", repr(busy)[:80], (line,))])


@attrs.frozen(eq=False, kw_only=True)
class Place:
    """Where a run is to be: a conversation, on whose behalf, and what happens if it is in use.

    Attributes:
        said: What was said in conversations, as far as it is known to hold no secret.
        refused: Why it can be no place for a run; None where it can.
    """

    conversations: Conversations
    conversation: str
    principal: str | None
    busy: Busy
    said: CleanHistories
    refused: InvalidId | None = None

    def without(self, secrets: Secrets) -> Place:
        """Refuse a place that is named with a secret, for names are in every record and event, and in what is shown."""
        refused = check_clean("conversation", self.conversation, secrets)
        refused = refused or check_clean("principal", self.principal, secrets)
        if refused is None:
            return self
        return attrs.evolve(self, conversation=secrets.redact_text(self.conversation), refused=refused)


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
        return await lanes.through(place.principal, place.conversation, lambda: _take(run, place, opening, owned, left))


async def _take(
    run: Run, place: Place, opening: tuple[Record, ...], owned: Owned, left: asyncio.Event
) -> RunCause | None:
    conversation = place.conversation
    turned_down: str | None = None
    while True:
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
        if place.busy in ("queue", "steer"):
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


@attrs.frozen(eq=False)
class TakenUp:
    """A suspended run that goes on here.

    Attributes:
        resumed: What was suspended.
        given: The run's input.
        response: The response whose batch is open again.
    """

    resumed: Resumed
    given: object
    response: ModelResponse


async def take_up(
    run: Run, place: Place, suspended: RunSuspended, decisions: Decisions, owned: Owned
) -> Result[TakenUp, RunCause]:
    """Take a suspended run up again, if everything that it waits for is decided; exactly one does."""
    if (refused := _no_decisions(decisions)) is not None:
        return Failure(ConversationFailed(refused))
    seen = await place.conversations.suspended(suspended.conversation, suspended.run, principal=place.principal)
    if isinstance(seen, Failure):
        return Failure(_cause(seen.failure()))
    found = seen.unwrap()
    over = AlreadyDecided(suspended.conversation, suspended.run)
    if found.turn != suspended.turn:  # what is decided here was asked by an earlier suspension of the run
        return Failure(over)
    if waiting := undecided(found, rulings(found, decisions, suspended.shown(), run.prepared.clock.now())):
        run.conversation = suspended.conversation
        still = RunSuspended(suspended.conversation, suspended.run, suspended.agent, suspended.turn, waiting)
        return Failure(still)
    restore(run, found)  # raises where that cannot be done, and then the run stays suspended
    answers: list[Result[TakenUp, RunCause]] = []

    async def resume() -> None:
        answer = await place.conversations.resume(suspended.conversation, suspended.run, principal=place.principal)
        if isinstance(answer, Failure):
            answers.append(Failure(_cause(answer.failure())))
            return
        resumed = answer.unwrap()
        if resumed.turn != suspended.turn or run.ended is not None:
            # It was resumed, and suspended again, since it was looked at; or nobody waits for this any more.
            again = SuspensionRecorded(suspended.run, resumed.turn, resumed.state, resumed.nth + 1)
            await resumed.claim.log.append(again)
            answers.append(Failure(over))
            return
        run.conversation = suspended.conversation
        given = restore(run, resumed)
        answers.append(Success(TakenUp(resumed, given, reopen(run, resumed))))

    run.journal = None  # until it has the conversation, it keeps nothing
    try:
        await owned(resume)
    except TimeoutError:  # the runtime is being closed
        return Failure(ConversationFailed(StoreUnavailable("timeout", in_doubt=True)))
    return answers[0]


def _no_decisions(given: Decisions) -> InvalidId | None:
    """Say what of the decisions is none: nothing is taken up that could not go on with them."""
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types anything comes
        return InvalidId("decision", "decisions are given by call id")
    for decision in given.values():
        if (refused := check_decision(decision)) is not None:
            return refused
    return None


def undecided(found: Resumed, decided: Container[str]) -> tuple[Waiting, ...]:
    """Give what the log says is still to be decided, whatever a reference says."""
    return tuple(
        [
            Waiting(
                call=call,
                tool=asked.request.tool,
                approval=asked.request.id,
                summary=asked.request.summary,
                arguments_digest=asked.request.arguments_digest,
            )
            for call, asked in found.requests.items()
            if call not in decided and call not in found.outcomes
        ]
    )


def _cause(error: ConversationError | AlreadyDecided) -> RunCause:
    return error if isinstance(error, AlreadyDecided | ConversationBusy) else ConversationFailed(error)


class Keeper:
    """Renews a run's lease while it waits for something that takes longer than a lease.

    Appending renews, too, so that a run which goes on has no task for this.
    """

    __slots__ = ("_clock", "_run", "_task")

    def __init__(self, run: Run, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Renew from now on, where the conversation has leases."""
        journal = self._run.journal
        if isinstance(journal, RunLog) and journal.renew_within != float("inf"):
            self._task = asyncio.create_task(self._keep(journal), name=f"lamina lease {self._run.id}")

    async def end(self) -> None:
        """Stop, and wait until it has stopped."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _keep(self, journal: RunLog) -> None:
        while True:
            await self._clock.sleep(journal.renew_within)
            renewed = await journal.renew()
            if isinstance(renewed, Failure):
                failure = renewed.failure()
                log().warning("a lease was not renewed", run=self._run.id, why=str(failure))
                if isinstance(failure.cause, AppendConflict):  # another has the conversation
                    self._run.journal_failure = self._run.journal_failure or failure
                    return
