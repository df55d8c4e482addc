from __future__ import annotations

from typing import Any, get_args

import pytest

from lamina.effect import message_of
from lamina.store import (
    Statement,
    StatementError,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    Unmet,
    ValueRefused,
)
from lamina.store._check import LARGEST, check_unit, first_word

CANARY = "canary-7f3a"


def test_a_statement_shows_no_value() -> None:
    assert CANARY not in repr(Statement("SELECT $1", (CANARY,)))
    assert CANARY not in str([Statement("SELECT $1", (CANARY,))])


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (StoreUnavailable("lost"), True),
        (StoreUnavailable("timeout"), True),
        (StoreUnavailable("overloaded"), True),
        (StoreUnavailable("io", in_doubt=True), True),
        (StoreUnavailable("missing"), False),
        (StoreUnavailable("refused"), False),
        (StoreUnavailable("closed"), False),
        (StoreLocked(), True),
        (StoreFull(), False),
        (StoreReadOnly(), False),
        (StoreCorrupt(), False),
        (StoreTooNew(3, 2), False),
        (StoreForeign("schema 1"), False),
        (ValueRefused(0, 1, "nul"), False),
    ],
)
def test_each_error_says_whether_another_try_may_help(error: Any, retryable: bool) -> None:
    assert error.retryable is retryable
    assert message_of(error).endswith(".")
    assert type(error) in get_args(StoreError)


def test_sentences() -> None:
    assert str(StoreTooNew(3, 2)) == "The store has schema 3, and this release knows no more than 2."
    assert str(StoreUnavailable("lost")) == "The store cannot be used: lost."
    assert str(ValueRefused(1, 2, "nul")) == "The parameter $2 of the statement 1 cannot be stored: nul."
    assert str(Unmet(1)) == "The statement 1 of the unit did not find what it needs."


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("insert into t values (1)", "INSERT"),
        ("\n\t-- why\n -- and\n  Update t SET a = 1", "UPDATE"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH"),
    ],
)
def test_the_first_word(sql: str, word: str) -> None:
    assert first_word(sql) == word


@pytest.mark.parametrize(
    "sql",
    ["BEGIN", "commit", " ROLLBACK TO unit", "SAVEPOINT a", "release a", "PRAGMA x", "set a = 1", "", "-- x", "1"],
)
def test_the_transaction_is_the_stores_own(sql: str) -> None:
    with pytest.raises(StatementError, match="which the store begins and commits"):
        check_unit([Statement("SELECT 1"), Statement(sql)])


class Text(str): ...


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a\0", "nul"),
        ("é\0", "nul"),
        ("\udcff", "surrogate"),
        (Text("\0"), "nul"),
        (2**63, "range"),
        (-(2**63) - 1, "range"),
        (float("nan"), "range"),
        ("x" * (LARGEST + 1), "size"),
        (b"x" * (LARGEST + 1), "size"),
    ],
)
def test_a_value_that_cannot_be_kept(value: Any, why: Any) -> None:
    unit = [Statement("SELECT $1", ("fine",)), Statement("SELECT $1, $2, $3", (None, "fine", value))]
    assert check_unit(unit) == ValueRefused(1, 3, why)


@pytest.mark.parametrize(
    "value", [None, "", "é\U0010ffff", Text("x"), b"\0", True, 2**63 - 1, -(2**63), float("inf"), 0.5]
)
def test_a_value_that_can(value: Any) -> None:
    assert isinstance(check_unit([Statement("SELECT $1", (value,))]), int)


@pytest.mark.parametrize("value", [[1], {}, object(), bytearray(b"x"), 1j])
def test_a_value_of_no_column(value: Any) -> None:
    with pytest.raises(StatementError, match=f"a {type(value).__name__} is no parameter") as caught:
        check_unit([Statement("SELECT $1", (value,))])
    assert repr(value) not in str(caught.value)


def test_the_size_of_a_unit() -> None:
    assert check_unit([Statement("SELECT $1, $2", ("x" * 10, b"y" * 5)), Statement("SELECT $1", (3,))]) == 15


def test_what_was_looked_at_is_counted_and_not_looked_at_again() -> None:
    looked_at = Statement("SELECT $1", ("a\0",), size=7)
    assert check_unit([looked_at, Statement("SELECT $1", ("b",))]) == 8
    with pytest.raises(StatementError):
        check_unit([Statement("COMMIT", size=0)])
