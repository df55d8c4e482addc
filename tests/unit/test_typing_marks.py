"""How `tests/typing` compares its marked lines with what the checkers refuse."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PLACE = Path(__file__).parents[1] / "typing" / "__main__.py"
SPEC = importlib.util.spec_from_file_location("typing_marks", PLACE)
assert SPEC is not None
assert SPEC.loader is not None
marking = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(marking)

SOURCE = """\
build(app)  # ERR
build(
    app,  # ERR
)
build(whole)
one_sided(app)  # ERR mypy

def needs(
    service: int = "no",  # ERR
) -> None:
    inner("x")
"""


def differences(*refused: tuple[str, int]) -> list[str]:
    path = Path("sample.py")
    return list(
        marking.differences(path, SOURCE, [marking.Refusal(checker, path, line, "no") for checker, line in refused])
    )


def both(*lines: int) -> list[tuple[str, int]]:
    return [(checker, line) for line in lines for checker in ("pyright", "mypy")]


def test_each_marked_statement_refused_by_both_is_right() -> None:
    # Two checkers name two lines of one statement; the head of a function is a statement without its body.
    assert differences(*both(1, 9), ("pyright", 2), ("mypy", 4), ("mypy", 6)) == []


def test_a_marked_line_that_is_accepted_is_named_with_its_checker() -> None:
    found = differences(*both(1, 9), ("pyright", 2), ("pyright", 3), ("mypy", 6))

    assert found == ["sample.py:3: mypy accepts a line that is marked ERR"]


def test_an_unmarked_line_that_is_refused_is_named() -> None:
    found = differences(*both(1, 3, 9), ("mypy", 6), ("mypy", 11), ("pyright", 5))

    assert found == [
        "sample.py:11: mypy refuses a line that is not marked: no",
        "sample.py:5: pyright refuses a line that is not marked: no",
    ]


def test_a_mark_for_one_checker_binds_the_other() -> None:
    found = differences(*both(1, 3, 9), ("pyright", 6))

    assert found == [
        "sample.py:6: pyright refuses a line that is not marked: no",
        "sample.py:6: mypy accepts a line that is marked ERR",
    ]
