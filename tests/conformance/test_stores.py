"""Every store passes the one suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina.store import memory_store, postgres_store, sqlite_store
from lamina.testing import check_store
from lamina.testing._store_cases import CASES
from tests.postgres import cluster

ALL = tuple(case.__name__.replace("_", " ") for case in CASES)


@pytest.mark.anyio
async def test_memory() -> None:
    report = await check_store(memory_store)
    assert report.checked == ALL[:-3]


@pytest.mark.anyio
async def test_sqlite(tmp_path: Path) -> None:
    report = await check_store(lambda: sqlite_store(tmp_path / "store.db"))
    assert report.checked == ALL


@pytest.mark.parametrize(("group", "queue", "readers"), [(1, 1, 1), (3, 2, 1), (1000, 5000, 20)])
async def test_sqlite_with_other_sizes(tmp_path: Path, group: int, queue: int, readers: int) -> None:
    make = lambda: sqlite_store(tmp_path / "store.db", group=group, queue=queue, readers=readers)  # noqa: E731
    assert (await check_store(make)).checked == ALL


@pytest.mark.needs("postgres")
@pytest.mark.parametrize(("connections", "queue"), [(10, 1024), (1, 1)])
async def test_postgres(connections: int, queue: int) -> None:
    dsn = cluster().database()
    report = await check_store(lambda: postgres_store(dsn, connections=connections, queue=queue))
    assert report.checked == ALL
