"""What a store is held to, case by case; each name is a sentence of the report."""

# ruff: noqa: S608 - every name that is put into a text here is one of this file's own

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Literal

import anyio
from returns.result import Failure, Success

from lamina.store import Statement, StatementError, Store, StoreUnavailable, Unmet, Value, ValueRefused
from lamina.testing._store_ground import (
    INSERT,
    Case,
    Ground,
    append,
    found,
    insert,
    names,
    opened,
    race,
    start_log,
    wrote,
)
from lamina.testing._suite import Broken, for_durable, require

RACERS = 20
WRITERS = 50
MEBIBYTE = 1024 * 1024
TEXTS = (
    "",
    " ",
    "'",
    '"',
    "$1",
    "?",
    "%s",
    "\\",
    "\n\r\t\x01\x7f",
    "é",
    "e\u0301",
    "漢字",
    "🙂",
    "\ufeff",
    "\U0010ffff",
)


async def a_unit_is_kept_whole(at: Ground) -> None:
    await wrote(at.store, insert("a"), insert("b"), insert("c"))
    require(await names(at.store) == ("a", "b", "c"), "a row of a committed unit is missing")
    require(await wrote(at.store) == (), "a unit without statements has an answer")


async def a_statement_sees_those_before_it(at: Ground) -> None:
    double = "UPDATE lamina_check SET number = number * 2 + $1 WHERE name = 'a' RETURNING number"
    answer = await wrote(at.store, insert("a", 1), Statement(double, (1,), rows=1), Statement(double, (0,), rows=1))
    require(answer == ((), ((3,),), ((6,),)), "the statements of a unit did not run one after the other")


async def it_answers_with_the_rows_of_each_statement(at: Ground) -> None:
    await wrote(at.store, insert("a", 1), insert("b", 2))
    delete = Statement("DELETE FROM lamina_check WHERE number > $1 RETURNING name, number", (0,), rows=2)
    select = Statement("SELECT name, number FROM lamina_check ORDER BY name")
    answer = await wrote(at.store, select, delete, select)
    require(answer[0] == (("a", 1), ("b", 2)), "a query in a unit gave other rows")
    require(sorted(answer[1]) == [("a", 1), ("b", 2)], "RETURNING gave other rows")
    require(answer[2] == (), "a query in a unit saw what the unit had deleted")


async def an_unmet_statement_undoes_its_unit(at: Ground) -> None:
    await wrote(at.store, insert("a", 1), insert("b", 1))
    change = "UPDATE lamina_check SET number = 9 WHERE number = $1"
    units: Sequence[tuple[str, Sequence[Statement], int]] = (
        ("no row", (insert("x"), Statement(change, (5,), rows=1), insert("y")), 1),
        ("too many rows", (insert("x"), Statement(change, (1,), rows=1), insert("y")), 1),
        ("no row, alone", (Statement(change, (5,), rows=1),), 0),
        ("too many rows, alone", (Statement(change, (1,), rows=1),), 0),
        ("a row too many, alone", (Statement(change, (1,), rows=0),), 0),
        ("too many rows returned", (Statement(f"{change} RETURNING name", (1,), rows=1),), 0),
        ("a row that is there", (insert("x"), insert("a", 7), insert("y")), 1),
        ("a row that is there, alone", (insert("a", 7),), 0),
        ("a row that is there, any number", (insert("a", 7, rows=None),), 0),
        ("a row that the unit brings itself", (insert("x"), insert("y"), insert("x")), 2),
    )
    for what, unit, index in units:
        answer = await at.store.write(*unit)
        require(answer == Failure(Unmet(index)), f"{what}: it answered {answer}")
        rows = await found(at.store, "SELECT name, number FROM lamina_check ORDER BY name")
        require(rows == (("a", 1), ("b", 1)), f"{what}: something of the unit was kept")
    skipped = Statement(f"{INSERT} ON CONFLICT DO NOTHING", ("a", 7), rows=1)
    require(await at.store.write(skipped) == Failure(Unmet(0)), "a row that was left out counted")
    require(
        await at.store.write(Statement(change, (5,), rows=0)) == Success(((),)), "no row was asked for, and none found"
    )


