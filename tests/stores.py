"""Every store, for tests that have to come out the same on all: `@pytest.mark.parametrize("kind", STORES)`."""

from __future__ import annotations

import hashlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Never

import pytest

from lamina.effect import Layer
from lamina.store import Store, memory_store, postgres_store, sqlite_store
from lamina.testing._store_ground import opened
from tests.postgres import cluster

STORES = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]
DURABLE = STORES[1:]


class Place:
    """Where a test's database is: stores that are opened there see the same, where they are durable."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._path = folder / "store.db"
        self._dsn = cluster().database() if kind == "postgres" else ""

    def layer(self) -> Layer[Never, Store, Any]:
        if self.kind == "memory":
            return memory_store()
        return sqlite_store(self._path) if self.kind == "sqlite" else postgres_store(self._dsn)

    def open(self) -> AbstractAsyncContextManager[Store]:
        return opened(self.layer())


def fingerprint(path: Path) -> str:
    """Give the digest of a file: where two are compared and differ, pytest would compare the contents for hours."""
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()
