"""`--session`: a run in a conversation that is there the next time, and a suspended one that goes on."""

from __future__ import annotations

import shlex
from typing import Any, Literal, TypeAlias

import attrs
from returns.result import Failure

from lamina.approval import Approved
from lamina.cli._choose import AnyBinding
from lamina.cli._exits import Refused, UsageError
from lamina.cli._kept import Kept, check_clean_names, kept, known_secrets, refusal
from lamina.cli._load import AnyApp
from lamina.cli._output import Observed
from lamina.cli._place import StorePlace, next_for
from lamina.cli._plain import printable
from lamina.conversation import (
    AlreadyDecided,
    ConversationBusy,
    Conversations,
    JournalFailed,
    Summary,
    stored_conversations,
)
from lamina.effect import message_of, tag_of
from lamina.engine import EventsMissed, RunHandle, RunSuspended, Steered, Waiting
from lamina.session import Session, SessionStore, stored_sessions
from lamina.steering import Steering, stored_steering
from lamina.store import Store

Busy: TypeAlias = Literal["reject", "queue", "fork", "steer"]


@attrs.frozen
class SessionChoice:
    """What the command line says of a session.

    Attributes:
        name: Its id.
        principal: Whose it is.
        busy: What to do while another run has its conversation.
        place: Where it is kept; None where the application keeps its own.
        command: The command up to `--session`, as it has to be typed to go on.
        has_secrets: Whether the application knows what must not be in a name.
    """

    name: str
    principal: str | None
    busy: Busy
    place: StorePlace | None
    command: str
    has_secrets: bool = False

    @property
    def store_words(self) -> str:
        """What another command has to say to find the same store."""
        return " --store WHERE-THE-APPLICATION-KEEPS-IT" if self.place is None else self.place.words

    @property
    def principal_words(self) -> str:
        """What another command has to say to be the same principal."""
        return "" if self.principal is None else f" --principal {shlex.quote(self.principal)}"

    def go_on(self, session: str | None = None) -> str:
        """Give the command that goes on with a session, but for what is new."""
        words = "" if self.place is None else self.place.words
        return f"{self.command} --session {shlex.quote(session or self.name)}{words}{self.principal_words}"


def keeping(app: AnyApp, target: str, place: StorePlace) -> tuple[AnyApp, StorePlace | None]:
    """Give an application what sessions need: its own services where it has them, else a store of the command's.

    Returns:
        The application, and the place of its store; None where it is the application's own.

    Raises:
        UsageError: It keeps its own conversations and a store was named, or it keeps them where no session can be.
    """
    offered = app.plan().exports
    own = Conversations in offered or Store in offered
    if Steering not in offered and (Store in offered or not own):
        app = app.provide(stored_steering())  # by which another process is reached
    if not own:
        place.must_be_usable()
        return app.provide(place.layer()).program(kept), place
    if place.named:
        raise UsageError(f"{target} keeps its own conversations, so --store does not go with it.", "Leave --store out.")
    if SessionStore not in offered and Store not in offered:
        raise UsageError(
            f"{target} has Conversations of its own, and neither a SessionStore nor a Store.",
            "Add .provide(stored_sessions()) and its Store to the application.",
        )
    if Conversations not in offered:
        app = app.provide(stored_conversations())
    if SessionStore not in offered:
        app = app.provide(stored_sessions())
    return app.program(kept), None


class InSession:
    """Conducts a run in a session; see `_execute.Conduct`."""

    def __init__(self, choice: SessionChoice, binding: AnyBinding, given: object) -> None:
        self.choice = choice
        self._binding = binding
        self._given = given
        self._conversation = ""
        self._kept: Kept | None = None
        self._session = choice.name

    async def begin(self, runtime: Any) -> tuple[RunHandle[Any], tuple[str, ...]]:  # Any: whatever application it is
        """Find or make the session, and start a run in its last conversation."""
        choice = self.choice
        if choice.has_secrets:
            check_clean_names(await runtime.run(known_secrets, None), choice.principal, choice.name)
        services = self._kept = attrs.evolve(await runtime.run(kept, None), principal=choice.principal)
        session = await services.find_or_make(choice.name)
        if not session.conversations:
            session = await _give_conversation(services, session)
        self._conversation = session.conversations[-1]
        found = await services.summary(self._conversation)
        handle: RunHandle[Any] = runtime.start(
            self._binding,
            self._given,
            conversation=self._conversation,
            principal=choice.principal,
            busy=choice.busy,
        )
        return handle, _notes(choice, services, found)

    async def observe(self, event: Observed) -> str | None:
        """Make a session for a run that went its own way, as soon as it has; give what is to be said of it."""
        if isinstance(event, EventsMissed) or event.conversation in (None, self._conversation):
            return None
        services, moved = self._kept, event.conversation
        assert services is not None
        self._conversation = moved or ""
        try:
            self._session = await services.make_beside(self.choice.name, self._conversation)
        except UsageError as refused:  # no reason to end a run that is on its way
            return f"The run is in the conversation {self._conversation}, which no session has: {refused.message}"
        return f"The session {self.choice.name} is in use; this is the session {self._session}, a fork of it."

    def steps(self, cause: object) -> tuple[str, ...]:
        """Give the commands that go on after a run that ended without an answer."""
        return steps_after(self.choice, self._session, cause)


