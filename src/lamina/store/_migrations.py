"""The schema: numbered SQL files, each applied once, and known by its checksum ever after."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import attrs

from lamina.store.port import StoreForeign, StoreTooNew

RECORD = """
CREATE TABLE IF NOT EXISTS schema_version (
  version BIGINT NOT NULL PRIMARY KEY,
  checksum TEXT NOT NULL
)
"""
"""Where it is recorded what has been applied. It stays as it is, for every release reads it first."""

APPLIED = "SELECT version, checksum FROM schema_version ORDER BY version"
APPLY = "INSERT INTO schema_version (version, checksum) VALUES ($1, $2)"

_NAME = re.compile(r"(\d{4})_[a-z_]+\.sql")


@attrs.frozen
class Migration:
    """One numbered file.

    Attributes:
        version: Its number; they begin with 1, and none is left out.
        checksum: SHA-256 of its text, in hexadecimal.
        statements: What it holds, without comments.
    """

    version: int
    checksum: str
    statements: tuple[str, ...]


def read_migration(version: int, text: str) -> Migration:
    """Split a file into its statements, each of which ends with a semicolon at the end of a line.

    Example:
        >>> read_migration(1, "-- why\\nCREATE TABLE a (b TEXT);\\nCREATE TABLE c (d TEXT);\\n").statements
        ('CREATE TABLE a (b TEXT)', 'CREATE TABLE c (d TEXT)')
    """
    lines = [re.sub(r"\s*--.*", "", line) for line in text.splitlines()]
    parts = re.split(r";[ \t]*(?:\n|$)", "\n".join(line for line in lines if line.strip()))
    checksum = hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()
    return Migration(version, checksum, tuple(part.strip() for part in parts if part.strip()))


@cache
def known_migrations() -> tuple[Migration, ...]:
    """Read the files of this release, in order."""
    folder = files("lamina.store").joinpath("schema")
    found = {int(name[1]): file for file in folder.iterdir() if (name := _NAME.fullmatch(file.name)) is not None}
    if sorted(found) != list(range(1, len(found) + 1)):
        raise RuntimeError(f"the schema files are not numbered from 1 on: {sorted(found)}")
    return tuple(read_migration(number, found[number].read_text("utf-8")) for number in sorted(found))


def outstanding(
    known: Sequence[Migration], applied: Sequence[tuple[int, str]] | None, *, empty: bool
) -> tuple[Migration, ...] | StoreTooNew | StoreForeign:
    """Compare a database with what this release knows.

    Args:
        known: The files of this release.
        applied: What the database records, in order; `None` where it records nothing.
        empty: Whether it has no tables at all.

    Returns:
        What has still to be applied; or why this release must not touch the database.

    Example:
        >>> first = read_migration(1, "CREATE TABLE a (b TEXT);")
        >>> outstanding([first], [(1, first.checksum), (2, "…")], empty=False)
        StoreTooNew(found=2, known=1)
    """
    if applied is None:
        return tuple(known) if empty else StoreForeign("tables of another program")
    if applied and applied[-1][0] > len(known):
        return StoreTooNew(applied[-1][0], len(known))
    for migration, (version, checksum) in zip(known, applied, strict=False):
        if (migration.version, migration.checksum) != (version, checksum):
            return StoreForeign(f"schema {version}")
    return tuple(known[len(applied) :])
