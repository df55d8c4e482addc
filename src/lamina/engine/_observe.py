"""What telemetry is told of how a run and its parts ended, where somebody observes them (behaviour §13)."""

from __future__ import annotations

from typing import Any

from returns.result import Failure, Result

from lamina.call import Outcome, ToolFailure
from lamina.effect import tag_of
from lamina.engine._failures import Completed, RunCause, RunDefect, RunInterrupted, RunSuspended
from lamina.engine._redact import Answer
from lamina.engine._run import Run
from lamina.telemetry import Watched, category_of, tool_ended


def run_ended(run: Run, ended: Result[Completed[Any], RunCause]) -> None:
    """Say how a run ended; one that waits for a decision has done what it could."""
    watched, state = run.watched, run.state
    totals = state.totals
    numbers = {
        "lamina.run.turns": state.turn,
        "lamina.run.tool_calls": state.calls,
        "gen_ai.usage.input_tokens": totals.input_tokens,
        "gen_ai.usage.output_tokens": totals.output_tokens,
    }
    if not isinstance(ended, Failure):
        watched.note({**numbers, "lamina.run.finish_reason": ended.unwrap().finish_reason})
        return
    cause = ended.failure()
    if isinstance(cause, RunSuspended):
        reason = "suspended"
    elif isinstance(cause, RunInterrupted):
        reason = "interrupted"
        watched.ended(None, "interrupted")
    else:
        reason = "failed"
        watched.ended("defect" if isinstance(cause, RunDefect) else "failure", category_of(cause))
    watched.note({**numbers, "lamina.run.finish_reason": reason})


def model_ended(watched: Watched, answer: Answer) -> None:
    """Say what a request to the model came to."""
    watched.returned(answer)
    usage = None if isinstance(answer, Failure) else answer.unwrap().usage
    if usage is not None:
        tokens = {"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens}
        watched.note(tokens)


def call_ended(watched: Watched, outcome: Outcome | None) -> None:
    """Say what came of a tool call."""
    if outcome is not None:
        tool_ended(watched, tag_of(outcome), tag_of(outcome.error) if isinstance(outcome, ToolFailure) else None)
