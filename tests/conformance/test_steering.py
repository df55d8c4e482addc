"""Steering passes the one suite in memory, and on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina.steering import memory_steering, stored_steering
from lamina.store import memory_store, postgres_store, sqlite_store
from lamina.testing import check_steering
from lamina.testing._steering_cases import CASES
from tests.postgres import cluster

ALL = tuple(case.__name__.replace("_", " ") for case in CASES)


@pytest.mark.anyio
@pytest.mark.parametrize("limit", [64, 16])
async def test_in_memory(limit: int) -> None:
    report = await check_steering(lambda clock: memory_steering(clock=clock, limit=limit))
    assert report.checked == ALL[:-2]


@pytest.mark.anyio
async def test_memory() -> None:
    report = await check_steering(lambda clock: stored_steering(clock=clock).provide(memory_store()))
    assert report.checked == ALL[:-2]


@pytest.mark.anyio
async def test_sqlite(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    report = await check_steering(lambda clock: stored_steering(clock=clock).provide(sqlite_store(store)))
    assert report.checked == ALL


@pytest.mark.needs("postgres")
@pytest.mark.parametrize("connections", [10, 1])
async def test_postgres(connections: int) -> None:
    dsn = cluster().database()
    report = await check_steering(
        lambda clock: stored_steering(clock=clock).provide(postgres_store(dsn, connections=connections))
    )
    assert report.checked == ALL
