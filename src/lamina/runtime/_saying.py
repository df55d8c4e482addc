"""Speaking to a run that somebody else holds: through its conversation, whose row says which run is active."""

from __future__ import annotations

import attrs
from returns.result import Failure, Result, Success

from lamina.conversation import ConversationError, Conversations
from lamina.effect import Value, handler
from lamina.steering import CommandKind, Receipt, Steering, SteeringClosed, SteeringError


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Said(Value):
    """What is said to a conversation's run.

    Attributes:
        id: The command's id.
        text: What is said.
        conversation: Where the run is.
        kind: When it goes in.
        author: Who says it.
        principal: Whose the conversation is.
    """

    id: str
    text: str = attrs.field(repr=False)
    conversation: str
    kind: CommandKind
    author: str | None
    principal: str | None


@handler
async def say(
    said: Said, steering: Steering, conversations: Conversations
) -> Result[Receipt, SteeringError | ConversationError]:
    """Find the active run, and give it what is said; what was admitted before is known also when that run has ended."""
    got = await conversations.get(said.conversation, principal=said.principal)
    if isinstance(got, Failure):
        return Failure(got.failure())
    found = got.unwrap()
    if found.run is None:
        answer: Result[Receipt, SteeringError] = Failure(SteeringClosed(None, "no run"))
    elif found.state == "suspended":
        answer = Failure(SteeringClosed(found.run, "suspended"))
    else:
        answer = await steering.submit(
            found.run, said.text, id=said.id, kind=said.kind, author=said.author, principal=said.principal
        )
    if not isinstance(answer, Failure):
        return Success(answer.unwrap())
    if isinstance(answer.failure(), SteeringClosed):
        known = await _known(said, steering)
        if known is not None:
            return Success(known)
    return Failure(answer.failure())


async def _known(said: Said, steering: Steering) -> Receipt | None:
    """Give the receipt of what was said before, and was not dropped."""
    looked = await steering.find(said.conversation, said.id, principal=said.principal)
    placed = None if isinstance(looked, Failure) else looked.unwrap()
    if placed is None or placed.state == "dropped":
        return None
    command = placed.command
    if (command.kind, command.author, command.text) != (said.kind, said.author, said.text):
        return None
    return Receipt(
        command=command.id,
        run=command.run,
        conversation=command.conversation,
        position=placed.position,
        durable=steering.durable,
    )
