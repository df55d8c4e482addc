"""Conversations in a store: the same on memory, SQLite and PostgreSQL (design §8)."""

from __future__ import annotations

import math
from typing import Never

from returns.result import Failure, Result

from lamina.approval import Approved, Denied
from lamina.conversation import _claiming, _deciding, _forking, _looking, _resuming
from lamina.conversation._errors import AlreadyDecided, ConversationError, DecideError
from lamina.conversation._history import History
from lamina.conversation._ids import check_clean
from lamina.conversation._records import ApprovalDecided, Record
from lamina.conversation._shelf import Shelf
from lamina.conversation.port import LONGEST_PAGE, Claim, Conversations, Entry, Pending, Resumed, Summary, Tail
from lamina.effect import Clock, ConstructionError, Layer, Problem, SystemClock, caller_where, layer
from lamina.redaction import Secrets
from lamina.store import Store

LEASE = 30.0


class StoredConversations(Conversations):
    """Keeps conversations in a store.

    What was read of a log is kept in this process, bounded, so that the next claim reads only what came after it.

    Args:
        store: Where the logs are.
        clock: What leases are measured by. Processes that share a store have to agree on the time to within a
            fraction of the lease. Where they do not, a conversation may be taken over too early; the run that had it
            is fenced off all the same.
        lease: Seconds for which an append or a renewal keeps a conversation.
        secrets: What must not be in a decision that comes from outside a run; a run's records are clean already.

    Attributes:
        store: Where the logs are.
    """

    def __init__(self, store: Store, clock: Clock, lease: float = LEASE, secrets: Secrets | None = None) -> None:
        self.store = store
        self.durable = store.durable
        self._secrets = secrets or Secrets()
        self._shelf = Shelf(store, clock, lease)

    async def claim(
        self, conversation: str, run: str, *, principal: str | None = None, opening: tuple[Record, ...] = ()
    ) -> Result[Claim, ConversationError]:
        """Make a run the conversation's active run; see `Conversations.claim`."""
        refused = check_clean("conversation", conversation, self._secrets)
        if (refused := refused or check_clean("principal", principal, self._secrets)) is not None:
            return Failure(refused)
        return await _claiming.claim(self._shelf, conversation, run, principal, opening)

    async def resume(
        self, conversation: str, run: str, *, principal: str | None = None
    ) -> Result[Resumed, ConversationError | AlreadyDecided]:
        """Take a suspended run up again; see `Conversations.resume`."""
        return await _resuming.resume(self._shelf, conversation, run, principal)

    async def suspended(
        self, conversation: str, run: str, *, principal: str | None = None
    ) -> Result[Resumed, ConversationError | AlreadyDecided]:
        """Look at a suspended run; see `Conversations.suspended`."""
        return await _resuming.suspended(self._shelf, conversation, run, principal)

    async def pending(
        self, *, principal: str | None = None, after: str = "", limit: int = 100
    ) -> Result[tuple[Pending, ...], ConversationError]:
        """Give a page of what waits for a decision; see `Conversations.pending`."""
        return await _deciding.pending(self._shelf, principal, after, limit)

    async def decide(
        self,
        conversation: str,
        run: str,
        call: str,
        decision: Approved | Denied,
        arguments_digest: str,
        *,
        turn: int | None = None,
        principal: str | None = None,
    ) -> Result[ApprovalDecided, DecideError]:
        """Record a decision from outside; see `Conversations.decide`."""
        at = _deciding.At(conversation, run, call, turn, arguments_digest)
        return await _deciding.decide(self._shelf, at, self._secrets.redact_in(decision), principal)

    async def abort(
        self, conversation: str, run: str, *, principal: str | None = None
    ) -> Result[Tail, ConversationError | AlreadyDecided]:
        """End a run from outside; see `Conversations.abort`."""
        return await _claiming.abort(self._shelf, conversation, run, principal)

    async def fork(
        self, conversation: str, new: str, *, at: int | None = None, principal: str | None = None
    ) -> Result[Tail, ConversationError]:
        """Begin a conversation with another one's beginning; see `Conversations.fork`."""
        if (refused := check_clean("conversation", new, self._secrets)) is not None:
            return Failure(refused)
        return await _forking.fork(self._shelf, conversation, new, at, principal)

    async def read(
        self, conversation: str, *, after: int = 0, limit: int = LONGEST_PAGE, principal: str | None = None
    ) -> Result[tuple[Entry, ...], ConversationError]:
        """Give a page of the log; see `Conversations.read`."""
        return await _looking.read(self._shelf, conversation, after, limit, principal)

    async def history(self, conversation: str, *, principal: str | None = None) -> Result[History, ConversationError]:
        """Give what was said; see `Conversations.history`."""
        return await _looking.history(self._shelf, conversation, principal)

    async def get(self, conversation: str, *, principal: str | None = None) -> Result[Summary, ConversationError]:
        """Say where a conversation ends; see `Conversations.get`."""
        return await _looking.get(self._shelf, conversation, principal)

    async def list(
        self, *, principal: str | None = None, after: str = "", limit: int = 100
    ) -> Result[tuple[Summary, ...], ConversationError]:
        """Give a page of a principal's conversations; see `Conversations.list`."""
        return await _looking.list_page(self._shelf, principal, after, limit)

    async def export(
        self, conversation: str, *, principal: str | None = None, after: int = 0
    ) -> Result[tuple[str, ...], ConversationError]:
        """Give the log as JSON lines; see `Conversations.export`."""
        return await _looking.export(self._shelf, conversation, principal, after)

    async def verify(self, conversation: str, *, principal: str | None = None) -> Result[Tail, ConversationError]:
        """Compute every digest anew; see `Conversations.verify`."""
        return await _looking.verify(self._shelf, conversation, principal)


def stored_conversations(
    *, lease: float = LEASE, clock: Clock | None = None, secrets: Secrets | None = None
) -> Layer[Store, Conversations, Never]:
    """Offer conversations in whatever store there is.

    Args:
        lease: Seconds for which an append keeps a conversation; a run that appends nothing for longer renews it.
        clock: What leases are measured by; None is the machine's own.
        secrets: What must not be in a decision that comes from outside a run, nor in an id or a principal; give the
            value that is bound as the runtime's `Secrets`.

    Raises:
        ConstructionError: The lease is no positive, finite number of seconds.

    Example:
        >>> from lamina.store import memory_store
        >>> stored_conversations().provide(memory_store())
        Layer(offers Conversations; needs nothing more)
    """
    if not 0 < lease < math.inf:
        line = f"lease is a positive, finite number of seconds  {caller_where()}"
        raise ConstructionError([Problem("CONVERSATIONS", "stored_conversations", (line,))])

    def conversations(store: Store) -> Conversations:
        return StoredConversations(store, clock or SystemClock(), lease, secrets)

    return layer(conversations)
