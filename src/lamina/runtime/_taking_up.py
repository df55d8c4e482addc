"""Taking a suspended run up again: exactly one does, and only with decisions (seed 004 §5)."""

from __future__ import annotations

from collections.abc import Container, Mapping

import attrs
from returns.result import Failure, Result, Success

from lamina.conversation import AlreadyDecided, ConversationBusy, ConversationError, InvalidId, Resumed, check_decision
from lamina.conversation import RunSuspended as SuspensionRecorded
from lamina.engine import ConversationFailed, Decisions, Run, RunCause, RunSuspended, Waiting, reopen, restore, rulings
from lamina.model import ModelResponse
from lamina.runtime._conversing import Owned
from lamina.runtime._place import Place
from lamina.store import StoreUnavailable


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
