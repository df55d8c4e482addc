"""What `noxfile.py protocols` takes for a failure: also a reason that is missing, and an entry that is true no more."""

from __future__ import annotations

import pytest

from tests.protocols.judging import BASELINE, BadBaseline, Ended, read_baseline, scenarios_of, verdict

OUTPUT = """=== SUMMARY ===
✓ ping: 2 passed, 0 failed
✗ tasks-lifecycle: 1 passed, 8 failed
  ✗ tasks-lifecycle (extension)
"""


def test_scenarios_are_counted_once() -> None:
    assert scenarios_of(OUTPUT) == (1, {"tasks-lifecycle": "8 of 9 checks failed"})
    assert scenarios_of("it broke") == (0, {})


def test_what_is_committed_can_be_read() -> None:
    assert set(read_baseline(BASELINE.read_text(encoding="utf-8"))) <= {"server", "client"}


@pytest.mark.parametrize(
    "text", ["server:\n  - a\n", "  - a  # why\n", "server:\n  - a  # why\n  - a  # why\n", "server: [a]\n"]
)
def test_a_baseline_that_says_less_is_refused(text: str) -> None:
    with pytest.raises(BadBaseline, match="line"):
        read_baseline(text)


def test_what_fails_and_is_named_with_its_reason_is_no_failure() -> None:
    baseline = read_baseline("# why\nserver:\n  - tasks  # the SDK has none\nclient:\n  - auth  # why\n")
    lines, wrong = verdict([Ended("server new", 4, {"tasks": "1 of 2"}, "server")], baseline)
    assert wrong == []
    assert lines == [
        "suite       passed  failed  baseline",
        "server new       4       0         1",
        "baseline of the server: the SDK has none (tasks)",
    ]


def test_everything_else_is_wrong() -> None:
    baseline = {"server": {"tasks": "why", "old": "why"}}
    ended = [
        Ended("one", 1, {"tasks": "no"}, "server"),
        Ended("two", 1, {"ping": "no"}, "server", missing=2),
        Ended("peer", 0, {"tasks": "no"}),
    ]
    assert verdict(ended, baseline)[1] == [
        "two: ping: no",
        "two: 2 scenarios did not run",
        "peer: tasks: no",
        "baseline: server: old fails no more; take it out",
    ]
