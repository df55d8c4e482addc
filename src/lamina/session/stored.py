"""Sessions in a store: the same on memory, SQLite and PostgreSQL (design §8)."""

from __future__ import annotations

from typing import Never

import attrs
from returns.result import Failure, Result, Success

from lamina.conversation import (
    ConversationError,
    Conversations,
    InvalidId,
    NotAllowed,
    check_clean,
    check_id,
    check_principal,
)
from lamina.effect import Clock, Layer, SystemClock, layer
from lamina.redaction import Secrets
from lamina.schema import canonical_json
from lamina.session import _sql
from lamina.session.port import (
    LARGEST_METADATA,
    MOST_CONVERSATIONS,
    Metadata,
    Session,
    SessionClosed,
    SessionConflict,
    SessionError,
    SessionExists,
    SessionPatch,
    SessionRefused,
    SessionStore,
)
from lamina.store import Store, Unmet

_NO_METADATA = Metadata()
_LONGEST_PAGE = 1_024


class StoredSessions(SessionStore):
    """Keeps sessions in a store.

    Args:
        store: Where they are.
        conversations: What forks are made in.
        clock: What tells when something was written.
        secrets: What must not be in metadata.
    """

    def __init__(
        self, store: Store, conversations: Conversations, clock: Clock, secrets: Secrets | None = None
    ) -> None:
        self.durable = store.durable
        self._store = store
        self._conversations = conversations
        self._clock = clock
        self._secrets = secrets or Secrets()

    async def create(
        self,
        session: str,
        *,
        metadata: Metadata = _NO_METADATA,
        conversations: tuple[str, ...] = (),
        principal: str | None = None,
    ) -> Result[Session, SessionError]:
        """Make a session; see `SessionStore.create`."""
        refused = _refused(session, principal, conversations) or check_clean("session", session, self._secrets)
        if (refused := refused or check_clean("principal", principal, self._secrets)) is not None:
            return Failure(refused)
        metadata = self._secrets.redact_in(metadata)
        text = _written(session, metadata)
        if isinstance(text, SessionRefused):
            return Failure(text)
        pointed = tuple(dict.fromkeys(conversations))
        if len(pointed) > MOST_CONVERSATIONS:
            return Failure(_too_many(session))
        answer = await self._store.write(
            _sql.create(session, principal, metadata.version, text, self._now()),
            *[_sql.point(session, position, each) for position, each in enumerate(pointed, 1)],
        )
        if isinstance(answer, Failure):
            lost = answer.failure()
            return Failure(SessionExists(session) if isinstance(lost, Unmet) else lost)
        return await self._as_written(session, principal)

    async def get(self, session: str, *, principal: str | None = None) -> Result[Session | None, SessionError]:
        """Give a session; see `SessionStore.get`."""
        read = await self._find(session, principal)
        if isinstance(read, Failure):
            return Success(None) if isinstance(read.failure(), NotAllowed) else Failure(read.failure())
        return Success(read.unwrap().session)

    async def update(
        self, session: str, patch: SessionPatch, expected_revision: int, *, principal: str | None = None
    ) -> Result[Session, SessionConflict | SessionError]:
        """Change a session; see `SessionStore.update`."""
        return await self._change(session, patch, expected_revision, principal, closed=False)

    async def close(
        self, session: str, expected_revision: int, *, principal: str | None = None
    ) -> Result[Session, SessionConflict | SessionError]:
        """End a session; see `SessionStore.close`."""
        return await self._change(session, SessionPatch(), expected_revision, principal, closed=True)

    async def list(
        self, *, principal: str | None = None, after: str = "", limit: int = 100
    ) -> Result[tuple[Session, ...], SessionError]:
        """Give a page of a principal's sessions; see `SessionStore.list`."""
        if (refused := check_principal(principal) or (check_id("session", after) if after else None)) is not None:
            return Failure(refused)
        limit = max(1, min(limit, _LONGEST_PAGE))
        if principal is None:
            page = await self._store.read(_sql.LIST_OF_NOBODY, after, limit)
        else:
            page = await self._store.read(_sql.LIST, principal, after, limit)
        if isinstance(page, Failure):
            return Failure(page.failure())
        return Success(tuple([found.session for found in _sql.found(page.unwrap())]))

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
        """Fork a conversation of the session; see `SessionStore.fork_conversation`."""
        if (refused := _refused(session, principal, (conversation, new))) is not None:
            return Failure(refused)
        read = await self._find(session, principal)
        if isinstance(read, Failure):
            return Failure(read.failure())
        before = read.unwrap().session
        # Looked at before anything is forked, so that what is refused for them leaves nothing behind.
        if before.closed:
            return Failure(SessionClosed(session))
        if before.revision != expected_revision:
            return Failure(SessionConflict(session, expected_revision, before.revision))
        if conversation not in before.conversations:
            return Failure(NotAllowed("conversation", conversation))
        forked = await self._conversations.fork(conversation, new, at=at, principal=principal)
        if isinstance(forked, Failure):
            return Failure(forked.failure())
        changed = await self.update(session, SessionPatch(add=(new,)), expected_revision, principal=principal)
        return Failure(changed.failure()) if isinstance(changed, Failure) else Success(changed.unwrap())

    async def _change(
        self, session: str, patch: SessionPatch, expected: int, principal: str | None, *, closed: bool
    ) -> Result[Session, SessionConflict | SessionError]:
        if (refused := _refused(session, principal, (*patch.add, *patch.remove))) is not None:
            return Failure(refused)
        read = await self._find(session, principal)
        if isinstance(read, Failure):
            return Failure(read.failure())
        found = read.unwrap()
        before = found.session
        if before.closed:
            return Failure(SessionClosed(session))
        if before.revision != expected:
            return Failure(SessionConflict(session, expected, before.revision))
        metadata = self._secrets.redact_in(before.metadata if patch.metadata is None else patch.metadata)
        text = _written(session, metadata)
        if isinstance(text, SessionRefused):
            return Failure(text)
        kept = [each for each in before.conversations if each not in patch.remove]
        added = [each for each in dict.fromkeys(patch.add) if each not in kept]
        if len(kept) + len(added) > MOST_CONVERSATIONS:
            return Failure(_too_many(session))
        # The positions hold for this revision, and the unit is kept for no other.
        answer = await self._store.write(
            _sql.change(session, expected, metadata.version, text, self._now(), closed=closed),
            *[_sql.forget(session, each) for each in before.conversations if each not in kept],
            *[_sql.point(session, position, each) for position, each in enumerate(added, found.position + 1)],
        )
        if isinstance(answer, Failure):
            lost = answer.failure()
            return await self._conflict(session, expected, principal) if isinstance(lost, Unmet) else Failure(lost)
        return Success(
            attrs.evolve(
                before,
                revision=expected + 1,
                metadata=metadata,
                conversations=(*kept, *added),
                updated=self._clock.now(),
                closed=closed,
            )
        )

    async def _conflict(
        self, session: str, expected: int, principal: str | None
    ) -> Result[Session, SessionConflict | SessionError]:
        read = await self._find(session, principal)
        if isinstance(read, Failure):
            return Failure(read.failure())
        actual = read.unwrap().session
        same = actual.closed and actual.revision == expected
        return Failure(SessionClosed(session) if same else SessionConflict(session, expected, actual.revision))

    async def _as_written(self, session: str, principal: str | None) -> Result[Session, SessionError]:
        read = await self._find(session, principal)
        return Failure(read.failure()) if isinstance(read, Failure) else Success(read.unwrap().session)

    async def _find(self, session: str, principal: str | None) -> Result[_sql.Found, SessionError]:
        if (refused := _refused(session, principal, ())) is not None:
            return Failure(refused)
        read = await self._store.read(_sql.GET, session)
        if isinstance(read, Failure):
            return Failure(read.failure())
        found = _sql.found(read.unwrap())
        if not found or found[0].session.principal != principal:
            return Failure(NotAllowed("session", session))
        return Success(found[0])

    def _now(self) -> int:
        return _sql.microseconds(self._clock.now())


