"""The port of steering: what is said to a run while it is active, as input with an id, a time and an author.

SteeringError
  SteeringClosed   no run is active, or it takes none      when one is; send it as an ordinary input
  SteeringFull     as many wait as may                     when the run took some
  CommandRefused   a text that cannot be taken             never
  CommandConflict  another command has the id              under another id
  InvalidId        an id or an author that cannot be one   never
  StoreError       the database's own
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import attrs
from returns.result import Result

from lamina.conversation import InvalidId
from lamina.effect import Value, tagged
from lamina.store import StoreError
from lamina.telemetry import observed

CommandKind: TypeAlias = Literal["steering", "follow-up"]
CommandState: TypeAlias = Literal["queued", "delivered", "dropped"]
Closed: TypeAlias = Literal["no run", "takes none", "suspended", "ended"]

MOST_COMMANDS = 64
"""How many commands may wait for one run, unless the service is told otherwise."""
LONGEST_TEXT = 65_536
"""How many characters a command may have."""

_CLOSED: dict[Closed, str] = {
    "no run": "no run is active",
    "takes none": "the run takes none",
    "suspended": "the run is suspended",
    "ended": "the run has ended, or is about to",
}


@tagged("Nothing was added to a run: {text}.")
class SteeringClosed:
    """Steering is accepted only while a run is active, and only by one whose policy says so; nothing is kept.

    Attributes:
        run: The run; None where the conversation has none.
        why: What is so. A run that is `suspended` takes commands again when it goes on; one that has `ended` never.
    """

    run: str | None
    why: Closed

    @property
    def text(self) -> str:
        """The reason in words."""
        return _CLOSED[self.why]


@tagged("Nothing was added to the run {run}: {limit} commands wait for it.")
class SteeringFull:
    """The run has not got to what was said to it; nothing is kept.

    Attributes:
        run: The run's id.
        limit: How many may wait.
    """

    run: str
    limit: int


@tagged("The command is refused: {why}.")
class CommandRefused:
    """A text that cannot be an input.

    Attributes:
        why: What is wrong; the text is not quoted.
    """

    why: str


@tagged("There is another command {command} already.")
class CommandConflict:
    """The id belongs to something else that was said in the conversation; nothing is kept.

    Attributes:
        command: The id.
    """

    command: str


SteeringError: TypeAlias = SteeringClosed | SteeringFull | CommandRefused | CommandConflict | InvalidId | StoreError
"""Every reason for which a command is not taken; nothing of it is kept then."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Command(Value):
    """One thing that was said to an active run.

    Attributes:
        id: Its own id; within a conversation no other command has it.
        run: The run that it is for.
        conversation: The conversation; None for a run without one.
        kind: `steering` goes in before the next request to the model, `follow-up` where the run would stop.
        author: Who says it; None where nobody said.
        text: What is said.
        created: When it was admitted, UTC. Time orders nothing.
    """

    id: str
    run: str
    conversation: str | None
    kind: CommandKind
    author: str | None
    text: str = attrs.field(repr=False)
    created: datetime


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Receipt(Value):
    """A command was admitted.

    Attributes:
        command: Its id.
        run: The run that it is for.
        conversation: The conversation; None for a run without one.
        position: Its place among all commands of the run, from 1.
        durable: Whether the command outlives this process.
    """

    command: str
    run: str
    conversation: str | None
    position: int
    durable: bool


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Placed(Value):
    """A command, and what became of it.

    Attributes:
        command: The command.
        position: Its place among all commands of the run, from 1.
        state: `queued` until the run takes it or ends, `delivered` once it is in the history, `dropped` where the run
            ended before.
    """

    command: Command
    position: int
    state: CommandState


_ON_RUN = ("open", "submit", "waiting", "delivered", "close", "pause", "end", "commands")


@observed("steering", resources={**dict.fromkeys(_ON_RUN, "run"), "find": "conversation"})
class Steering(ABC):
    """Keeps what is said to active runs until they take it (seed 004 §4; RUN-014, RUN-015).

    When to use: an agent with `steering=True` in its policy needs one. Offer `memory_steering()` where everybody who
    speaks to a run is in its process, `stored_steering()` over a store for anything else.

    Everything that changes a run's queue happens one after the other, in whichever process: a command is admitted
    while the queue is open, or it is refused, and a queue is closed either when nothing waits in it or by giving back
    what does. So nothing that was admitted is lost, also where its run ends at the same moment.

    Attributes:
        durable: Whether a command outlives this process.
        limit: How many commands may wait for one run.
    """

    durable: bool
    limit: int

    @abstractmethod
    async def open(
        self, run: str, *, conversation: str | None = None, principal: str | None = None
    ) -> Result[None, SteeringError]:
        """Take commands for a run from now on; for one that was paused, with those that waited before.

        What still waits for other runs of the conversation is dropped: none of them is active any more.

        Args:
            run: The run's id.
            conversation: Where it is; None for a run without one.
            principal: Whose the run is; for anybody else it is not there.

        Returns:
            `SteeringClosed` where the run's queue was closed before.
        """

    @abstractmethod
    async def submit(
        self,
        run: str,
        text: str,
        *,
        id: str,  # noqa: A002 - it is the command's
        kind: CommandKind = "steering",
        author: str | None = None,
        principal: str | None = None,
    ) -> Result[Receipt, SteeringError]:
        """Admit a command.

        The same command twice is one, and gives the same receipt, also when it was delivered meanwhile; so a caller
        that got no answer asks again. A command that was dropped is not admitted again under its id.

        Args:
            run: The run that it is for.
            text: What is said: 1 to 65,536 characters, not only blanks.
            id: The command's id; see `check_command`.
            kind: When it goes in.
            author: Who says it.
            principal: Whose the run is.
        """

    @abstractmethod
    async def waiting(self, run: str, kind: CommandKind, limit: int) -> Result[tuple[Command, ...], SteeringError]:
        """Give the next commands of a kind that wait for a run, oldest first; they go on waiting."""

    @abstractmethod
    async def delivered(self, run: str, commands: Sequence[Command]) -> Result[None, SteeringError]:
        """Note that commands are in the run's history, so that they do not wait any more.

        Returns:
            `SteeringClosed` where one of them does not wait any more, as another run has the conversation.
        """

    @abstractmethod
    async def close(self, run: str) -> Result[bool, SteeringError]:
        """Take no more commands for a run, if none waits.

        Returns:
            False where something waits, and then the queue stays open. `SteeringClosed` where it was closed before.
        """

    @abstractmethod
    async def pause(self, run: str) -> Result[tuple[Command, ...], SteeringError]:
        """Take no more commands for a run that is to be suspended, and keep what waits; gives it."""

    @abstractmethod
    async def end(self, run: str, delivered: Sequence[Command] = ()) -> Result[tuple[Command, ...], SteeringError]:
        """Take no more commands for a run, whatever waits.

        Args:
            run: The run's id.
            delivered: Commands that are in the history, and may not have been noted as such.

        Returns:
            All commands of the run that were admitted and will not be delivered: they are dropped.
        """

    @abstractmethod
    async def find(
        self,
        conversation: str,
        id: str,  # noqa: A002 - it is the command's
        *,
        principal: str | None = None,
    ) -> Result[Placed | None, SteeringError]:
        """Give a command of a conversation by its id; None where there is none, or it is another principal's."""

    @abstractmethod
    async def commands(self, run: str, *, principal: str | None = None) -> Result[tuple[Placed, ...], SteeringError]:
        """Give what was said to a run, in the order of its admission; nothing where the run is another principal's."""
