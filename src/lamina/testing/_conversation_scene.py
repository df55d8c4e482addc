"""What the cases of the conversation suite share: the scene they play in, and short ways to write records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import attrs
from returns.result import Failure, Result

from lamina.approval import ApprovalRequest
from lamina.call import (
    CallKey,
    Outcome,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.conversation import (
    ApprovalDecided,
    ApprovalRequested,
    CallStarted,
    Claim,
    Conversations,
    History,
    InputRecorded,
    Record,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    TurnAdvanced,
)
from lamina.effect import tagged
from lamina.model import AssistantMessage, File, Reasoning, Source, Text, ToolCall, ToolResult, Usage
from lamina.testing._clock import VirtualClock
from lamina.testing._suite import Broken, require

T = TypeVar("T")


@attrs.frozen
class Scene:
    """Where a case happens.

    Attributes:
        conversations: Open.
        clock: What their leases are measured by.
        lease: How long one is, in seconds.
        fresh: A text that no other case has in its ids.
        again: Opens them once more; where they are durable, at the same place.
    """

    conversations: Conversations
    clock: VirtualClock
    lease: float
    fresh: str
    again: Callable[[], AbstractAsyncContextManager[Conversations]]

    def named(self, name: str) -> str:
        """Give an id of this case's own."""
        return f"check-{self.fresh}-{name}"

    async def claim(self, name: str, run: str, *opening: Record, principal: str | None = None) -> Claim:
        """Claim a conversation that has to be free."""
        return taken(await self.conversations.claim(self.named(name), run, principal=principal, opening=opening))

    async def records(self, name: str, principal: str | None = None) -> tuple[Record, ...]:
        """Give what a conversation holds, after looking at what every log owes."""
        entries = taken(await self.conversations.read(self.named(name), principal=principal))
        require([entry.seq for entry in entries] == list(range(1, len(entries) + 1)), "positions have gaps")
        require(len({entry.id for entry in entries}) == len(entries), "two records have one id")
        require(all(entry.created.tzinfo is UTC for entry in entries), "a record has no time in UTC")
        return tuple([entry.record for entry in entries])


Case: TypeAlias = Callable[[Scene], Awaitable[None]]


def taken(answer: Result[T, Any]) -> T:
    """Give the value of what has to succeed."""
    if isinstance(answer, Failure):
        raise Broken(f"what has to succeed failed: {answer.failure()}")
    return answer.unwrap()


def refused(answer: Result[Any, Any], kind: type[T], what: str) -> T:
    """Give the error of what has to be refused in one way."""
    error = answer.failure() if isinstance(answer, Failure) else None
    if not isinstance(error, kind):
        raise Broken(f"{what}: {kind.__name__} was expected, and it is {answer}")
    return error


def said(text: str, run: str = "run-1") -> InputRecorded:
    """Give an input."""
    return InputRecorded(run, f"in-{run}-{text}", "user", "ada", text)


def declared(*calls: str, run: str = "run-1", turn: int = 1, readonly: tuple[str, ...] = ()) -> ResponseDeclared:
    """Give a response with calls, or an answer where there are none."""
    parts = tuple([ToolCall(call, "read", '{"path": "a"}') for call in calls]) or (Text("done"),)
    return ResponseDeclared(run, turn, AssistantMessage(parts), Usage(10, 5, cache_read_tokens=3), readonly)


def settled(call: str, value: Any = "read", *, run: str = "run-1", turn: int = 1) -> ResultSettled:
    """Give a result."""
    return ResultSettled(CallKey(run, turn, call), ToolSuccess(value))


def results(history: History) -> dict[str, ToolResult]:
    """Give every result that a history tells, by call id."""
    return {result.id: result for message in history.messages for result in getattr(message, "results", ())}


async def whole_turn(claim: Claim, run: str, *, turn: int = 1) -> None:
    """Append a turn with one call."""
    key = CallKey(run, turn, "c1")
    taken(await claim.log.append(declared("c1", run=run, turn=turn)))
    taken(await claim.log.append(CallStarted(key, "0" * 64, None)))
    taken(await claim.log.append(settled("c1", run=run, turn=turn), TurnAdvanced(run, turn)))


@tagged("The file {path} is gone")
class Gone:
    """A failure that a tool declares."""

    path: str


def every_record() -> tuple[Record, ...]:
    """Give records of a run, of every kind, with whatever they can hold."""
    key, other = CallKey("run-1", 1, 'c/"\\\0\u2028😀'), CallKey("run-1", 1, "c2")
    parts = (
        Text("é😀\0", {"signature": {"n": 2**70, "f": 0.1, "deep": [[[None, True]]]}}),
        Reasoning("because"),
        ToolCall(key.call, "read", '{"a": 1, "a": 2} no JSON', metadata={"id": "x"}),
        ToolCall("c2", "read", ""),
        ToolCall("p1", "search", "{}", "provider"),
        ToolResult("p1", "search", {"hits": [1, 2.5, None]}, is_error=True, executor="provider"),
        File("image/png", bytes(range(256)) * 4),
        File("image/png", uri="https://example.org/a.png"),
        Source("https://example.org", "A title"),
    )
    request = ApprovalRequest(
        id=f"approval:{key}",
        key=key,
        agent="agent",
        conversation="conversation",
        tool="read",
        execution="idempotent",
        summary="Read it",
        targets=("a", "b"),
        risk="high",
        preview={"path": ["a"]},
        arguments_digest="ab" * 32,
        recoverable=True,
        expires_at=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC),
    )
    outcomes: list[Outcome] = [
        ToolSuccess({"text": "\u0000", "big": -(2**80), "none": None}),
        ToolFailure(Gone("a"), {"_tag": "Gone", "path": "a"}),
        ToolRejected("no-such-tool", "There is none.", ("read", "write")),
        ToolInvalidInput(("$.path: expected string",)),
        ToolDefect("output"),
        ToolUnknownOutcome(),
    ]
    return (
        RunBegan("run-1", "agent"),
        *[InputRecorded("run-1", f"in-{kind}", kind, None, "hi\r\n") for kind in ("user", "steering", "follow-up")],
        ResponseDeclared("run-1", 1, AssistantMessage(parts), Usage(9, 8, 7, 1, 5), ("c2",)),
        ApprovalRequested(request),
        ApprovalDecided(key, request.id, "approved", "ada", "why not", "ab" * 32),
        CallStarted(key, "ab" * 32, "ada", request.id, "idempotent"),
        ResultSettled(key, outcomes[0]),
        ResultSettled(other, outcomes[1]),
        TurnAdvanced("run-1", 1),
        *[ResultSettled(CallKey("run-1", 9, str(at)), outcome) for at, outcome in enumerate(outcomes)],
    )


# --- the log ----------------------------------------------------------------------------------------------------------
