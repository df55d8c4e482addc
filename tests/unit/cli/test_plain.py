"""Text for terminals: short, and without a character that does anything but stand there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.cli._plain import arguments, compact, count, cut, pretty, printable, printable_lines, seconds

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.text())
def test_nothing_but_characters_gets_through(text: str) -> None:
    assert all(one.isprintable() for one in printable(text))
    assert all(one.isprintable() for line in printable_lines(text) for one in line)


@given(JSON, st.integers(1, 200))
def test_values_of_any_kind_are_printable(value: object, width: int) -> None:
    for text in (compact(value), arguments(value), *pretty(value, width)):  # type: ignore[arg-type]
        assert text.isprintable()


@given(JSON.filter(lambda value: json.dumps(value, ensure_ascii=False).isprintable()), st.integers(1, 60))
def test_pretty_is_the_same_json(value: object, width: int) -> None:
    assert json.loads("".join(pretty(value, width))) == value  # type: ignore[arg-type]


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\x9b2J", "\x07", "\u202e", "\u2066", "\x00", "\u200b", "\x7f"])
def test_what_moves_the_cursor_or_hides_is_replaced(hostile: str) -> None:
    assert hostile[0] not in printable(f"a{hostile}b")


def test_texts_are_cut_where_they_show_it() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab…"
    assert cut("abcd", 0) == "…"


def test_results_are_told_in_one_line() -> None:
    assert compact({"files": [1, 2], "name": "a\nb", "more": None, "inner": {"x": 1}}) == (
        'files: 2, name: a b, more: null, inner: {"x": 1}'
    )
    assert arguments({}) == arguments(None) == arguments("") == ""
    assert arguments("not json") == "not json"


def test_numbers_and_times() -> None:
    assert count(0, "call") == "0 calls"
    assert [seconds(one) for one in (0, 0.9994, 59.94, 60, 3_661)] == [
        "0 ms",
        "999 ms",
        "59.9 s",
        "1 min 0 s",
        "61 min 1 s",
    ]
