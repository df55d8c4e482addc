"""Every case of the behaviour list that concerns contracts is a test with its number, or stands here with a reason."""

from __future__ import annotations

import re
from pathlib import Path

UNIT = Path(__file__).parents[1]
CASES = {*range(1, 76), *range(121, 130)}
ELSEWHERE = {
    122: "the Agent Native adapter resolves a runtime for each caller",
    123: "the Agent Native host decides which action wins",
    124: "the Agent Native host reports its calls",
    125: "the Agent Native adapter's record has no prototype",
}


def test_every_case_is_a_test_or_has_a_reason() -> None:
    found = {
        int(number)
        for path in (*UNIT.glob("contract/test_*.py"), UNIT / "demo" / "test_todo.py")
        for number in re.findall(r"def test_case_(\d+)_", path.read_text("utf-8"))
    }

    assert CASES - found == set(ELSEWHERE)
