"""One run's own state: what the loop, the batch and the settlement share."""

from __future__ import annotations

from typing import Any

from returns.result import Failure, Result, Success

from lamina.call import CallKey, Outcome
from lamina.conversation import ApprovalDecided, History, Journal, JournalFailed, Record, RunEnded, Transcript
from lamina.effect import log
from lamina.engine._emitter import Emitter
from lamina.engine._failures import Completed, RunCause, RunFailure, RunReport
from lamina.engine._interruption import Interruption
from lamina.engine._machine import State
from lamina.engine._prepared import Given, PreparedAgent, PreparedTool
from lamina.engine._seam import Seam
from lamina.model import ToolCall
from lamina.schema import JsonValue
from lamina.store import StoreUnavailable
from lamina.telemetry import UNOBSERVED, Watched


class Call:
    """One call of the open batch, from its declaration to its one outcome."""

    __slots__ = (
        "approved_by",
        "arguments",
        "input",
        "key",
        "name",
        "outcome",
        "place",
        "ruling",
        "rulings",
        "settled",
        "started",
        "tool",
    )

    def __init__(self, key: CallKey, declared: ToolCall, place: int) -> None:
        self.key = key
        self.place = place
        self.name = declared.name
        self.arguments = declared.arguments
        self.tool: PreparedTool | None = None
        self.input: Any = None  # Any: what the tool's own schema decoded
        self.approved_by: str | None = None
        self.ruling: ApprovalDecided | None = None
        self.rulings = 0
        self.started = False
        self.outcome: Outcome | None = None
        self.settled = False


class Run:
    """Everything that changes during a run."""

    __slots__ = (
        "author",
        "batch",
        "began",
        "blanket",
        "conversation",
        "emit",
        "ended",
        "given",
        "id",
        "input",
        "interruption",
        "journal",
        "journal_failure",
        "pending",
        "prepared",
        "seam",
        "state",
        "suspensions",
        "transcript",
        "unsure",
        "watched",
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
        self.blanket: dict[str, ApprovalDecided] = {}
        self.began = prepared.clock.monotonic()
        self.author: str | None = None
        self.conversation: str | None = None
        self.input: JsonValue = None
        self.journal: Journal | None = prepared.journal
        self.journal_failure: JournalFailed | None = None
        self.pending: list[Record] = []
        self.suspensions = 0
        takes = prepared.steering if prepared.policy.steering else None
        self.seam = None if takes is None else Seam(takes)
        self.unsure: list[tuple[Record, ...]] = []
        self.ended: Result[Completed[Any], RunFailure] | None = None
        self.watched: Watched = UNOBSERVED

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.prepared.clock.monotonic() - self.began

    def wait(self) -> None:
        """Count no time: the run has not begun, and waits for its place (RUN-030)."""
        self.interruption.hold()

    def begin(self) -> None:
        """Count the time from now on."""
        self.began = self.prepared.clock.monotonic()
        self.interruption.move(self.prepared.clock, self.began + self.prepared.policy.max_duration)

    async def open(self, opening: tuple[Record, ...]) -> JournalFailed | None:
        """Commit a run's first records; gives what kept them from being taken."""
        if await self.commit(*opening):
            return None
        self.unsure = []  # nothing has happened
        return self.journal_failure

    def later(self, *records: Record) -> None:
        """Keep records for the next commit: what changes nothing by itself needs no commit of its own."""
        if self.journal is not None:
            self.pending += records

    async def commit(self, *records: Record) -> bool:
        """Append what waits and these records as one batch, where there is a journal.

        Returns:
            False where the batch was not taken, and then the run ends.
        """
        journal = self.journal
        if journal is None:
            return True
        batches, self.unsure = self.unsure, []
        if batch := (*self.pending, *records) if self.pending else records:
            batches.append(batch)
            self.pending = []
            if len(batches) == 1 and self.journal_failure is None:
                # Nearly always nothing is left of earlier, and the first try is taken; it is made here, for each
                # coroutine more is paid for by every batch of every run.
                try:
                    appended = await journal.append(*batch)
                except Exception:
                    self._broke(batch)
                except BaseException:
                    self.unsure += batches
                    raise
                else:
                    if isinstance(appended, Success):
                        if self.seam is not None:
                            self.seam.landed(batch)
                        return True
                    await self._append(batches, (appended,))
        while batches and self.journal_failure is None:
            await self._append(batches)
        # What was not taken has happened all the same: it is tried once more when the run ends.
        self.unsure = batches + self.unsure
        return not batches

    async def end(self, last: Record) -> bool:
        """Append what waits together with what ends or suspends the run; refused, only the last record is let go."""
        if await self.commit(last):
            return True
        kept = [tuple([record for record in batch if record is not last]) for batch in self.unsure]
        self.unsure = [batch for batch in kept if batch]
        return False

    async def insist(self, ending: RunEnded) -> None:
        """Append each batch that was not taken once more, and the ending by itself, whatever becomes of the others."""
        if self.journal is None:
            return
        batches, self.unsure = [*self.unsure, *([tuple(self.pending)] if self.pending else []), (ending,)], []
        self.pending = []
        while batches:
            if not await self._append(batches):
                del batches[0]

    async def _append(
        self, batches: list[tuple[Record, ...]], said: tuple[Result[None, JournalFailed]] | None = None
    ) -> bool:
        """Append the first of some batches, and take it off; what is cut off is appended again, by the next commit.

        Args:
            batches: The batches; the first is taken off when it is in the log.
            said: What the journal said of the first, if that was tried already.
        """
        assert self.journal is not None
        batch = batches[0]
        try:
            appended = said[0] if said is not None else await self.journal.append(*batch)
            # Where it may be there: the same batch is the same again, and now that is known. A success is told first,
            # for to see that it is no `Failure`, an abstract class, takes longer.
            if not isinstance(appended, Success) and _in_doubt(appended):
                appended = await self.journal.append(*batch)
        except Exception:
            self._broke(batch)
            return False
        except BaseException:
            self.unsure += batches
            raise
        if isinstance(appended, Success):
            if self.seam is not None:
                self.seam.landed(batches[0])
            del batches[0]
            return True
        # Past the types anything can come back, and only a Success is a promise.
        failure = (
            appended.failure() if isinstance(appended, Failure) else JournalFailed(batch[-1].id, "it gave no answer")
        )
        self.journal_failure = self.journal_failure or failure
        return False

    def _broke(self, batch: tuple[Record, ...]) -> None:
        log().exception("the journal broke", record=batch[-1].id)
        self.journal_failure = self.journal_failure or JournalFailed(batch[-1].id, "the journal broke")

    def report(self) -> RunReport:
        """Say what the run did until now."""
        state = self.state
        return RunReport(
            run=self.id,
            turns=state.turn,
            tool_calls=state.calls,
            usage=state.totals,
            history=self.transcript.history(),
            conversation=self.conversation,
            undelivered=() if self.seam is None else self.seam.undelivered,
        )

    def failure(self, cause: RunCause) -> RunFailure:
        """Make the failure that the run ends with."""
        return RunFailure(cause, self.report())


def _in_doubt(appended: Result[None, JournalFailed]) -> bool:
    """Tell whether a batch may have been kept that the journal says has failed."""
    if not isinstance(appended, Failure):
        return False
    cause: object = getattr(appended.failure(), "cause", None)  # past the types anything can come back
    return isinstance(cause, StoreUnavailable) and cause.in_doubt
