"""How a report is judged: by the first rule whose words it holds."""

from __future__ import annotations

import pytest

from lamina.demo._reading import clue_in, judge, mentioned_in, worst_first


@pytest.mark.parametrize(
    ("text", "label", "severity"),
    [
        ("The log shows my password, and it crashes.", "security", "critical"),
        ("It loses notes when it crashes.", "data-loss", "high"),
        ("The window is closed at once.", "crash", "high"),
        ("It freezes for a minute.", "slow", "medium"),
        ("A typo in the menu.", "wording", "low"),
        ("Nothing works.", "unclear", "low"),
        ("", "unclear", "low"),
    ],
)
def test_judge(text: str, label: str, severity: str) -> None:
    finding = judge("a.md", text)

    assert (finding.report, finding.label, finding.severity) == ("a.md", label, severity)


def test_the_reason_quotes_the_line_it_went_by_within_bounds() -> None:
    finding = judge("a.md", "# Title\n" + "x" * 500 + " typo")

    assert finding.reason.startswith("It says: xxx")
    assert len(finding.reason) <= 300


def test_the_worst_comes_first() -> None:
    findings = [judge("b.md", "typo"), judge("c.md", "slow"), judge("a.md", "typo"), judge("d.md", "password")]

    assert [finding.report for finding in worst_first(findings)] == ["d.md", "c.md", "a.md", "b.md"]


def test_clues_and_mentions() -> None:
    assert clue_in({"a": "nothing", "b": "a TimeoutError, a KeyError"}) == "TimeoutError"
    assert clue_in({"a": "an error"}) is None
    assert mentioned_in({"a": "see out.log and in/side.log"}) == "out.log"
    assert mentioned_in({"a.txt": "as in a.txt"}) is None
