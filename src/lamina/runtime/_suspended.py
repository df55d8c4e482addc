"""The reference to a suspended run, made of the store alone (seed 004 §5)."""

from __future__ import annotations

from returns.result import Failure, Result, Success

from lamina.conversation import AlreadyDecided, ConversationError, Conversations, NotSuspended
from lamina.effect import Clock
from lamina.engine import RunSuspended, rulings
from lamina.runtime._taking_up import undecided


async def suspended_in(
    conversations: Conversations, conversation: str, principal: str | None, agent: str, clock: Clock
) -> Result[RunSuspended, ConversationError | NotSuspended]:
    """Give the reference of the run that a conversation waits for; see `Runtime.suspended`.

    Args:
        conversations: Where the conversation is.
        conversation: Its id.
        principal: Whose it is.
        agent: What to take for the run's agent, where the run did not record one.
        clock: What requests expire by.
    """
    found = await conversations.get(conversation, principal=principal)
    if isinstance(found, Failure):
        return Failure(found.failure())
    summary = found.unwrap()
    if summary.run is None or summary.state != "suspended":
        return Failure(NotSuspended(conversation))
    seen = await conversations.suspended(conversation, summary.run, principal=principal)
    if isinstance(seen, Failure):
        error = seen.failure()
        # It was resumed since the look at it.
        return Failure(NotSuspended(conversation) if isinstance(error, AlreadyDecided) else error)
    resumed = seen.unwrap()
    waiting = undecided(resumed, rulings(resumed, {}, {}, clock.now()))
    return Success(RunSuspended(conversation, summary.run, resumed.agent or agent, resumed.turn, waiting))
