"""The turn machine, rule by rule; it is pure, so nothing runs here."""

from __future__ import annotations

import attrs
import pytest
from returns.result import Failure, Success

from lamina.call import ToolDefect, ToolSuccess
from lamina.engine._failures import AgentOutputError, PolicyExceeded, RunDefect
from lamina.engine._machine import (
    AskModel,
    Fail,
    Finish,
    RefuseBatch,
    Repair,
    RunBatch,
    State,
    again,
    begin,
    responded,
    settled,
    warnings,
)
from lamina.model import AssistantMessage, ModelProtocolError, ModelResponse, ToolCall, Usage, UsageTotals
from tests.unit.engine.world import policy


def answer(text: str = "done", finish: str = "stop", usage: Usage | None = Usage(10, 5)) -> ModelResponse:
    return ModelResponse(AssistantMessage(()), (), text, finish, usage)


def calls(count: int, finish: str = "tool-calls", usage: Usage | None = Usage(10, 5)) -> ModelResponse:
    declared = tuple(ToolCall(f"c{index}", "echo", "{}") for index in range(count))
    return ModelResponse(AssistantMessage(declared), declared, "", finish, usage)


def test_begins_with_tools_and_without_them_once_a_budget_is_used_up() -> None:
    assert begin(State())[1] == AskModel(tools=True)
    assert begin(State(exhausted="tokens"))[1] == AskModel(tools=False)


def test_an_answer_that_fits_finishes() -> None:
    state, decision = responded(State(), policy(), answer(), Success("done"))

    assert decision == Finish("done")
    assert (state.turn, state.totals.total_tokens, state.exhausted) == (1, 15, None)


def test_missing_usage_fails_because_no_budget_could_be_kept() -> None:
    assert responded(State(), policy(), answer(usage=None), Success("x"))[1] == Fail(PolicyExceeded("usage"))


@pytest.mark.parametrize(
    ("response", "rule"),
    [
        (calls(1, "length"), "truncated"),
        (calls(1, "stop"), "finish-reason"),
        (answer(finish="length"), "truncated"),
        (answer(finish="content-filter"), "content-filter"),
        (answer(finish="tool-calls"), "finish-reason"),
    ],
)
def test_a_finish_that_does_not_fit_runs_nothing(response: ModelResponse, rule: str) -> None:
    _, decision = responded(State(), policy(), response, None if response.calls else Success("x"))

    assert isinstance(decision, Fail)
    assert isinstance(decision.cause, ModelProtocolError)
    assert decision.cause.rule == rule


def test_calls_are_counted_when_they_are_admitted() -> None:
    state, decision = responded(State(), policy(max_tool_calls=3), calls(3), None)

    assert (decision, state.calls) == (RunBatch(), 3)


def test_a_batch_over_the_budget_is_refused_whole_and_the_next_request_has_no_tools() -> None:
    state, decision = responded(State(calls=4), policy(max_tool_calls=6), calls(3), None)

    assert (decision, state.calls, state.exhausted) == (RefuseBatch(), 4, "tool-calls")
    assert again(state, policy())[1] == AskModel(tools=False)


def test_a_batch_over_the_budget_fails_where_the_policy_says_so() -> None:
    failing = policy(max_tool_calls=6, on_exhaustion="fail")

    assert responded(State(calls=4), failing, calls(3), None)[1] == Fail(PolicyExceeded("tool-calls"))


def test_a_call_without_tools_offered_is_a_protocol_error() -> None:
    _, decision = responded(State(exhausted="turns"), policy(), calls(1), None)

    assert isinstance(decision, Fail)
    assert isinstance(decision.cause, ModelProtocolError)
    assert decision.cause.rule == "tool-choice"


