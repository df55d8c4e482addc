"""The database: one unit of work, one schema, and three stores that hold to it (design §8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._lazy import lazily
from lamina.store.port import (
    Row,
    Rows,
    Statement,
    StatementError,
    Store,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    Unmet,
    Value,
    ValueRefused,
)

if TYPE_CHECKING:
    from lamina.store.memory import MemoryStore, memory_store
    from lamina.store.postgres import PostgresStore, postgres_store
    from lamina.store.sqlite import SqliteStore, sqlite_store

__all__ = [
    "MemoryStore",
    "PostgresStore",
    "Row",
    "Rows",
    "SqliteStore",
    "Statement",
    "StatementError",
    "Store",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreLocked",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnavailable",
    "Unmet",
    "Value",
    "ValueRefused",
    "memory_store",
    "postgres_store",
    "sqlite_store",
]

# What keeps them, and what that imports, is loaded when it is asked for: an agent without a store pays nothing for it.
_HOME_OF = {
    "MemoryStore": "memory",
    "PostgresStore": "postgres",
    "SqliteStore": "sqlite",
    "memory_store": "memory",
    "postgres_store": "postgres",
    "sqlite_store": "sqlite",
}

__getattr__, __dir__ = lazily(__name__, _HOME_OF, __all__)
