"""Bringing up the schema in PostgreSQL, however many processes do so at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lamina.store._migrations import APPLIED, APPLY, RECORD, Migration, known_migrations, outstanding
from lamina.store._postgres_session import Session
from lamina.store.port import StoreForeign, StoreTooNew

if TYPE_CHECKING:
    from asyncpg import Connection, Record

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('lamina schema ' || $1, 0))"
_TABLES = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1"
# In the second one PostgreSQL keeps bytes as they come, which are UTF-8. Any other lacks most characters.
_ENCODINGS = ("UTF8", "SQL_ASCII")
_TEXT = re.compile(r"\bTEXT\b")


async def migrate(session: Session, schema: str) -> StoreTooNew | StoreForeign | None:
    """Apply what has not been applied, under a lock that the schema's name stands for.

    Texts are compared by their bytes, as SQLite does, whatever the database's own collation is.
    """
    connection = session.connection
    encoding: str = connection.get_settings().server_encoding
    if encoding not in _ENCODINGS:
        return StoreForeign(f"encoding {encoding}")
    todo = await _outstanding(connection, schema)
    if isinstance(todo, StoreTooNew | StoreForeign):
        return todo
    if not todo:
        return None
    async with connection.transaction():
        await connection.execute(_LOCK, schema)
        todo = await _outstanding(connection, schema)  # another may have been here since
        if isinstance(todo, StoreTooNew | StoreForeign):
            return todo
        if todo:
            await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
            await connection.execute(_bytewise(RECORD))
        for migration in todo:
            for statement in migration.statements:
                await connection.execute(_bytewise(statement))
            await connection.execute(APPLY, migration.version, migration.checksum)
    return None


async def _outstanding(
    connection: Connection[Record], schema: str
) -> tuple[Migration, ...] | StoreTooNew | StoreForeign:
    tables = {record["tablename"] for record in await connection.fetch(_TABLES, schema)}
    applied: list[tuple[int, str]] | None = None
    if "schema_version" in tables:
        applied = [(version, checksum) for version, checksum in await connection.fetch(APPLIED)]
    return outstanding(known_migrations(), applied, empty=not tables)


def _bytewise(sql: str) -> str:
    return _TEXT.sub('TEXT COLLATE "C"', sql)
