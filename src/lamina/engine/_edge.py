"""The edge of a run: whatever happens inside, it ends once, with every call settled (RUN-002, design §2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from returns.result import Failure, Result

from lamina.conversation import RunEnded
from lamina.effect import log, message_of, tag_of
from lamina.engine._events import RunFailed, RunStopped
from lamina.engine._failures import Completed, PolicyExceeded, RunCause, RunDefect, RunFailure, RunInterrupted
from lamina.engine._interruption import Reason
from lamina.engine._loop import completion_event, interpret
from lamina.engine._run import Run
from lamina.engine._settle import settle_interrupted

Settle: TypeAlias = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
"""Runs a settlement to its end in a task that the runtime owns, through repeated cancellations."""


async def run_to_end(run: Run, given: object, settle: Settle) -> Result[Completed[Any], RunFailure]:
    """Run an agent from its input to its one ending.

    A cancellation from outside is settled and passed on; the run's own (its time is over, or its handle interrupted
    it) becomes the failure that it is. A defect ends the run, and its text stays in the log.
    """
    with run.interruption.enter(run.prepared.clock, run.began + run.prepared.policy.max_duration):
        try:
            ended = await interpret(run, given)
            if isinstance(ended, Failure):
                return await _failed(run, ended.failure())
            return await _completed(run, ended)
        except asyncio.CancelledError:
            reason = run.interruption.claim()
            cause = _cause_of(reason)
            await settle(lambda: _wind_up(run, cause))
            if reason is None:
                raise
            return Failure(run.failure(cause))
        except Exception:
            log().exception("a run broke", run=run.id, agent=run.prepared.agent.id)
            await settle(lambda: _wind_up(run, RunDefect()))
            return Failure(run.failure(RunDefect()))
        except BaseException:
            await settle(lambda: _wind_up(run, RunInterrupted()))
            raise
        finally:
            await run.interruption.absorb()


def _cause_of(reason: Reason | None) -> RunCause:
    return PolicyExceeded("duration") if reason == "duration" else RunInterrupted()


async def _completed(run: Run, ended: Result[Completed[Any], RunCause]) -> Result[Completed[Any], RunFailure]:
    if not await run.commit(RunEnded(run.id, "completed")) and run.journal_failure is not None:
        return await _failed(run, run.journal_failure)
    completed = ended.unwrap()
    completion_event(run, completed)
    return ended  # type: ignore[return-value]  # a Success has no failure to be of another type


async def _failed(run: Run, cause: RunCause) -> Result[Completed[Any], RunFailure]:
    await run.commit(RunEnded(run.id, "failed", tag_of(cause)))
    if run.emit is not None:
        run.emit(RunFailed, error_tag=tag_of(cause), message=message_of(cause))
    return Failure(run.failure(cause))


async def _wind_up(run: Run, cause: RunCause) -> None:
    """Settle what was under way; the same for a cancel, a deadline, an interrupt and a defect."""
    await settle_interrupted(run)
    stopped = isinstance(cause, RunInterrupted)
    await run.commit(RunEnded(run.id, "interrupted" if stopped else "failed", tag_of(cause)))
    if run.emit is None:
        return
    if stopped:
        run.emit(RunStopped, message=message_of(cause))
    else:
        run.emit(RunFailed, error_tag=tag_of(cause), message=message_of(cause))
