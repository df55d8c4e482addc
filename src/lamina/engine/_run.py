"""One run's own state: what the loop, the batch and the settlement share."""

from __future__ import annotations

from typing import Any

from returns.result import Failure, Result, Success

from lamina.call import CallKey, Outcome
from lamina.conversation import History, JournalFailed, Record, Transcript
from lamina.effect import log
from lamina.engine._emitter import Emitter
from lamina.engine._failures import Completed, RunCause, RunFailure, RunReport
from lamina.engine._interruption import Interruption
from lamina.engine._machine import State
from lamina.engine._prepared import Given, PreparedAgent, PreparedTool
from lamina.model import ToolCall


class Call:
    """One call of the open batch, from its declaration to its one outcome."""

    __slots__ = ("approved_by", "arguments", "input", "key", "name", "outcome", "settled", "started", "tool")

    def __init__(self, key: CallKey, declared: ToolCall) -> None:
        self.key = key
        self.name = declared.name
        self.arguments = declared.arguments
        self.tool: PreparedTool | None = None
        self.input: Any = None  # Any: what the tool's own schema decoded
        self.approved_by: str | None = None
        self.started = False
        self.outcome: Outcome | None = None
        self.settled = False


class Run:
    """Everything that changes during a run."""

    __slots__ = (
        "batch",
        "began",
        "emit",
        "ended",
        "given",
        "id",
        "interruption",
        "journal_failure",
        "prepared",
        "state",
        "transcript",
    )

    def __init__(
        self, run_id: str, prepared: PreparedAgent, given: Given, history: History | None, emit: Emitter | None
    ) -> None:
        self.id = run_id
        self.prepared = prepared
        self.given = given
        self.emit = emit
        self.state = State()
        self.transcript = Transcript(history or History())
        self.interruption = Interruption()
        self.batch: list[Call] = []
        self.began = prepared.clock.monotonic()
        self.journal_failure: JournalFailed | None = None
        self.ended: Result[Completed[Any], RunFailure] | None = None

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.prepared.clock.monotonic() - self.began

    async def commit(self, record: Record) -> bool:
        """Append a record, where there is a journal; False where it was not taken, and then the run ends."""
        journal = self.prepared.journal
        if journal is None:
            return True
        try:
            appended = await journal.append(record)
        except Exception:
            log().exception("the journal broke", record=record.id)
            failure = JournalFailed(record.id, "the journal broke")
        else:
            if isinstance(appended, Success):
                return True
            # Past the types anything can come back, and only a Success is a promise.
            failure = (
                appended.failure() if isinstance(appended, Failure) else JournalFailed(record.id, "it gave no answer")
            )
        self.journal_failure = self.journal_failure or failure
        return False

    def report(self) -> RunReport:
        """Say what the run did until now."""
        state = self.state
        return RunReport(
            run=self.id,
            turns=state.turn,
            tool_calls=state.calls,
            usage=state.totals,
            history=self.transcript.history(),
        )

    def failure(self, cause: RunCause) -> RunFailure:
        """Make the failure that the run ends with."""
        return RunFailure(cause, self.report())
