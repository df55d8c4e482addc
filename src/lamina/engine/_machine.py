"""The turn machine: pure, (state, what happened) → (state, what to do next) (design §5, behaviour §2).

The loop carries decisions out and reports back; every rule about turns, budgets, repairs and endings is here.

    begin ──► AskModel ──► responded ──► RunBatch ─────► settled ──► AskModel | Fail
                              │ ├──────► RefuseBatch ──► refused ──► AskModel
                              │ └──────► Repair ───────► repaired ─► AskModel
                              └────────► Finish | Fail
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import attrs
from returns.result import Failure, Result

from lamina.agent import AgentPolicy
from lamina.call import Outcome, ToolSuccess
from lamina.effect import Value
from lamina.engine._failures import AgentOutputError, Exhausted, PolicyExceeded, RunCause
from lamina.model import ModelResponse, ToolCall, UsageTotals, check_finish

Warned: TypeAlias = Literal["turns", "tool-calls", "tokens", "duration", "context"]


@attrs.frozen(kw_only=True)
class State:
    """All that the rules depend on. Counters belong to the run.

    Attributes:
        turn: Responses so far.
        calls: Calls admitted so far, and those that the provider ran itself.
        failed_turns: Turns in a row in which every call failed.
        repairs: Final answers that were asked for again.
        totals: Tokens so far.
        exhausted: The first limit that was reached; from then on the model gets no tools.
        warned: Limits that were warned of.
    """

    turn: int = 0
    calls: int = 0
    failed_turns: int = 0
    repairs: int = 0
    totals: UsageTotals = attrs.field(factory=UsageTotals)
    exhausted: Exhausted | None = None
    warned: frozenset[Warned] = frozenset()


@attrs.frozen(eq=False, repr=False)
class AskModel(Value):
    """Send the next request, with tools or without."""

    tools: bool


@attrs.frozen(eq=False, repr=False)
class RunBatch(Value):
    """Run the response's calls."""


@attrs.frozen(eq=False, repr=False)
class RefuseBatch(Value):
    """Run none of the response's calls; tell the model that the budget is used up (RUN-018)."""


@attrs.frozen(eq=False, repr=False)
class Repair(Value):
    """Tell the model what is wrong with its answer, and ask again."""

    problems: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class Finish(Value):
    """The answer is good."""

    output: object


@attrs.frozen(eq=False, repr=False)
class Fail(Value):
    """The run ends without an answer."""

    cause: RunCause


Decision: TypeAlias = AskModel | RunBatch | RefuseBatch | Repair | Finish | Fail
Step: TypeAlias = tuple[State, Decision]

_ASK = AskModel(tools=True)
_ASK_WITHOUT_TOOLS = AskModel(tools=False)
_RUN = RunBatch()
_REFUSE = RefuseBatch()


def begin(state: State) -> Step:
    """The first request; a state from an earlier attempt keeps its counters."""
    return state, _ASK if state.exhausted is None else _ASK_WITHOUT_TOOLS


def responded(
    state: State, policy: AgentPolicy, response: ModelResponse, answer: Result[object, tuple[str, ...]] | None
) -> Step:
    """A complete response came.

    Args:
        state: As of the request.
        policy: The agent's.
        response: What the model said.
        answer: The decoded answer, or the problems that keep it from being one; None where there are calls.
    """
    usage = response.usage
    if usage is None:
        return attrs.evolve(state, turn=state.turn + 1), Fail(PolicyExceeded("usage"))
    had_tools = state.exhausted is None
    state = State(
        turn=state.turn + 1,
        calls=state.calls + _run_by_provider(response),
        failed_turns=state.failed_turns,
        repairs=state.repairs,
        totals=state.totals + usage,
        exhausted=state.exhausted,
        warned=state.warned,
    )
    verdict = check_finish(response, "auto" if had_tools else "none")
    if isinstance(verdict, Failure):
        return state, Fail(verdict.failure())
    over = policy.token_budget is not None and state.totals.total_tokens > policy.token_budget and had_tools
    if answer is None:
        return _with_calls(state, policy, len(response.calls), over=over)
    if over:
        state = attrs.evolve(state, exhausted="tokens")
        if policy.on_exhaustion == "fail":
            return state, Fail(PolicyExceeded("tokens"))
    if not isinstance(answer, Failure):
        return state, Finish(answer.unwrap())
    problems = answer.failure()
    if over:  # the one turn that may follow a breach, and it is free of repairs
        return state, Repair(problems)
    if not had_tools or state.repairs >= policy.output_repairs:
        return state, Fail(AgentOutputError(problems))
    return attrs.evolve(state, repairs=state.repairs + 1), Repair(problems)


def _run_by_provider(response: ModelResponse) -> int:
    parts = response.message.parts
    if len(parts) == len(response.calls):
        return 0
    return sum(isinstance(part, ToolCall) and part.executor == "provider" for part in parts)


def _with_calls(state: State, policy: AgentPolicy, count: int, *, over: bool) -> Step:
    breached: Exhausted | None = (
        "tokens" if over else "tool-calls" if state.calls + count > policy.max_tool_calls else None
    )
    if breached is None:
        return attrs.evolve(state, calls=state.calls + count), _RUN
    if policy.on_exhaustion == "fail":
        return state, Fail(PolicyExceeded(breached))
    return attrs.evolve(state, exhausted=breached), _REFUSE


def settled(state: State, policy: AgentPolicy, outcomes: Sequence[Outcome], ended_by: RunCause | None) -> Step:
    """The batch is settled; a turn counts as failed when all of its calls failed, and any success resets."""
    if ended_by is not None:
        return state, Fail(ended_by)
    succeeded = any(isinstance(outcome, ToolSuccess) for outcome in outcomes)
    failed_turns = 0 if succeeded else state.failed_turns + 1
    if failed_turns != state.failed_turns:
        state = attrs.evolve(state, failed_turns=failed_turns)
    if 0 < policy.repeated_failure_limit <= failed_turns:
        return state, Fail(PolicyExceeded("repeated-failures"))
    return again(state, policy)


def again(state: State, policy: AgentPolicy) -> Step:
    """Ask once more, if there is a turn left; past the last one exactly one without tools (RUN-019)."""
    if state.exhausted is not None:
        return state, _ASK_WITHOUT_TOOLS
    if state.turn < policy.max_turns:
        return state, _ASK
    if policy.on_exhaustion == "fail":
        return state, Fail(PolicyExceeded("turns"))
    return attrs.evolve(state, exhausted="turns"), _ASK_WITHOUT_TOOLS


def has_turn(state: State, policy: AgentPolicy) -> bool:
    """Whether a run that has its answer may go on all the same: no limit was reached, and a turn is left."""
    return state.exhausted is None and state.turn < policy.max_turns


def warnings(state: State, policy: AgentPolicy, elapsed: float) -> tuple[State, list[tuple[Warned, float, float]]]:
    """Give the limits of which four fifths are newly used, each with what is used and what may be."""
    due: list[tuple[Warned, float, float]] = []
    measured: tuple[tuple[Warned, float, float | None], ...] = (
        ("tokens", state.totals.total_tokens, policy.token_budget),
        ("tool-calls", state.calls, policy.max_tool_calls),
        ("turns", state.turn, policy.max_turns),
        ("duration", elapsed, policy.max_duration),
        ("context", state.totals.context_tokens, policy.context_token_limit),
    )
    for name, consumed, limit in measured:
        if limit is not None and consumed * 5 >= limit * 4 and name not in state.warned:
            due.append((name, consumed, limit))
    if due:
        state = attrs.evolve(state, warned=state.warned | {name for name, _, _ in due})
    return state, due
