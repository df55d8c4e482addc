"""From records to a history: a fold, so that what follows a log never changes what its beginning came to (STORE-008).

Whatever the records are, the history is valid. A batch of calls that was cut short is closed with the outcomes that
are honest of it (design §4, last three rows); what belongs to no open batch is left out. Each of that is a repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeGuard

from lamina.call import CallKey, ExecutionClass, Outcome, ToolRejected, ToolSuccess, interrupted, told
from lamina.conversation._history import History, valid_history
from lamina.conversation._records import (
    ApprovalDecided,
    ApprovalRequested,
    CallStarted,
    InputRecorded,
    Record,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunResumed,
    RunSuspended,
    TurnAdvanced,
)
from lamina.effect import tag_of
from lamina.model import AssistantMessage, Message, ToolCall, ToolMessage, ToolResult, UserMessage


def result_of(call: ToolCall, outcome: Outcome) -> ToolResult:
    """Give the result that a model is told of a call."""
    return ToolResult(call.id, call.name, told(outcome), not isinstance(outcome, ToolSuccess))


class OpenBatch:
    """A response whose calls wait for their results.

    Attributes:
        declared: Its record.
        message: What the history will hold; where two of its calls had one id, without the second.
        calls: Its calls, in order.
        held: Whether the run waits for somebody, so that none of them has started.
        outcomes: By call id, what has been settled.
        started: By call id, the execution class of what has started.
        requests: By call id, what was asked.
        records: By call id, every record of a decision, in order.
        own: By call id, the latest decision on the very call.
    """

    __slots__ = ("calls", "declared", "held", "message", "outcomes", "own", "records", "requests", "started")

    def __init__(self, declared: ResponseDeclared, message: AssistantMessage, calls: Mapping[str, ToolCall]) -> None:
        self.declared = declared
        self.message = message
        self.calls = calls
        self.held = False
        self.outcomes: dict[str, Outcome] = {}
        self.started: dict[str, ExecutionClass] = {}
        self.requests: dict[str, ApprovalRequested] = {}
        self.records: dict[str, list[ApprovalDecided]] = {}
        self.own: dict[str, ApprovalDecided] = {}

    def missing(self) -> list[tuple[ToolCall, Outcome]]:
        """Give each call without an outcome, with the one that is honest of it if nothing more comes."""
        return [(call, self._cut_off(call)) for call in self.calls.values() if call.id not in self.outcomes]

    def messages(self) -> tuple[Message, Message]:
        """Give what the history holds of it."""
        outcomes = {**self.outcomes, **{call.id: outcome for call, outcome in self.missing()}}
        return self.message, ToolMessage(tuple([result_of(call, outcomes[id_]) for id_, call in self.calls.items()]))

    def _cut_off(self, call: ToolCall) -> Outcome:
        execution = self.started.get(call.id)
        if execution is not None:
            return interrupted(started=True, execution=execution)
        if call.id in self.declared.readonly and not self.held:  # its start is recorded nowhere
            return interrupted(started=True, execution="readonly")
        return ToolRejected("not-started")


class Projection:
    """The history of a log up to some record, and what is going on there; feed it the records in order.

    Attributes:
        open: The batch whose calls wait for their results.
        run: The run that has begun and not ended.
        agent: Its agent.
        blanket: By tool, the decision that covers the run's calls of it.
        suspended: Its suspension, while it lasts.
        stable: The last position at which no run was in progress, and no call without its result.
        whole: The last position at which no call was without its result.
        strays: The keys of calls of which a result is there that belongs to no open batch.
        told_through: The position up to which repairs have been told.
        notes: What had to be repaired, each with the position at which it showed.

    Example:
        >>> projection = Projection()
        >>> projection.feed(1, InputRecorded("run-1", "in-1", "user", None, "hello"))
        >>> projection.history().messages[0].text
        'hello'
    """

    __slots__ = (
        "_messages",
        "_seen",
        "agent",
        "blanket",
        "notes",
        "open",
        "run",
        "stable",
        "strays",
        "suspended",
        "told_through",
        "whole",
    )

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._seen: set[str] = set()
        self.open: OpenBatch | None = None
        self.run: str | None = None
        self.agent: str | None = None
        self.blanket: dict[str, ApprovalDecided] = {}
        self.suspended: RunSuspended | None = None
        self.stable = 0
        self.whole = 0
        self.told_through = 0
        self.strays: set[str] = set()
        self.notes: list[tuple[int, str]] = []

    def history(self) -> History:
        """Give what was said, with a batch that is open closed as if nothing more came of it."""
        if self.open is None:
            return valid_history(self._messages)
        return valid_history([*self._messages, *self.open.messages()])

    def settled_history(self) -> History:
        """Give what was said, without an open batch."""
        return valid_history(self._messages)

    def untold(self) -> tuple[str, ...]:
        """Give the repairs that no record tells of."""
        return tuple([note for seq, note in self.notes if seq > self.told_through])

    def decisions(self) -> dict[str, ApprovalDecided]:
        """Give, by call id, the decision that counts of each call of the open batch of which one is recorded.

        One on the very call beats one on its tool, whichever came first; among equals the latest counts; a denial of
        the tool beats every approval of it.
        """
        if self.open is None:
            return {}
        tools = {call: asked.request.tool for call, asked in self.open.requests.items() if call in self.open.records}
        covered = {call: self.blanket[tool] for call, tool in tools.items() if tool in self.blanket}
        return {**covered, **self.open.own}

    def mark(self, seq: int) -> None:
        """Note that a batch of records ends here: between two of one batch a log is never cut."""
        if self.open is None:
            self.whole = seq
            if self.run is None:
                self.stable = seq

    def feed(self, seq: int, record: Record) -> None:
        """Take the next record."""
        match record:
            case ResultSettled():
                self._settle(seq, record)
            case ResponseDeclared():
                self._declare(seq, record)
            case CallStarted():
                if self._concerns(record.key.run, record.key.turn, record.key.call) is None:
                    self._note(seq, f"{record.key}: a start without its call is left out")
                elif self.open is not None:
                    self.open.started[record.key.call] = record.execution
            case TurnAdvanced():
                if self.open is not None and self._is_open(record.run, record.turn):
                    self._close(seq)
            case InputRecorded():
                self._close(seq)
                if self._once(seq, record.id):
                    self._messages.append(UserMessage.of(record.text))
            case ApprovalRequested():
                key = record.request.key
                if (batch := self._concerns(key.run, key.turn, key.call)) is not None:
                    batch.requests[key.call] = record
            case ApprovalDecided():
                if (batch := self._concerns(record.key.run, record.key.turn, record.key.call)) is not None:
                    self._decide(batch, record)
            case RunBegan():
                self._close(seq)
                self.run, self.agent, self.suspended, self.blanket = record.run, record.agent, None, {}
            case RunSuspended():
                self.suspended = record
                if self.open is not None:
                    self.open.held = True
            case RunResumed():
                self.suspended = None
                if self.open is not None:
                    self.open.held = False
            case RunEnded():
                self._end(seq, record)
            case RepairAnnotated():
                self._close(record.through)
                self.told_through = max(self.told_through, record.through)
                self.notes = [note for note in self.notes if note[0] > self.told_through]
            case _:  # where a conversation came from says nothing of what was said
                pass

    def _declare(self, seq: int, record: ResponseDeclared) -> None:
        self._close(seq)
        if not self._once(seq, record.id):
            return
        message, calls = record.message, record.message.calls
        by_id = {call.id: call for call in reversed(calls)}  # of two with one id the first counts
        if len(by_id) != len(calls):
            self._note(seq, f"{record.id}: a second call of one id is left out")
            message = AssistantMessage(
                tuple([part for part in message.parts if not _is_call(part) or by_id[part.id] is part])
            )
            calls = message.calls
        if calls:
            self.open = OpenBatch(record, message, {call.id: call for call in calls})
        else:
            self._messages.append(message)

    def _settle(self, seq: int, record: ResultSettled) -> None:
        key = record.key
        batch = self._concerns(key.run, key.turn, key.call)
        if batch is None:
            self.strays.add(str(key))
            self._note(seq, f"{key}: a result without its call, or a second one, is left out")
        elif key.call in batch.outcomes:
            self._note(seq, f"{key}: a second result is left out")
        else:
            batch.outcomes[key.call] = record.outcome
            if len(batch.outcomes) == len(batch.calls):
                self._close(seq)

    def _decide(self, batch: OpenBatch, record: ApprovalDecided) -> None:
        call = record.key.call
        batch.records.setdefault(call, []).append(record)
        if record.tool is not None:
            self.blanket[record.tool] = stronger(self.blanket.get(record.tool), record)
        elif record.under is None:
            batch.own[call] = record

    def _end(self, seq: int, record: RunEnded) -> None:
        if self.open is not None and self.open.declared.run == record.run:
            self._close(seq)
        if self.run == record.run:
            self.run = self.agent = None
        if self.suspended is not None and self.suspended.run == record.run:
            self.suspended = None

    def _close(self, seq: int) -> None:
        batch = self.open
        if batch is None:
            return
        declared = batch.declared
        for call, outcome in batch.missing():
            self._note(seq, cut_short(CallKey(declared.run, declared.turn, call.id), outcome))
        self._messages += batch.messages()
        self.open = None

    def _concerns(self, run: str, turn: int, call: str) -> OpenBatch | None:
        batch = self.open
        return batch if batch is not None and self._is_open(run, turn) and call in batch.calls else None

    def _is_open(self, run: str, turn: int) -> bool:
        return self.open is not None and (self.open.declared.run, self.open.declared.turn) == (run, turn)

    def _once(self, seq: int, record_id: str) -> bool:
        if record_id in self._seen:
            self._note(seq, f"{record_id}: a second one is left out")
            return False
        self._seen.add(record_id)
        return True

    def _note(self, seq: int, note: str) -> None:
        if seq > self.told_through:
            self.notes.append((seq, note))


def project(records: Iterable[Record]) -> Projection:
    """Fold records into a history, each a batch of its own, positions from 1.

    Example:
        >>> project([]).history().messages
        ()
    """
    projection = Projection()
    for seq, record in enumerate(records, 1):
        projection.feed(seq, record)
        projection.mark(seq)
    return projection


def stronger(old: ApprovalDecided | None, new: ApprovalDecided) -> ApprovalDecided:
    """Give which of two decisions on one tool counts: the latest, but that a denial beats an approval."""
    return old if old is not None and old.decision == "denied" and new.decision != "denied" else new


def cut_short(key: CallKey, outcome: Outcome) -> str:
    """Say what becomes of a call whose result never came."""
    said = outcome.reason if isinstance(outcome, ToolRejected) else tag_of(outcome)
    return f"{key}: no result, so it is {said}"


def _is_call(part: object) -> TypeGuard[ToolCall]:
    return isinstance(part, ToolCall) and part.executor == "application"
