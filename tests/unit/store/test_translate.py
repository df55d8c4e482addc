from __future__ import annotations

import pytest

from lamina.store import StatementError
from lamina.store._translate import for_sqlite


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT $1", "SELECT ?"),
        ("VALUES ($1, $2, $3)", "VALUES (?, ?, ?)"),
        ("SELECT '$1', $1", "SELECT '$1', ?"),
        ("SELECT 'it''s $2', $1", "SELECT 'it''s $2', ?"),
        ('SELECT "$9", $1', 'SELECT "$9", ?'),
        ("SELECT $1 -- not $2\n", "SELECT ? -- not $2\n"),
        ("SELECT /* $2 \n $3 */ $1", "SELECT /* $2 \n $3 */ ?"),
        ("SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10", "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"),
        ("SELECT '$' || $1", "SELECT '$' || ?"),
    ],
)
def test_parameters_that_are_in_order_stay_as_they_are(sql: str, text: str) -> None:
    assert for_sqlite(sql) == (text, None)


@pytest.mark.parametrize(
    ("sql", "given", "bound"),
    [
        ("SELECT $2, $1", ("a", "b"), ("b", "a")),
        ("SELECT $1, $1", ("a",), ("a", "a")),
        ("SELECT $1, $2, $1", (1, 2), (1, 2, 1)),
    ],
)
def test_others_are_put_in_order(sql: str, given: tuple[str, ...], bound: tuple[str, ...]) -> None:
    text, reorder = for_sqlite(sql)
    assert text.count("?") == len(bound)
    assert reorder is not None
    assert reorder(given) == bound
    with pytest.raises(StatementError, match=f"has {len(given)} parameters, and was given {len(given) + 1}"):
        reorder((*given, "too many"))


def test_a_number_that_is_left_out_is_a_mistake() -> None:
    with pytest.raises(StatementError, match=r"\$3 and no \$2"):
        for_sqlite("SELECT $1, $3")
    with pytest.raises(StatementError, match=r"\$2 and no \$1"):
        for_sqlite("SELECT $2")
