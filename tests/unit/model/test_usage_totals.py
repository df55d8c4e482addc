"""Counting tokens over a run (CAP-017, RUN-023)."""

from __future__ import annotations

import pytest

from lamina.model import Usage, UsageTotals, usage_problem

FIRST = Usage(100, 20, cache_read_tokens=60, cache_write_tokens=10, reasoning_tokens=5)
SECOND = Usage(130, 7, cache_read_tokens=100)


def test_the_input_total_includes_what_was_cached() -> None:
    assert (FIRST.input_tokens, FIRST.uncached_tokens, FIRST.total_tokens) == (100, 30, 120)


def test_totals_add_up_and_keep_the_last_call() -> None:
    empty = UsageTotals()
    totals = empty + FIRST + SECOND

    assert totals == UsageTotals(2, 230, 27, 160, 10, 5, 130, 7)
    assert (totals.uncached_tokens, totals.total_tokens, totals.context_tokens) == (60, 257, 137)
    assert empty == UsageTotals()


def test_a_delta_is_what_lies_between() -> None:
    before = UsageTotals() + FIRST
    after = before + SECOND + SECOND
    delta = after - before

    assert (delta.requests, delta.input_tokens, delta.last_output_tokens) == (2, 260, 7)
    assert (delta.uncached_tokens, delta.total_tokens) == (60, 274)
    assert before + delta == after


def test_a_childs_usage_is_charged_to_its_parent() -> None:
    child = UsageTotals() + FIRST + SECOND

    charged = (UsageTotals() + FIRST) + (child - UsageTotals())

    assert (charged.requests, charged.input_tokens) == (3, 330)


@pytest.mark.parametrize(
    ("seed", "problem"),
    [
        (UsageTotals(), None),
        (UsageTotals() + FIRST + SECOND, None),
        (UsageTotals(1, 5, 5, last_input_tokens=6), "the last request is more than the sum of all"),
        (UsageTotals(1, 5, 5, last_output_tokens=6), "the last request is more than the sum of all"),
        (UsageTotals(-1), "requests is negative"),
        (UsageTotals(requests=True), "requests is no whole number"),
        (UsageTotals(1, 2**60), "input_tokens is too large"),
        (UsageTotals(1, 5, 5, last_input_tokens=-1), "last_input_tokens is negative"),
    ],
)
def test_a_recovered_seed_is_checked(seed: UsageTotals, problem: str | None) -> None:
    assert usage_problem(seed) == problem
