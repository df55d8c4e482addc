"""Conversations pass the one suite on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina.conversation import stored_conversations
from lamina.store import memory_store, postgres_store, sqlite_store
from lamina.testing import check_conversations
from lamina.testing._conversation_cases import CASES
from tests.postgres import cluster

ALL = tuple(case.__name__.replace("_", " ") for case in CASES)


@pytest.mark.anyio
async def test_memory() -> None:
    report = await check_conversations(lambda clock: stored_conversations(clock=clock).provide(memory_store()))
    assert report.checked == ALL[:-2]


@pytest.mark.anyio
async def test_sqlite(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    report = await check_conversations(lambda clock: stored_conversations(clock=clock).provide(sqlite_store(store)))
    assert report.checked == ALL


@pytest.mark.needs("postgres")
@pytest.mark.parametrize("connections", [10, 1])
async def test_postgres(connections: int) -> None:
    dsn = cluster().database()
    report = await check_conversations(
        lambda clock: stored_conversations(clock=clock).provide(postgres_store(dsn, connections=connections))
    )
    assert report.checked == ALL


async def test_another_lease() -> None:
    report = await check_conversations(
        lambda clock: stored_conversations(clock=clock, lease=1.5).provide(memory_store()), lease=1.5
    )
    assert report.checked == ALL[:-2]