class Resuming:
    """Conducts the suspended run of a session; see `_execute.Conduct`.

    Args:
        choice: The session.
        app: The application.
        binding: The agent; None takes the one that the run was begun with.
        allow: Whether everything that waits is approved.
    """

    def __init__(self, choice: SessionChoice, app: AnyApp, binding: AnyBinding | None, *, allow: bool) -> None:
        self.choice = choice
        self._app = app
        self._binding = binding
        self._allow = allow

    async def begin(self, runtime: Any) -> tuple[RunHandle[Any], tuple[str, ...]]:  # Any: whatever application it is
        """Find what is suspended, and go on with it if everything is decided."""
        choice = self.choice
        services: Kept = attrs.evolve(await runtime.run(kept, None), principal=choice.principal)
        session = await services.find(choice.name)
        conversation, run = await _suspended(services, session)
        looked = await services.conversations.suspended(conversation, run, principal=choice.principal)
        if isinstance(looked, Failure):
            raise refusal(looked.failure(), tag=True)
        found = looked.unwrap()
        binding = self._binding or self._app.agents.get(found.agent or "")
        if binding is None:
            raise UsageError(
                f"The run was begun with the agent {printable(found.agent or '')}, which the application does not have."
            )
        open_ = [each for each in found.requests if each not in found.decisions and each not in found.outcomes]
        waiting = [
            Waiting(
                call=call,
                tool=found.requests[call].request.tool,
                approval=found.requests[call].request.id,
                summary=found.requests[call].request.summary,
                arguments_digest=found.requests[call].request.arguments_digest,
            )
            for call in open_
        ]
        agent = binding.agent.id if found.agent is None else found.agent
        if agent != binding.agent.id:
            raise UsageError(
                f"The suspended run is of the agent {printable(agent)}, not {printable(binding.agent.id)}.",
                "Leave the agent out.",
            )
        reference = RunSuspended(conversation, run, agent, found.turn, tuple(waiting))
        decisions = {call: Approved("--yes") for call in open_} if self._allow else {}
        handle: RunHandle[Any] = runtime.start_resumed(binding, reference, decisions, principal=choice.principal)
        how = "waits for a decision still" if waiting and not self._allow else f"goes on with turn {found.turn}"
        return handle, (f"The suspended run of the session {choice.name} {how}.",)

    async def observe(self, event: Observed) -> str | None:
        """Say nothing: a run that is resumed stays where it is."""

    def steps(self, cause: object) -> tuple[str, ...]:
        """Give the commands that go on after a run that ended without an answer."""
        return steps_after(self.choice, self.choice.name, cause)


def steps_after(choice: SessionChoice, session: str, cause: object) -> tuple[str, ...]:
    """Give the commands to type next, each ready to be copied."""
    words = f"{choice.store_words}{choice.principal_words}"
    match cause:
        case RunSuspended():
            approve = [f"lamina approvals approve {shlex.quote(each.approval)}{words}" for each in cause.waiting]
            return (*approve, f"{choice.go_on(session)} --resume")
        case ConversationBusy(state="suspended"):
            return (f"lamina approvals list{words}", f"{choice.go_on()} --resume", f'{choice.go_on()} --busy fork "…"')
        case ConversationBusy():
            # A comment, so that the line can be copied as it is.
            until = (
                "" if cause.until is None else f"  # if its process is gone, it waits until {cause.until:%H:%M:%S} UTC"
            )
            return (f'{choice.go_on()} --busy queue "…"{until}', f'{choice.go_on()} --busy fork "…"')
        case JournalFailed():
            return next_for(cause.cause)
        case AlreadyDecided() | Steered():
            return (f"lamina sessions show {shlex.quote(session)}{words}",)
        case _:
            return ()


async def _give_conversation(services: Kept, session: Session) -> Session:
    from lamina.session import SessionPatch

    patch = SessionPatch(add=(session.id,))
    changed = await services.sessions.update(session.id, patch, session.revision, principal=services.principal)
    return await services.find(session.id) if isinstance(changed, Failure) else changed.unwrap()


def _notes(choice: SessionChoice, services: Kept, found: Summary | None) -> tuple[str, ...]:
    notes: list[str] = []
    if choice.place is not None:
        if found is None:
            how = "is new"
        elif found.run is not None:
            how = "is in use, so this run waits" if choice.busy == "queue" else "is in use"
        else:
            how = f"goes on after {found.tail.seq} records"
        notes.append(f"The session {choice.name} {how}; it is kept in {choice.place.title}.")
    elif not services.conversations.durable:
        notes.append("The application's own store ends with this process: the session will not be there again.")
    return tuple(notes)


async def _suspended(services: Kept, session: Session) -> tuple[str, str]:
    """Give the conversation and the run that wait: of the session's conversations, the latest that does.

    Raises:
        Refused: Nothing of the session waits.
    """
    for conversation in reversed(session.conversations):
        found = await services.summary(conversation)
        if found is not None and found.run is not None and found.state == "suspended":
            return conversation, found.run
    for conversation in reversed(session.conversations):
        found = await services.summary(conversation)
        if found is not None and found.run is not None:
            raise Refused(
                message_of(ConversationBusy(conversation, found.run, "active")),
                "It waits for nobody. If its process was killed, the next run takes the session over in half a minute;",
                "with --busy queue that run waits for it.",
            )
        if (run := await services.last_suspended(conversation)) is not None:
            over = AlreadyDecided(conversation, run)
            raise Refused(f"{tag_of(over)}: {message_of(over)}", "It went on already, or was ended.")
    raise Refused(f"No run of the session {printable(session.id)} was ever suspended.", "Leave --resume out.")
