"""What a store keeps: its sessions and conversations, with words for everything that it may say no to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

import attrs
from returns.result import Failure, Result

from lamina.approval import ApprovalRequest
from lamina.cli._exits import Refused, UsageError
from lamina.cli._place import STORE_ERRORS, next_for
from lamina.cli._plain import printable
from lamina.conversation import (
    Conversations,
    Entry,
    InvalidId,
    RunSuspended,
    Summary,
    check_clean,
    check_id,
    check_principal,
)
from lamina.effect import handler, message_of, tag_of
from lamina.redaction import Secrets
from lamina.session import Session, SessionExists, SessionStore

T = TypeVar("T")
PAGE = 256


@attrs.frozen
class Kept:
    """The two services, for one principal.

    Attributes:
        sessions: The sessions.
        conversations: The conversations.
        principal: Whose they are; None are those of nobody.
    """

    sessions: SessionStore
    conversations: Conversations
    principal: str | None = None
    _session_of: dict[str, str] = attrs.field(factory=dict[str, str], init=False, repr=False)

    async def find(self, name: str) -> Session:
        """Give a session.

        Raises:
            Refused: There is none of that name, or it is another principal's.
        """
        session = told(await self.sessions.get(name, principal=self.principal))
        if session is None:
            hint = "lamina sessions list, with the same --store and --principal, names those there are."
            raise Refused(f"There is no session {printable(name)} here.", hint)
        return session

    async def find_or_make(self, name: str) -> Session:
        """Give a session; a new one points to the conversation of its own name.

        Raises:
            Refused: The session is another principal's, or closed.
        """
        session = told(await self.sessions.get(name, principal=self.principal))
        if session is None:
            made = await self.sessions.create(name, conversations=(name,), principal=self.principal)
            if isinstance(made, Failure) and isinstance(made.failure(), SessionExists):
                # It was made a moment ago, by somebody who wants the same; or it has been there, and is another's.
                session = told(await self.sessions.get(name, principal=self.principal))
                if session is None:
                    raise _anothers(name)
            else:
                session = told(made)
        if session.closed:
            raise Refused(f"The session {printable(name)} is closed.", "Take another name, or fork it.")
        return session

    async def make_beside(self, name: str, conversation: str) -> str:
        """Make a session for a fork, named after the session that it comes from, and give its name.

        Raises:
            Refused: No name is free.
        """
        for number in range(2, 1_000):
            beside = f"{name[:120]}-{number}"
            made = await self.sessions.create(beside, conversations=(conversation,), principal=self.principal)
            if not (isinstance(made, Failure) and isinstance(made.failure(), SessionExists)):
                told(made)
                return beside
        raise Refused(f"The session {printable(name)} has too many forks.", f"This one is {conversation}.")

    async def summary(self, conversation: str) -> Summary | None:
        """Say where a conversation stands; None where it has not begun, or is another principal's."""
        found = await self.conversations.get(conversation, principal=self.principal)
        if isinstance(found, Failure) and tag_of(found.failure()) == "NotAllowed":
            return None
        return told(found)

    async def all_sessions(self) -> AsyncIterator[Session]:
        """Go through the sessions, page by page."""
        after = ""
        while page := told(await self.sessions.list(principal=self.principal, after=after, limit=PAGE)):
            for session in page:
                yield session
            after = page[-1].id

    async def session_of(self, conversation: str) -> str | None:
        """Give the session that points to a conversation; most often it has the same name."""
        same = await self.sessions.get(conversation, principal=self.principal)
        found = None if isinstance(same, Failure) else same.unwrap()
        if found is not None and conversation in found.conversations:
            return found.id
        if not self._session_of:  # gone through once, however many are asked for
            async for session in self.all_sessions():
                self._session_of.update(dict.fromkeys(session.conversations, session.id))
        return self._session_of.get(conversation)

    async def last_suspended(self, conversation: str) -> str | None:
        """Give the run whose suspension is the log's last; None where there never was one."""
        found = await self.summary(conversation)
        end = 0 if found is None else found.tail.seq
        while end > 0:
            begin = max(0, end - PAGE)
            for entry in reversed(await self.records(conversation, after=begin, limit=end - begin)):
                if isinstance(entry.record, RunSuspended):
                    return entry.record.run
            end = begin
        return None

    async def waiting(self, conversation: str, run: str) -> tuple[ApprovalRequest, ...]:
        """Give what a suspended run waits for and nobody has decided; nothing where it went on meanwhile."""
        looked = await self.conversations.suspended(conversation, run, principal=self.principal)
        if isinstance(looked, Failure):
            return ()
        found = looked.unwrap()
        asked = found.requests.items()
        return tuple(
            [each.request for call, each in asked if call not in found.decisions and call not in found.outcomes]
        )

    async def records(self, conversation: str, *, after: int, limit: int) -> tuple[Entry, ...]:
        """Give a page of a log."""
        return told(await self.conversations.read(conversation, after=after, limit=limit, principal=self.principal))


@handler
async def kept(_: None, sessions: SessionStore, conversations: Conversations) -> Kept:
    """Give the services of a runtime."""
    return Kept(sessions, conversations)


@handler
async def known_secrets(_: None, secrets: Secrets) -> Secrets:
    """Give what a runtime keeps secret."""
    return secrets


def told(answer: Result[T, object]) -> T:
    """Give the value, or say in the error's own sentence why there is none.

    Raises:
        UsageError: The answer is a failure.
    """
    if isinstance(answer, Failure):
        raise refusal(answer.failure())
    return answer.unwrap()


def refusal(error: object, *hints: str, tag: bool = False) -> UsageError:
    """Say in an error's own sentence what the store says no to, or that it cannot be used itself.

    Args:
        error: The error.
        hints: What to do next, where it is not the store that is in trouble.
        tag: Whether the error's tag stands before its sentence.
    """
    said = printable(message_of(error))
    if isinstance(error, STORE_ERRORS):
        return UsageError(said, *next_for(error))
    return Refused(f"{tag_of(error)}: {said}" if tag else said, *hints)


def check_names(principal: str | None, **names: str | None) -> None:
    """Refuse what can be no id, before anything is opened.

    Raises:
        UsageError: With what is wrong; the name is not quoted.
    """
    refused = check_principal(principal)
    for what, name in names.items():
        refused = refused or (None if name is None else check_id(what, name))
    if isinstance(refused, InvalidId):
        longest = "256" if refused.what == "principal" else "128"
        apart = "" if refused.what == "principal" else r", without / and \ "
        raise UsageError(message_of(refused), f"It has 1 to {longest} printable characters{apart}".rstrip() + ".")


def check_clean_names(secrets: Secrets, principal: str | None, session: str) -> None:
    """Refuse a name that holds a secret, before it is written anywhere.

    Raises:
        UsageError: With what is wrong; the name is not quoted.
    """
    refused = check_clean("session", session, secrets) or check_clean("principal", principal, secrets)
    if refused is not None:
        raise UsageError(message_of(refused), "It would be in every record: take another name.")


def _anothers(name: str) -> Refused:
    return Refused(f"The session {printable(name)} is another principal's.", "Take another name, or give --principal.")