async def a_race_has_one_winner(at: Ground) -> None:
    await start_log(at.store, "c")
    for expected in range(5):
        won = await race([at.store], "c", expected, RACERS)
        require(won == 1, f"{won} of {RACERS} racers won")
    require(await race([at.store], "c", 99, RACERS) == 0, "somebody appended behind the end")
    require(await race([at.store], "missing", 0, RACERS) == 0, "somebody appended to nothing")
    rows = await found(at.store, "SELECT seq FROM lamina_check_log WHERE id = 'c' ORDER BY seq")
    require(rows == tuple((seq,) for seq in range(1, 6)), "the sequence has gaps")


async def a_caller_reads_what_it_wrote(at: Ground) -> None:
    for number in range(30):
        await wrote(at.store, insert(f"n{number}", number))
        rows = await found(at.store, "SELECT max(number), count(*) FROM lamina_check")
        require(rows == ((number, number + 1),), "a query did not see what was committed before")


async def many_write_at_once(at: Ground) -> None:
    async def write(writer: int) -> None:
        await start_log(at.store, f"w{writer:02}")
        for seq in range(10):
            await wrote(at.store, *append(f"w{writer:02}", seq, f"{writer} {seq}"))

    async with anyio.create_task_group() as group:
        for writer in range(WRITERS):
            group.start_soon(write, writer)
    rows = await found(at.store, "SELECT id, seq, body FROM lamina_check_log ORDER BY id, seq")
    expected = [(f"w{writer:02}", seq + 1, f"{writer} {seq}") for writer in range(WRITERS) for seq in range(10)]
    require(list(rows) == expected, "what many wrote at once is not what is there")


async def one_that_fails_takes_no_other_with_it(at: Ground) -> None:
    await wrote(at.store, insert("taken"))
    failed: list[str] = []

    async def write(number: int) -> None:
        if number % 3 == 0:
            require(
                await at.store.write(insert(f"x{number}"), insert("taken")) == Failure(Unmet(1)), "it took a name twice"
            )
        elif number % 3 == 1:
            failed.append(await _raised(at.store, insert(f"x{number}"), Statement("SELECT nothing FROM nowhere")))
        else:
            await wrote(at.store, insert(f"n{number:02}"), insert(f"m{number:02}"))

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(write, number)
    good = [number for number in range(30) if number % 3 == 2]
    expected = sorted([f"n{number:02}" for number in good] + [f"m{number:02}" for number in good] + ["taken"])
    require(list(await names(at.store)) == expected, "units that failed had an effect on others")
    require(failed == ["StatementError"] * 10, f"a wrong statement raised {set(failed)}")


async def a_wrong_statement_raises_and_keeps_nothing(at: Ground) -> None:
    wrong = (
        Statement("SELEC 1"),
        Statement("SELECT nothing FROM nowhere"),
        Statement("INSERT INTO lamina_check (name) VALUES (NULL)"),
        Statement("COMMIT"),
        Statement("  -- a comment\n  rollback"),
        Statement("SELECT 1; SELECT 2"),
        Statement(""),
        Statement(INSERT, ("only one",)),
    )
    for statement in wrong:
        raised = await _raised(at.store, insert("a"), statement)
        require(raised == "StatementError", f"{statement.sql!r} raised {raised}")
    require(await names(at.store) == (), "something of a wrong unit was kept")
    try:
        answer = await at.store.read("SELEC 1")
    except StatementError:
        return
    raise Broken(f"a wrong query answered {answer}")


async def parameters_may_stand_anywhere(at: Ground) -> None:
    sql = "SELECT CAST($2 AS BIGINT), CAST($1 AS TEXT), CAST($2 AS BIGINT), '$1' -- $3\n"
    require(await found(at.store, sql, "a", 2) == ((2, "a", 2, "$1"),), "parameters came in another order")