def _refused(session: str, principal: str | None, conversations: tuple[str, ...]) -> InvalidId | None:
    wrong = check_id("session", session) or check_principal(principal)
    for each in conversations:
        wrong = wrong or check_id("conversation", each)
    return wrong


def _written(session: str, metadata: Metadata) -> bytes | SessionRefused:
    if type(metadata.version) is not int or not 1 <= metadata.version < 1 << 31:
        return SessionRefused(session, "the version of its metadata is no whole number from 1 on")
    try:
        text = canonical_json(metadata.value)
    except ValueError:
        return SessionRefused(session, "its metadata is no JSON")
    if len(text) > LARGEST_METADATA:
        return SessionRefused(session, f"its metadata has more than {LARGEST_METADATA} bytes")
    return text


def _too_many(session: str) -> SessionRefused:
    return SessionRefused(session, f"it would point to more than {MOST_CONVERSATIONS} conversations")


def stored_sessions(
    *, clock: Clock | None = None, secrets: Secrets | None = None
) -> Layer[Store | Conversations, SessionStore, Never]:
    """Offer sessions in whatever store there is.

    Args:
        clock: What tells when something was written; None is the machine's own.
        secrets: What must not be in a session's metadata, id or principal; give the value that is bound as the
            runtime's `Secrets`.

    Example:
        >>> stored_sessions()
        Layer(offers SessionStore; needs Store, Conversations)
    """

    def sessions(store: Store, conversations: Conversations) -> SessionStore:
        return StoredSessions(store, conversations, clock or SystemClock(), secrets)

    return layer(sessions)
