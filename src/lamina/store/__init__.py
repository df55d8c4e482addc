"""The database: one unit of work, one schema, and three stores that hold to it (design §8)."""

from lamina.store.memory import MemoryStore, memory_store
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
