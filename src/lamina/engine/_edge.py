"""The edge of a run: whatever happens inside, it ends once, with every call settled (RUN-002, design §2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

import attrs
from anyio.lowlevel import checkpoint_if_cancelled
from returns.result import Failure, Result, Success

from lamina.conversation import JournalFailed, RunEnded
from lamina.conversation import RunSuspended as SuspensionRecorded
from lamina.effect import log, message_of, tag_of
from lamina.engine._events import RunAwaitsDecision, RunFailed, RunStopped
from lamina.engine._failures import (
    Completed,
    PolicyExceeded,
    RunCause,
    RunDefect,
    RunFailure,
    RunInterrupted,
    RunSuspended,
    SteeringFailed,
)
from lamina.engine._loop import completion_event
from lamina.engine._observe import run_ended
from lamina.engine._record import policy
from lamina.engine._resume import suspended_state
from lamina.engine._run import Call, Run
from lamina.engine._seam import Seam
from lamina.engine._settle import close_interrupted, settle, tell
from lamina.engine._steer import end_seam, pause_seam
from lamina.store import StoreUnavailable
from lamina.telemetry import observe_run

Settle: TypeAlias = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
"""Runs a settlement to its end in a task that the runtime owns, through repeated cancellations."""
Ended: TypeAlias = Result[Completed[Any], RunCause]  # Any: the agent's output


async def run_to_end(
    run: Run, work: Callable[[], Awaitable[Ended]], settle_in: Settle, conversation: str | None = None
) -> Result[Completed[Any], RunFailure]:
    """Take a run to its one ending.

    A cancellation from outside is settled and passed on; the run's own (its time is over, or its handle interrupted
    it) becomes the failure that it is. A defect ends the run, and its text stays in the log.

    Args:
        run: The run.
        work: Interprets it, from its input or from where it was suspended.
        settle_in: What runs the settlement.
        conversation: The conversation that it is to be in, for telemetry.
    """
    prepared = run.prepared
    if prepared.telemetry is not None:
        run.watched = observe_run(
            prepared.telemetry,
            run=run.id,
            agent=prepared.agent.id,
            conversation=conversation,
            secrets=prepared.secrets,
            clock=prepared.clock,
        )
    with run.watched, run.interruption.enter(prepared.clock, run.began + prepared.policy.max_duration):
        try:
            try:
                ended = await work()
            except GeneratorExit:  # the loop is gone: nothing can be waited for
                raise
            except BaseException as error:
                cause, passes = _cut_off(run, error)
                if not passes:
                    return await _finish(run, Failure(cause), settle_in)
                with suppress(asyncio.CancelledError):
                    await _finish(run, Failure(cause), settle_in)
                await checkpoint_if_cancelled()  # an anyio scope takes only what it delivers itself
                if isinstance(error, Exception):
                    raise asyncio.CancelledError from None
                raise
            return await _finish(run, ended, settle_in)
        finally:
            await run.interruption.absorb()


def _cut_off(run: Run, error: BaseException) -> tuple[RunCause, bool]:
    """Say what a run ends with that something has cut off, and whether a cancellation, or the error, goes on."""
    if isinstance(error, Exception):
        log().exception("a run broke", run=run.id, agent=run.prepared.agent.id)
    elif not isinstance(error, asyncio.CancelledError):
        return RunInterrupted(), True
    if not run.interruption.asked():
        if not isinstance(error, Exception):
            log().error("a run was cancelled by something below it", run=run.id, agent=run.prepared.agent.id)
        return RunDefect(), False
    reason = run.interruption.claim()
    return PolicyExceeded("duration") if reason == "duration" else RunInterrupted(), reason is None


async def _finish(run: Run, ended: Ended, settle_in: Settle) -> Result[Completed[Any], RunFailure]:
    """Settle what was under way, record the ending and tell it: the same however it came about.

    Raises:
        asyncio.CancelledError: Somebody outside cancelled meanwhile; all of this has been done by then.
    """
    run.interruption.close()
    suspended = _suspension(ended)
    unsettled = close_interrupted(run) if suspended is None else []
    late: asyncio.CancelledError | None = None
    if suspended is not None and run.seam is not None:
        late = await _release(run, settle_in, pauses=True)  # first: whoever resumes the run opens it again
    if run.journal is not None:
        try:
            await settle_in(lambda: _record(run, ended, unsettled))
        except asyncio.CancelledError as cancelled:
            late = late or (None if run.interruption.claim() else cancelled)
        except Exception:
            log().exception("the journal did not take a run's ending", run=run.id)
            run.journal_failure = run.journal_failure or JournalFailed(f"ended:{run.id}", "it did not answer in time")
        if run.journal_failure is not None and (suspended is not None or isinstance(ended, Success)):
            ended = Failure(run.journal_failure)
            unsettled += close_interrupted(run)
    if run.seam is not None and _suspension(ended) is None:
        late = await _release(run, settle_in, pauses=False) or late
        if isinstance(ended, Success):
            ended = _with_undelivered(run, run.seam, ended.unwrap())
    if suspended is not None:
        run.transcript.drop()
    for call in unsettled:
        if not call.settled:
            tell(run, call)
    result = _tell_ending(run, ended)
    if late is not None:
        raise late
    return result


async def _release(run: Run, settle_in: Settle, *, pauses: bool) -> asyncio.CancelledError | None:
    """Let go of what is said to the run; gives a cancellation from outside that came meanwhile."""
    seam = run.seam
    assert seam is not None
    if seam.state != "open":
        return None
    try:
        await settle_in(lambda: (pause_seam if pauses else end_seam)(run, seam))
    except asyncio.CancelledError as cancelled:
        return None if run.interruption.claim() else cancelled
    except Exception:
        log().exception("the commands of a run were not settled", run=run.id)
    return None


def _with_undelivered(run: Run, seam: Seam, completed: Completed[Any]) -> Ended:
    """Add to an answer what was not delivered; where that cannot be told, the run has failed."""
    if seam.state == "open":
        return Failure(SteeringFailed(seam.failure or StoreUnavailable("timeout")))
    return Success(attrs.evolve(completed, report=run.report())) if seam.undelivered else Success(completed)


async def _record(run: Run, ended: Ended, unsettled: list[Call]) -> None:
    """Record how the run ended, or that it is suspended; whatever is not taken, the conversation is set free."""
    suspended = _suspension(ended)
    if suspended is not None:
        if await run.end(SuspensionRecorded(run.id, suspended.turn, suspended_state(run), run.suspensions + 1)):
            return
        unsettled += close_interrupted(run)
    for call in unsettled:
        await settle(run, call)
    cause = ended.failure() if isinstance(ended, Failure) and suspended is None else None
    if run.journal_failure is None and await run.end(_ending(run, cause)):
        return
    await run.insist(_ending(run, cause or run.journal_failure))


def _ending(run: Run, cause: RunCause | None) -> RunEnded:
    if cause is None:
        return RunEnded(run.id, "completed")
    return RunEnded(run.id, "interrupted" if isinstance(cause, RunInterrupted) else "failed", tag_of(cause))


def _suspension(ended: Ended) -> RunSuspended | None:
    cause = ended.failure() if isinstance(ended, Failure) else None
    return cause if isinstance(cause, RunSuspended) else None


def _tell_ending(run: Run, ended: Ended) -> Result[Completed[Any], RunFailure]:
    if run.seam is not None:
        run.seam.ready.set()
    if run.watched.live:
        run_ended(run, ended)
    if not isinstance(ended, Failure):
        run.ended = Success(ended.unwrap())
        completion_event(run, ended.unwrap())
        return run.ended
    secrets = run.prepared.secrets
    cause = secrets.redact_in(ended.failure())
    if isinstance(cause, PolicyExceeded):
        policy(run, cause)
    run.ended = Failure(run.failure(cause))
    if run.emit is not None:
        message = secrets.redact_text(message_of(cause))
        if isinstance(cause, RunInterrupted):
            run.emit(RunStopped, message=message)
        elif isinstance(cause, RunSuspended):
            run.emit(RunAwaitsDecision, message=message, calls=tuple([each.call for each in cause.waiting]))
        else:
            run.emit(RunFailed, error_tag=tag_of(cause), message=message)
    return run.ended