def test_the_token_budget_is_strict_and_charged_once() -> None:
    at_limit = policy(token_budget=15)
    assert responded(State(), at_limit, answer(), Success("x"))[1] == Finish("x")

    state, decision = responded(State(), policy(token_budget=14), calls(1), None)
    assert (decision, state.exhausted) == (RefuseBatch(), "tokens")
    # The grace turn goes further over the budget, and that is no second breach.
    assert responded(state, policy(token_budget=14), answer(), Success("x"))[1] == Finish("x")


def test_a_fitting_answer_over_the_token_budget_completes_and_says_so() -> None:
    state, decision = responded(State(), policy(token_budget=1), answer(), Success("x"))

    assert (decision, state.exhausted) == (Finish("x"), "tokens")


def test_an_unfit_answer_over_the_token_budget_gets_one_turn_without_tools() -> None:
    state, decision = responded(State(), policy(token_budget=1), answer(), Failure(("$: no",)))
    assert decision == Repair(("$: no",))
    assert again(state, policy(token_budget=1))[1] == AskModel(tools=False)

    assert responded(state, policy(token_budget=1), answer(), Failure(("$: no",)))[1] == Fail(
        AgentOutputError(("$: no",))
    )


def test_one_repair_and_then_the_run_fails() -> None:
    state, decision = responded(State(), policy(), answer(), Failure(("$: no",)))
    assert (decision, state.repairs) == (Repair(("$: no",)), 1)

    assert responded(state, policy(), answer(), Failure(("$: still",)))[1] == Fail(AgentOutputError(("$: still",)))


def test_no_repair_where_the_policy_has_none() -> None:
    _, decision = responded(State(), policy(output_repairs=0), answer(), Failure(("$: no",)))

    assert decision == Fail(AgentOutputError(("$: no",)))


def test_past_the_last_turn_there_is_exactly_one_more_without_tools() -> None:
    state, decision = again(State(turn=10), policy(max_turns=10))
    assert (decision, state.exhausted) == (AskModel(tools=False), "turns")

    _, decision = responded(attrs.evolve(state, turn=11), policy(max_turns=10), answer(), Failure(("$: no",)))
    assert decision == Fail(AgentOutputError(("$: no",)))


def test_past_the_last_turn_the_run_fails_where_the_policy_says_so() -> None:
    failing = policy(max_turns=10, on_exhaustion="fail")

    assert again(State(turn=10), failing)[1] == Fail(PolicyExceeded("turns"))


def test_a_turn_counts_as_failed_when_all_its_calls_failed_and_any_success_resets() -> None:
    limits = policy(repeated_failure_limit=2)
    failed, success = ToolDefect("raised"), ToolSuccess(1)

    once, decision = settled(State(), limits, [failed, failed, failed], None)
    assert (once.failed_turns, decision) == (1, AskModel(tools=True))
    assert settled(once, limits, [failed], None)[1] == Fail(PolicyExceeded("repeated-failures"))
    assert settled(once, limits, [failed, success], None)[0].failed_turns == 0


def test_repeated_failures_are_not_counted_where_the_limit_is_zero() -> None:
    unlimited = policy(repeated_failure_limit=0)

    assert settled(State(failed_turns=99), unlimited, [ToolDefect()], None)[1] == AskModel(tools=True)


def test_what_ends_the_run_in_a_batch_ends_it() -> None:
    assert settled(State(), policy(), [ToolSuccess(1)], RunDefect())[1] == Fail(RunDefect())


def test_every_limit_is_warned_of_once_from_four_fifths_on() -> None:
    limits = policy(max_turns=10, max_tool_calls=10, max_duration=100, token_budget=100, context_token_limit=100)
    used = State(turn=8, calls=8, totals=UsageTotals(input_tokens=80, last_input_tokens=80))

    warned, due = warnings(used, limits, 80.0)
    assert [name for name, _, _ in due] == ["tokens", "tool-calls", "turns", "duration", "context"]
    assert warnings(warned, limits, 90.0)[1] == []
    assert warnings(State(turn=7), limits, 79.0)[1] == []
