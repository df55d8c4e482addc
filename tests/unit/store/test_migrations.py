from __future__ import annotations

import sqlite3

import pytest

from lamina.store import StoreForeign, StoreTooNew
from lamina.store._migrations import known_migrations, outstanding, read_migration

FILES = tuple(read_migration(number, f"CREATE TABLE t{number} (a TEXT);") for number in (1, 2, 3))
RECORDED = [(each.version, each.checksum) for each in FILES]


def test_a_new_database_gets_everything() -> None:
    assert outstanding(FILES, None, empty=True) == FILES


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_an_old_one_gets_the_rest(done: int) -> None:
    assert outstanding(FILES, RECORDED[:done], empty=False) == FILES[done:]


def test_a_newer_one_is_refused_whatever_else_it_is() -> None:
    assert outstanding(FILES[:2], RECORDED, empty=False) == StoreTooNew(3, 2)
    assert outstanding(FILES[:2], [(1, "another"), (7, "later")], empty=False) == StoreTooNew(7, 2)


@pytest.mark.parametrize(
    ("recorded", "what"),
    [
        (None, "tables of another program"),
        ([(1, "another")], "schema 1"),
        ([RECORDED[0], (2, "another")], "schema 2"),
        ([RECORDED[0], RECORDED[2]], "schema 3"),
    ],
)
def test_a_strange_one_is_refused(recorded: list[tuple[int, str]] | None, what: str) -> None:
    assert outstanding(FILES, recorded, empty=False) == StoreForeign(what)


def test_a_file_is_split_into_its_statements() -> None:
    text = (
        "-- about; this\nCREATE TABLE a (\n  b TEXT, -- why; so\n  c TEXT\n);\n\nCREATE INDEX d ON a (b);  \n-- end\n"
    )
    assert read_migration(1, text).statements == (
        "CREATE TABLE a (\n  b TEXT,\n  c TEXT\n)",
        "CREATE INDEX d ON a (b)",
    )


def test_a_checksum_is_the_same_with_the_line_ends_of_windows() -> None:
    assert read_migration(1, "a;\r\nb;\r\n").checksum == read_migration(1, "a;\nb;\n").checksum
    assert read_migration(1, "a;\nb;\n").checksum != read_migration(1, "a;\nc;\n").checksum


def test_the_files_of_this_release_are_there_and_good_sql() -> None:
    known = known_migrations()
    assert [each.version for each in known] == list(range(1, len(known) + 1))
    connection = sqlite3.connect(":memory:")
    for migration in known:
        assert migration.statements
        for statement in migration.statements:
            assert sqlite3.complete_statement(f"{statement};")
            connection.execute(statement)
    connection.close()
