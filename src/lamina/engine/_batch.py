"""The batch driver: the whole batch passes stages 1 to 6 before any handler starts; then its calls run (design §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lamina.call import Outcome, ToolFailure, ToolRejected
from lamina.conversation import ResponseDeclared, ResultSettled, TurnAdvanced
from lamina.engine._approve import approve
from lamina.engine._check import check
from lamina.engine._declare import declare, open_batch
from lamina.engine._execute import execute
from lamina.engine._failures import RunCause, RunSuspended, ToolFailed
from lamina.engine._record import budget
from lamina.engine._run import Call, Run
from lamina.engine._settle import close_batch, cut_off, settle, tell
from lamina.model import ModelResponse


async def run_batch(run: Run, response: ModelResponse) -> tuple[list[Outcome], RunCause | None]:
    """Run the calls of a complete response.

    Returns:
        The outcomes in declaration order, and what ends the run, if anything does.
    """
    declared = await declare(run, response)
    calls = run.batch
    ended_by: RunCause | None = None
    if declared:
        for call in calls:
            await check(run, call)
        ended_by = await approve(run, calls)
    if isinstance(ended_by, RunSuspended):
        return [], ended_by  # the batch stays open: whoever resumes the run goes on with it
    return await conclude(run, calls, ended_by if declared else run.journal_failure)


async def conclude(run: Run, calls: Sequence[Call], ended_by: RunCause | None) -> tuple[list[Outcome], RunCause | None]:
    """Take a batch that was checked and approved to its end; where something ends the run, nothing of it starts."""
    if ended_by is not None:
        for call in calls:
            call.outcome = call.outcome or ToolRejected("not-started")
    for call in calls:
        if call.outcome is not None:
            await settle(run, call)
    await _run_all(run, [call for call in calls if call.outcome is None])
    ended_by = ended_by or _ending_failure(calls)
    outcomes = close_batch(run)
    run.later(TurnAdvanced(run.id, run.state.turn))
    return outcomes, ended_by or run.journal_failure


def refuse_batch(run: Run, response: ModelResponse) -> None:
    """Answer every call of a response with `budget`: no handler runs, and nothing is committed for it (RUN-018)."""
    open_batch(run, response)
    run.later(ResponseDeclared(run.id, run.state.turn, response.message, response.usage))
    for call in run.batch:
        call.outcome = ToolRejected("budget")
        budget(run, call, run.state.exhausted)
        run.later(ResultSettled(call.key, call.outcome))
        tell(run, call)
    close_batch(run)
    run.later(TurnAdvanced(run.id, run.state.turn))


async def _run_all(run: Run, calls: Sequence[Call]) -> None:
    """Run the calls side by side; one alone runs inline, and nothing is spawned for it."""
    if not calls:
        return
    # Whatever swallowed a cancellation, an approver or a body: its answer stands, and the run ends all the same.
    if run.interruption.asked():
        await run.interruption.renew()
    if len(calls) == 1:
        await execute(run, calls[0], None)
        if run.interruption.asked():
            await run.interruption.renew()
        return
    limit = run.prepared.policy.tool_concurrency
    semaphore = asyncio.Semaphore(limit) if limit < len(calls) else None
    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(execute(run, call, semaphore))
    for call in calls:
        if call.outcome is None:  # its own task was cancelled, by its body or by another's
            cut_off(call)
            await settle(run, call)


def _ending_failure(calls: Sequence[Call]) -> ToolFailed | None:
    for call in calls:
        if isinstance(call.outcome, ToolFailure) and call.tool is not None and call.tool.tool.failure_mode == "error":
            return ToolFailed(call.key, call.name, call.outcome.error)
    return None
