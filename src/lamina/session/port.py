"""The port of sessions: named records with a revision, so that of two who change one exactly one does (seed 004 §3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import TypeAlias

import attrs
from returns.result import Result

from lamina.conversation import ConversationError, InvalidId, NotAllowed
from lamina.effect import Value, tagged
from lamina.schema import JsonValue
from lamina.store import StoreError
from lamina.telemetry import observed

LARGEST_METADATA = 1 << 20
MOST_CONVERSATIONS = 1_024


@tagged("The session {session} was expected at revision {expected}, and is at {actual}.")
class SessionConflict:
    """Somebody else changed the session meanwhile; nothing was written.

    Attributes:
        session: Its id.
        expected: The revision that the change was made for.
        actual: The revision that the session has.
    """

    session: str
    expected: int
    actual: int


@tagged("There is a session {session} already.")
class SessionExists:
    """The id is taken, by whomever."""

    session: str


@tagged("The session {session} is closed.")
class SessionClosed:
    """A closed session is still read, and never changed."""

    session: str


@tagged("The change of the session {session} is refused: {why}.")
class SessionRefused:
    """Metadata that cannot be kept, or too many conversations; nothing was written.

    Attributes:
        session: The session's id.
        why: What is wrong, without any content.
    """

    session: str
    why: str


SessionError: TypeAlias = InvalidId | NotAllowed | SessionExists | SessionClosed | SessionRefused | StoreError
"""Every reason, apart from a conflict, for which a session does not do what it was asked."""


@attrs.frozen(eq=False, repr=False)
class Metadata(Value):
    """What an application keeps with a session, and the version of its form; see `MetadataForm`.

    Never the only place of accepted work: that is in the conversations.

    Attributes:
        version: The version of the form, from 1.
        value: The encoded value.
    """

    version: int = 1
    value: JsonValue = attrs.field(default=None, hash=False, repr=lambda _: "...")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Session(Value):
    """A session as it was at one revision.

    Attributes:
        id: Its id.
        principal: Whose it is.
        revision: How often it was written, from 1: what a change has to name.
        metadata: What the application keeps with it.
        conversations: The conversations that it points to, oldest first.
        created: When it was made, UTC.
        updated: When it was changed last, UTC.
        closed: Whether it takes no more changes.
    """

    id: str
    principal: str | None
    revision: int
    metadata: Metadata
    conversations: tuple[str, ...]
    created: datetime
    updated: datetime
    closed: bool


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SessionPatch(Value):
    """What to change.

    Attributes:
        metadata: The new metadata, whole; None leaves it.
        add: Conversations to point to from now on, after the others; one that is there already stays where it is.
        remove: Conversations to point to no more; they are not changed themselves.

    Example:
        >>> SessionPatch(add=("support-7",)).add
        ('support-7',)
    """

    metadata: Metadata | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


_ON_ONE = ("create", "get", "update", "close", "fork_conversation")


@observed("sessions", resources=dict.fromkeys(_ON_ONE, "session"))
class SessionStore(ABC):
    """Manages named sessions (seed 004 §3).

    When to use: an application that has a person come back to several conversations. Offer it with
    `stored_sessions()`. A session belongs to the principal that it was made with; for anybody else it is not there.

    Attributes:
        durable: Whether what was written is there after the process has ended.
    """

    durable: bool

    @abstractmethod
    async def create(
        self,
        session: str,
        *,
        metadata: Metadata = Metadata(),
        conversations: tuple[str, ...] = (),
        principal: str | None = None,
    ) -> Result[Session, SessionError]:
        """Make a session, at revision 1.

        Args:
            session: Its id; ids are those of conversations.
            metadata: What to keep with it.
            conversations: What it points to; they need not be there yet.
            principal: Whose it is.
        """

    @abstractmethod
    async def get(self, session: str, *, principal: str | None = None) -> Result[Session | None, SessionError]:
        """Give a session; None where there is none of that id, or it is another principal's."""

    @abstractmethod
    async def update(
        self, session: str, patch: SessionPatch, expected_revision: int, *, principal: str | None = None
    ) -> Result[Session, SessionConflict | SessionError]:
        """Change a session that is still at a revision; of any number that try for one exactly one does."""

    @abstractmethod
    async def close(
        self, session: str, expected_revision: int, *, principal: str | None = None
    ) -> Result[Session, SessionConflict | SessionError]:
        """End a session: it takes no more changes. Its conversations stay as they are."""

    @abstractmethod
    async def list(
        self, *, principal: str | None = None, after: str = "", limit: int = 100
    ) -> Result[tuple[Session, ...], SessionError]:
        """Give a page of a principal's sessions, by id: those after one, at most 1,024."""

    @abstractmethod
    async def fork_conversation(
        self,
        session: str,
        conversation: str,
        new: str,
        expected_revision: int,
        *,
        at: int | None = None,
        principal: str | None = None,
    ) -> Result[Session, SessionConflict | SessionError | ConversationError]:
        """Fork a conversation of the session at a position, and let the session point to the fork as well.

        The fork is made first. Where the session is then refused, the same call once more with the right revision
        finds the fork and adds it.

        Args:
            session: The session.
            conversation: One of its conversations.
            new: The fork's id.
            expected_revision: The revision that the session has.
            at: As in `Conversations.fork`.
            principal: Whose all of them are.
        """
