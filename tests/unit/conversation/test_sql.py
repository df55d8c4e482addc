"""What conversations ask of the database is found by an index, and not by looking at a whole log."""

from __future__ import annotations

import sqlite3

import pytest

from lamina.conversation import _sql
from lamina.store._migrations import known_migrations
from lamina.store._translate import for_sqlite


def plan_of(sql: str) -> str:
    connection = sqlite3.connect(":memory:")
    try:
        for migration in known_migrations():
            for statement in migration.statements:
                connection.execute(statement)
        text, _ = for_sqlite(sql)
        rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", (1,) * text.count("?")).fetchall()
    finally:
        connection.close()
    return "\n".join(row[3] for row in rows)


@pytest.mark.parametrize("kind", ["InputRecorded", "CallStarted", "RunEnded", "ApprovalDecided"])
def test_a_record_is_found_by_its_id(kind: str) -> None:
    assert plan_of(_sql.by_id(kind)) == "SEARCH record USING INDEX record_id (conversation=? AND id=?)"


@pytest.mark.parametrize("kind", sorted(_sql.UNGUARDED))
def test_one_of_an_unguarded_kind_is_looked_for_in_its_log(kind: str) -> None:
    assert plan_of(_sql.by_id(kind)) == "SEARCH record USING INDEX sqlite_autoindex_record_1 (conversation=?)"


@pytest.mark.parametrize("sql", [_sql.PENDING, _sql.PENDING_OF_NOBODY])
def test_what_waits_is_found_by_its_ids(sql: str) -> None:
    plan = plan_of(sql)
    assert "SEARCH r USING INDEX record_id (conversation=? AND id>? AND id<?)" in plan
    assert "SEARCH d USING INDEX record_id (conversation=? AND id=?)" in plan
    assert "SEARCH s USING INDEX sqlite_autoindex_record_1 (conversation=? AND seq>?)" in plan
    assert "SCAN" not in plan