async def values_come_back(at: Ground) -> None:
    await _comes_back(at.store, "body", TEXTS)
    await _comes_back(at.store, "body", ("x" * MEBIBYTE, "é🙂" * (MEBIBYTE // 4)))
    await _comes_back(at.store, "data", (b"", b"\x00\xff", bytes(range(256)), b"\x00\x01" * (MEBIBYTE // 2)))
    await _comes_back(at.store, "number", (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)))
    await _comes_back(at.store, "ratio", (0.0, 0.1, -1e308, 5e-324, inf, -inf))
    for column in ("body", "data", "number", "ratio"):
        await _comes_back(at.store, column, (None,))
    await _comes_back(at.store, "number", (True, False))
    await wrote(at.store, insert("a", 1), insert("b", 2**62))
    flags = await found(at.store, "SELECT 1 = 1, 1 = 2, sum(number) FROM lamina_check")
    require([type(value) for value in flags[0]] == [int] * 3, "what is true, or a sum, is no int")


async def texts_are_ordered_by_their_bytes(at: Ground) -> None:
    texts = ["a", "B", "é", "z", "_", "a b", "ab", "A", "🙂", "\uffff", "10", "9"]
    await wrote(at.store, *map(insert, texts))
    require(list(await names(at.store)) == sorted(texts, key=str.encode), "texts have another order")


async def a_value_that_cannot_be_kept_is_refused(at: Ground) -> None:
    why: tuple[tuple[Value, str, Literal["nul", "surrogate", "range"]], ...] = (
        ("a\0b", "body", "nul"),
        ("\0", "body", "nul"),
        ("\ud800", "body", "surrogate"),
        (2**63, "number", "range"),
        (-(2**63) - 1, "number", "range"),
        (10**40, "number", "range"),
        (nan, "ratio", "range"),
    )
    for value, column, expected in why:
        bad = Statement(f"INSERT INTO lamina_check (name, {column}) VALUES ($1, $2)", ("x", value))
        answer = await at.store.write(insert("a"), bad)
        refused = isinstance(answer, Failure) and answer.failure() == ValueRefused(1, 2, expected)
        require(refused, f"{value!r} for {column}: it answered {answer}")
        answered = await at.store.read(f"SELECT name FROM lamina_check WHERE {column} = $1", value)
        require(isinstance(answered, Failure), f"{value!r} for {column}: a query took it")
    require(await names(at.store) == (), "something of a refused unit was kept")
    require(await _raised(at.store, Statement(INSERT, ("x", [1]))) == "StatementError", "a list was taken")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - that is the point


async def who_is_cancelled_leaves_a_whole_unit_or_none(at: Ground) -> None:
    async def write(turn: int, writer: int, begun: anyio.Event) -> None:
        for number in range(10_000):
            name = f"{turn} {writer:02} {number:04}"
            await wrote(at.store, insert(f"{name} a"), insert(f"{name} b"))
            await anyio.lowlevel.checkpoint()
            if number == 2:
                begun.set()

    for turn in range(5):
        begun = anyio.Event()
        async with anyio.create_task_group() as group:
            for writer in range(10):
                group.start_soon(write, turn, writer, begun)
            await begun.wait()
            group.cancel_scope.cancel()
        await wrote(at.store, insert(f"after {turn}"))
        present = await names(at.store)  # a unit that was begun may still be on its way, and then comes whole
        first, second = ({name[:-2] for name in map(str, present) if name.endswith(end)} for end in (" a", " b"))
        require(first == second and len(first) >= 3 * (turn + 1), "half a unit was kept")


async def a_closed_store_says_so(at: Ground) -> None:
    query = Statement("SELECT 1")
    async with opened(at.make()) as store:
        require((await found(store, "SELECT 1")) == ((1,),), "it does not answer")
    for _ in range(2):
        require(await store.write(query) == Failure(StoreUnavailable("closed")), "a closed store takes a unit")
        require(await store.read("SELECT 1") == Failure(StoreUnavailable("closed")), "a closed store takes a query")


async def closing_leaves_nobody_waiting(at: Ground) -> None:
    written: list[str] = []
    told: list[int] = []

    async def write(store: Store, number: int) -> None:
        answer = await store.write(insert(f"n{number:04}"))
        if not isinstance(answer, Failure):
            written.append(f"n{number:04}")
        elif not isinstance(answer.failure(), StoreUnavailable):
            raise Broken(f"who waits when it closes is told {answer.failure()}")
        told.append(number)

    async with anyio.create_task_group() as group, opened(at.make()) as store:
        if not store.durable:
            await wrote(store, Statement("CREATE TABLE lamina_check (name TEXT NOT NULL PRIMARY KEY, number BIGINT)"))
        for number in range(300):
            group.start_soon(write, store, number)
        await anyio.lowlevel.checkpoint()
    require(len(told) == 300, f"{300 - len(told)} of 300 got no answer")
    if at.store.durable:
        require(set(written) <= set(await names(at.store)), "what was answered is not there")


@for_durable
async def it_keeps_what_was_committed(at: Ground) -> None:
    async with opened(at.make()) as store:
        await wrote(store, insert("a", 1))
    async with opened(at.make()) as store:
        require(await names(store) == ("a",), "what was committed is not there any more")


@for_durable
async def it_sees_what_another_has_committed(at: Ground) -> None:
    await start_log(at.store, "c")
    async with opened(at.make()) as other:
        for expected in range(5):
            won = await race([at.store, other], "c", expected, RACERS)
            require(won == 1, f"{won} of {RACERS} racers won in two stores")
            for store in (at.store, other):
                rows = await found(store, "SELECT max(seq) FROM lamina_check_log")
                require(rows == ((expected + 1,),), "one does not see what the other has committed")


@for_durable
async def many_open_it_at_once(at: Ground) -> None:
    async def use(number: int) -> None:
        async with opened(at.make()) as store:
            await wrote(store, insert(f"n{number}"))

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(use, number)
    require(await names(at.store) == tuple(f"n{number}" for number in range(8)), "not all wrote")


CASES: tuple[Case, ...] = (
    a_unit_is_kept_whole,
    a_statement_sees_those_before_it,
    it_answers_with_the_rows_of_each_statement,
    an_unmet_statement_undoes_its_unit,
    a_race_has_one_winner,
    a_caller_reads_what_it_wrote,
    many_write_at_once,
    one_that_fails_takes_no_other_with_it,
    a_wrong_statement_raises_and_keeps_nothing,
    parameters_may_stand_anywhere,
    values_come_back,
    texts_are_ordered_by_their_bytes,
    a_value_that_cannot_be_kept_is_refused,
    who_is_cancelled_leaves_a_whole_unit_or_none,
    a_closed_store_says_so,
    closing_leaves_nobody_waiting,
    it_keeps_what_was_committed,
    it_sees_what_another_has_committed,
    many_open_it_at_once,
)


async def _raised(store: Store, *unit: Statement) -> str:
    """Give the name of what a unit raises."""
    try:
        answer = await store.write(*unit)
    except Exception as error:
        return type(error).__name__
    return f"nothing, and answered {answer}"


async def _comes_back(store: Store, column: str, values: Sequence[Value]) -> None:
    """Write values, and see that each is read as it was, and found by itself."""
    sql = f"INSERT INTO lamina_check (name, {column}) VALUES ($1, $2)"
    await wrote(store, *(Statement(sql, (f"{at}", value), rows=1) for at, value in enumerate(values)))
    for at, value in enumerate(values):
        ((read,),) = await found(store, f"SELECT {column} FROM lamina_check WHERE name = $1", f"{at}")
        require(read == value, f"a value of {column} came back as another: {str(value)[:20]!r}")
        require(type(read) is (int if isinstance(value, bool) else type(value)), f"{column} came back as {type(read)}")
        if value is not None:
            rows = await found(
                store, f"SELECT name FROM lamina_check WHERE {column} = $1 AND name = $2", value, f"{at}"
            )
            require(rows == ((f"{at}",),), f"a value of {column} is not equal to itself: {str(value)[:20]!r}")
    await wrote(store, Statement("DELETE FROM lamina_check"))
