"""The line on what is used and left that ends each request, and that no history keeps (RUN-024)."""

from __future__ import annotations

from lamina.engine._run import Run


def status_line(run: Run) -> str:
    """Say how far the run is, and from four fifths of a limit on, that it should come to its end."""
    policy, state, elapsed = run.prepared.policy, run.state, run.elapsed()
    totals = state.totals
    budget = policy.token_budget
    line = (
        f"<run-status>turn {state.turn + 1}/{policy.max_turns} · tool-calls {state.calls}/{policy.max_tool_calls}"
        f" · tokens {totals.total_tokens}/{budget if budget is not None else 'unbounded'}"
        f" · last-context {totals.context_tokens} · elapsed {elapsed:.0f}s/{policy.max_duration:.0f}s</run-status>"
    )
    if state.exhausted is not None:
        return f"{line}\nThe budget is used up: give your final answer now, without tools."
    nearly = (
        5 * (state.turn + 1) > 4 * policy.max_turns
        or 5 * state.calls >= 4 * policy.max_tool_calls
        or (budget is not None and 5 * totals.total_tokens >= 4 * budget)
        or 5 * elapsed >= 4 * policy.max_duration
    )
    return f"{line}\nThe budget is nearly used up: come to your final answer." if nearly else line
