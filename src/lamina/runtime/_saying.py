"""Speaking to a run that somebody else holds: through its conversation, whose row says which run is active."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import attrs
from returns.result import Failure, Result, Success

from lamina.audit import Audit, record_decision
from lamina.conversation import ConversationError, Conversations
from lamina.effect import Clock, Declaration, Handler, Ids, Requirement, SystemIds, Value, handler, tag_of
from lamina.redaction import Secrets
from lamina.steering import CommandKind, Receipt, Steering, SteeringClosed, SteeringError, check_command

if TYPE_CHECKING:
    from lamina.engine import Given
    from lamina.runtime._core import Core


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Said(Value):
    """What is said to a conversation's run.

    Attributes:
        id: The command's id; None for a new one.
        text: What is said.
        conversation: Where the run is.
        kind: When it goes in.
        author: Who says it.
        principal: Whose the conversation is.
    """

    id: str | None
    text: str = attrs.field(repr=False)
    conversation: str
    kind: CommandKind
    author: str | None
    principal: str | None


@attrs.frozen(eq=False)
class _Say(Handler[Any, Any, Any]):
    """What `rt.steer` asks for: of what a handler can, and what is used only where it is offered."""

    def declare(self) -> Declaration:
        """Add what is optional."""
        asked = super().declare()
        more = [Requirement(key, "rt.steer", self.where, optional=True) for key in (Secrets, Audit, Ids, Clock)]
        return attrs.evolve(asked, requirements=(*asked.requirements, *more))


@handler
async def _say(
    said: Said, steering: Steering, conversations: Conversations
) -> Result[Receipt, SteeringError | ConversationError]:
    """Find the active run, and give it what is said; what was admitted before is known also when that run has ended."""
    assert said.id is not None, "it has got one"
    if (refused := check_command(said.id, said.text, said.author, said.kind)) is not None:
        return Failure(refused)
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
        known = await _known(said, said.id, steering)
        if known is not None:
            return Success(known)
    return Failure(answer.failure())


async def _known(said: Said, command_id: str, steering: Steering) -> Receipt | None:
    """Give the receipt of what was said before, and was not dropped."""
    looked = await steering.find(said.conversation, command_id, principal=said.principal)
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


SAY = _Say(_say.name, _say.where, _say.needs, _say.fn)


async def _prepared(core: Core) -> Callable[[Any, Given], Awaitable[Any]]:
    """Find what speaking needs, once for a runtime."""
    scope = await core.environment.admit(SAY)
    secrets = scope.value(Secrets) if scope.offers(Secrets) else None
    audit = scope.value(Audit) if scope.offers(Audit) else None
    clock = scope.value(Clock) if scope.offers(Clock) else None
    ids = scope.value(Ids) if scope.offers(Ids) else None
    hidden = secrets if isinstance(secrets, Secrets) else Secrets()
    named = ids if isinstance(ids, Ids) else SystemIds()

    async def speak(
        said: Said, steering: Steering, conversations: Conversations
    ) -> Result[Receipt, SteeringError | ConversationError]:
        text = hidden.redact_text(said.text) if isinstance(said.text, str) else said.text  # pyright: ignore[reportUnnecessaryIsInstance] - the port refuses what is no text
        command = attrs.evolve(said, id=named.new("command") if said.id is None else said.id, text=text)
        unsound = check_command(command.id, text, said.author, said.kind, secrets=hidden)
        answer: Result[Receipt, SteeringError | ConversationError] = (
            await SAY.fn(command, steering, conversations) if unsound is None else Failure(unsound)
        )
        refused = answer.failure() if isinstance(answer, Failure) else None
        record_decision(
            audit if isinstance(audit, Audit) else None,
            "steering",
            said.kind,
            "allowed" if refused is None else "refused",
            reason="" if refused is None else tag_of(refused),
            outcome="waits" if refused is None else "not-run",
            conversation=said.conversation,
            run=answer.unwrap().run if refused is None else None,
            by="runtime",
            principal=said.principal,
            secrets=hidden,
            clock=clock if isinstance(clock, Clock) else None,
            ids=named,
        )
        return answer

    compiled = core.handlers[SAY] = scope.compile(SAY.needs, speak)
    return compiled


class SpeaksToRuns:
    """A runtime in which somebody may speak to the run of a conversation."""

    __slots__ = ()

    _core: Core
    _given: Given

    async def steer(
        self,
        text: str,
        /,
        *,
        conversation: str,
        kind: CommandKind = "steering",
        author: str | None = None,
        id: str | None = None,  # noqa: A002 - it is the command's
        principal: str | None = None,
    ) -> Result[Receipt, SteeringError | ConversationError]:
        """Say something to the run that is active in a conversation, whoever started it, in whichever process.

        When to use: where you do not hold the run's handle, which has `steer` and `follow_up`. Another process's run is
        reached through `stored_steering()` over the same store.

        Args:
            text: What is said: 1 to 65,536 characters, not only blanks.
            conversation: Where the run is.
            kind: `steering` goes in before the next request to the model, `follow-up` where the run would stop.
            author: Who says it; None is the principal.
            id: The command's own id: the same command twice is one. None gives it a new one.
            principal: Whose the conversation is; for anybody else it is not there.

        Returns:
            A receipt; `SteeringClosed` where no run is active, or it takes none.

        Raises:
            ConstructionError: The runtime has no `Conversations`, or no `Steering`.
        """
        command = Said(
            id=id,
            text=text,
            conversation=conversation,
            kind=kind,
            author=principal if author is None else author,
            principal=principal,
        )
        core = self._core
        compiled = core.handlers.get(SAY) or await _prepared(core)
        answer: Result[Receipt, SteeringError | ConversationError] = await compiled(command, self._given)
        return answer
