"""What an approver over HTTP sees and decides: requests that wait in this process, or in a store (seed 004 §5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Literal, TypeAlias

import attrs
from returns.result import Failure, Result, Success

from lamina.approval import LONGEST_TEXT, ApprovalRequest, Approved, Covers, Denied, WaitingApproval
from lamina.conversation import (
    AlreadyDecided,
    AppendConflict,
    ApprovalLapsed,
    ArgumentsDiffer,
    Conversations,
    DecideError,
    InvalidId,
    NotAllowed,
    NotAsked,
    RecordRefused,
    StoredConversations,
)
from lamina.effect import Clock, SystemClock, Value
from lamina.store import Store

Refusal: TypeAlias = Literal["not-found", "conflict", "invalid", "unavailable"]
"""Why a desk does not do what it was asked, and no more than that: it goes over the wire."""

MOST_ITEMS = 100


@attrs.frozen(kw_only=True, eq=False, repr=False)
class WaitingItem(Value):
    """A request that waits, as it goes over the wire.

    Attributes:
        conversation: The conversation's id; None for a run without one.
        request: What is asked.
        asked: When that was, UTC, where it is known.
        expired: Whether its time is over, which is a denial.
        cursor: What `after` takes to go on behind it.
    """

    conversation: str | None
    request: ApprovalRequest
    asked: datetime | None
    expired: bool
    cursor: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Verdict(Value):
    """A decision, as it comes over the wire.

    Attributes:
        conversation: The conversation's id, from the item.
        run: The run's id, from its request's key.
        turn: The turn.
        call: The call's id.
        arguments_digest: The digest of the arguments that were seen, from the request.
        decision: What is decided.
        covers: Whether it is for the call, or for the tool.
        reason: Why; told to the model where a denial is recoverable.
    """

    conversation: str | None = None
    run: str
    turn: int
    call: str
    arguments_digest: str
    decision: Literal["approve", "deny"]
    covers: Covers = "call"
    reason: str = ""

    def by(self, who: str) -> Approved | Denied:
        """Give the decision as somebody's."""
        if self.decision == "approve":
            return Approved(who, self.covers)
        return Denied(who, self.reason[:LONGEST_TEXT], self.covers)


class Desk(ABC):
    """Where requests for approval lie, for `approval_app`.

    Attributes:
        store: What all processes with such a desk share; None where there is nothing.
    """

    store: Store | None = None

    @abstractmethod
    async def pending(self, principal: str | None, after: str, limit: int) -> Result[tuple[WaitingItem, ...], Refusal]:
        """Give a page of what waits.

        Args:
            principal: Whose.
            after: The cursor of the last item that was seen, or an empty text.
            limit: 1 to 100.
        """

    @abstractmethod
    async def decide(self, verdict: Verdict, by: str, principal: str | None) -> Result[str, Refusal]:
        """Take a decision, and give the one that counts now: `approved` or `denied`."""


class WaitingDesk(Desk):
    """The requests of a `WaitingApproval`: decided once, while their runs wait in this process.

    Such a request is nobody's: a key that is for a principal sees none.

    Args:
        approval: The service that the runtime has.
        clock: What requests expire by.
    """

    def __init__(self, approval: WaitingApproval, clock: Clock | None = None) -> None:
        self._approval = approval
        self._clock = clock or SystemClock()

    async def pending(self, principal: str | None, after: str, limit: int) -> Result[tuple[WaitingItem, ...], Refusal]:
        """Give a page of what waits, by the requests' ids."""
        if principal is not None:
            return Success(())
        now = self._clock.now()
        waiting = sorted(self._approval.waiting, key=lambda request: request.id)
        return Success(
            tuple(
                [
                    WaitingItem(
                        conversation=request.conversation,
                        request=request,
                        asked=None,
                        expired=request.expired(now),
                        cursor=request.id,
                    )
                    for request in [each for each in waiting if each.id > after][:limit]
                ]
            )
        )

    async def decide(self, verdict: Verdict, by: str, principal: str | None) -> Result[str, Refusal]:
        """Answer a request, once."""
        here = [request for request in self._approval.waiting if _is_on(verdict, request)]
        if principal is not None or not here:
            return Failure("not-found")
        if here[0].arguments_digest != verdict.arguments_digest:
            return Failure("conflict")
        if here[0].expired(self._clock.now()):
            return Failure("conflict")
        decision = verdict.by(by)
        answered = self._approval.decide(here[0].id, decision, verdict.arguments_digest)
        if isinstance(answered, Failure):
            return Failure("not-found")
        return Success("approved" if isinstance(decision, Approved) else "denied")


class StoredDesk(Desk):
    """The requests of suspended runs: decided in a store, by whatever process, and used when the run is resumed.

    Args:
        conversations: Where they are kept.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self.store = conversations.store if isinstance(conversations, StoredConversations) else None

    async def pending(self, principal: str | None, after: str, limit: int) -> Result[tuple[WaitingItem, ...], Refusal]:
        """Give a page of what waits, by conversation."""
        found = await self._conversations.pending(principal=principal, after=after, limit=limit)
        if isinstance(found, Failure):
            return Failure("invalid" if isinstance(found.failure(), InvalidId) else "unavailable")
        return Success(
            tuple(
                [
                    WaitingItem(
                        conversation=each.conversation,
                        request=each.request,
                        asked=each.asked,
                        expired=each.expired,
                        cursor=each.cursor,
                    )
                    for each in found.unwrap()
                ]
            )
        )

    async def decide(self, verdict: Verdict, by: str, principal: str | None) -> Result[str, Refusal]:
        """Record a decision."""
        if verdict.conversation is None:
            return Failure("not-found")
        made = await self._conversations.decide(
            verdict.conversation,
            verdict.run,
            verdict.call,
            verdict.by(by),
            verdict.arguments_digest,
            turn=verdict.turn,
            principal=principal,
        )
        return Failure(_refusal(made.failure())) if isinstance(made, Failure) else Success(made.unwrap().decision)


def _is_on(verdict: Verdict, request: ApprovalRequest) -> bool:
    key = request.key
    return (key.run, key.turn, key.call) == (verdict.run, verdict.turn, verdict.call) and (
        request.conversation == verdict.conversation
    )


def _refusal(error: DecideError) -> Refusal:
    match error:
        case NotAllowed() | NotAsked():
            return "not-found"
        case AlreadyDecided() | ArgumentsDiffer() | ApprovalLapsed() | AppendConflict():
            return "conflict"
        case InvalidId() | RecordRefused():
            return "invalid"
        case _:
            return "unavailable"
