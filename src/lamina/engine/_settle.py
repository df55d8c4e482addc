"""Stage 12: each result is recorded when it is there; the model sees the batch in order, whole or not at all."""

from __future__ import annotations

from lamina.call import Outcome, ToolFailure, ToolSuccess, interrupted, told
from lamina.conversation import ResultSettled
from lamina.effect import tag_of
from lamina.engine._events import ToolCallFailed, ToolCallSucceeded
from lamina.engine._run import Call, Run
from lamina.model import ToolResult


async def settle(run: Run, call: Call) -> None:
    """Record a call's outcome and tell the observers; a call whose record was cut off is settled again, the same."""
    outcome = call.outcome
    if outcome is None:
        return
    secrets = run.prepared.secrets
    if secrets.active and not isinstance(outcome, ToolSuccess | ToolFailure):  # those were redacted before the cut
        outcome = call.outcome = secrets.redact_in(outcome)
    if run.journal is not None and not call.settled:
        await run.commit(ResultSettled(call.key, outcome))
    tell(run, call)


def tell(run: Run, call: Call) -> None:
    """Count a call that has its outcome as settled, and tell the observers."""
    call.settled = True
    outcome = call.outcome
    if run.emit is None or outcome is None:
        return
    where = {"turn": call.key.turn, "call": call.key.call, "tool": call.name}
    if isinstance(outcome, ToolSuccess):
        run.emit(ToolCallSucceeded, **where, result=outcome.value)
        return
    error_tag = tag_of(outcome.error) if isinstance(outcome, ToolFailure) else tag_of(outcome)
    run.emit(
        ToolCallFailed,
        **where,
        outcome=tag_of(outcome),
        error_tag=error_tag,
        message=run.prepared.secrets.redact_text(outcome.message),
    )


def close_batch(run: Run) -> list[Outcome]:
    """Put the batch into the history: one result a call, in declaration order (RUN-005, RUN-006)."""
    outcomes = [call.outcome for call in run.batch if call.outcome is not None]
    assert len(outcomes) == len(run.batch), "every call of a batch has an outcome before the batch is closed"
    run.transcript.close(
        [
            ToolResult(call.key.call, call.name, told(outcome), not isinstance(outcome, ToolSuccess))
            for call, outcome in zip(run.batch, outcomes, strict=True)
        ]
    )
    run.batch = []
    return outcomes


def cut_off(call: Call) -> None:
    """Give a call that did not come to its end the outcome that is honest of it."""
    if call.outcome is None:
        execution = "uncertain" if call.tool is None else call.tool.tool.execution
        call.outcome = interrupted(started=call.started, execution=execution)


def close_interrupted(run: Run) -> list[Call]:
    """Close the batch of a run that was cut off, so that its history is whole before anything is waited for.

    Returns:
        The calls whose outcomes nobody knows of yet.
    """
    if run.transcript.open_batch is None:
        return []
    batch = run.batch
    for call in batch:
        cut_off(call)
    close_batch(run)
    return [call for call in batch if not call.settled]
