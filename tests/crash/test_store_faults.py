"""A full disk, a locked file, a damaged page, a newer release: a typed error, and what was committed is still there."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from returns.result import Failure, Success

from lamina.effect import log
from lamina.runtime import try_build
from lamina.store import (
    Row,
    Statement,
    Store,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    postgres_store,
    sqlite_store,
)
from lamina.store._migrations import known_migrations
from lamina.testing._store_ground import opened
from tests.postgres import cluster
from tests.stores import fingerprint

KNOWN = len(known_migrations())


def entry(number: int, size: int = 10) -> Statement:
    return Statement(
        "INSERT INTO audit (id, created, kind, subject, outcome, entry) VALUES ($1, $2, '', '', '', $3)",
        (f"e{number:05}", number, "x" * size),
    )


async def entries(store: Store) -> list[str]:
    rows: tuple[Row, ...] = (await store.read("SELECT id FROM audit ORDER BY id")).unwrap()
    return [str(row[0]) for row in rows]


async def fill(store: Store, size: int) -> tuple[list[str], Any]:
    """Write, ten at once, until that fails; give what was answered, and why it failed."""
    answered: list[str] = []
    failures: list[Any] = []

    async def write(number: int) -> None:
        answer = await store.write(entry(number, size), entry(number + 50_000, 1))
        if isinstance(answer, Failure):
            failures.append(answer.failure())
        else:
            answered.extend((f"e{number:05}", f"e{number + 50_000:05}"))

    for begin in range(0, 40_000, 10):
        async with anyio.create_task_group() as group:
            for number in range(begin, begin + 10):
                group.start_soon(write, number)
        if failures:
            break
    return sorted(answered), failures[0]


# --- no space -------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        why = "only root may mount a small disk, and not everywhere"
        pytest.fail(why) if request.config.getoption("--require-all") else pytest.skip(why)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def test_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "store.db"
    async with opened(sqlite_store(path)) as store:
        answered, why = await fill(store, 20_000)
        assert why == StoreFull()
        assert len(answered) >= 10
        assert await entries(store) == answered
        assert await store.write(entry(99_999, 200_000)) == Failure(StoreFull())
    roomy = shutil.copytree(small_disk, small_disk.parent / "roomy")  # with what could not be folded into the file
    async with opened(sqlite_store(roomy / path.name)) as store:
        assert await entries(store) == answered
        assert await store.write(entry(99_999)) == Success(((),))


async def test_a_unit_that_does_not_fit_takes_no_other_with_it(small_disk: Path) -> None:
    answers: dict[int, Any] = {}

    async def write(number: int, size: int) -> None:
        answers[number] = await store.write(entry(number, size))

    async with opened(sqlite_store(small_disk / "store.db")) as store:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(write, number, 2_000_000 if number == 10 else 100)
        assert answers.pop(10) == Failure(StoreFull())
        assert set(map(str, answers.values())) == {"<Success: ((),)>"}
        assert len(await entries(store)) == 19


async def test_a_disk_that_is_too_full_to_begin(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (1024 * 1024 - 8192))
    async with try_build(sqlite_store(small_disk / "store.db")) as built:
        assert isinstance(built, Failure)
        assert built.failure() in (StoreFull(), StoreUnavailable("io"))
    (small_disk / "filler").unlink()
    async with opened(sqlite_store(small_disk / "store.db")) as store:
        assert await entries(store) == []


async def _limited(path: Path) -> None:
    async with opened(sqlite_store(path)) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        answered, why = await fill(store, 20_000)
        print(json.dumps({"answered": answered, "same": await entries(store) == answered, "why": repr(why)}))


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


async def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    code = (
        "import sys, anyio, pathlib; from tests.crash import test_store_faults as here;"
        "anyio.run(here._limited, pathlib.Path(sys.argv[1]))"
    )
    child = run_python(code, str(tmp_path / "store.db"))
    out, err = child.communicate(timeout=60)
    seen = json.loads(out.splitlines()[-1]) if out else pytest.fail(err)
    assert (seen["same"], seen["why"]) == (True, "StoreUnavailable(why='io', in_doubt=True)")
    assert len(seen["answered"]) >= 10
    async with opened(sqlite_store(tmp_path / "store.db")) as store:
        kept = await entries(store)
        assert set(seen["answered"]) <= set(kept)
        assert [one for one in kept if one < "e5"] == [f"e{int(one[1:]) - 50_000:05}" for one in kept if one >= "e5"]


# --- others at the file ---------------------------------------------------------------------------------------------


async def test_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with opened(sqlite_store(path, busy_timeout=0.05)) as store:
        assert await store.write(entry(1)) == Success(((),))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answers: list[Any] = []

        async def write(number: int) -> None:
            answers.append(await store.write(entry(number)))

        async with anyio.create_task_group() as group:
            for number in range(2, 7):
                group.start_soon(write, number)
        assert answers == [Failure(StoreLocked())] * 5
        assert await entries(store) == ["e00001"]
        other.execute("ROLLBACK")
        other.close()
        assert await store.write(entry(2)) == Success(((),))


async def test_a_file_that_is_locked_while_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    async with try_build(sqlite_store(path, busy_timeout=0.05)) as built:
        assert built == Failure(StoreLocked())
    other.close()


async def test_a_file_that_nobody_may_write(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with opened(sqlite_store(path)) as store:
        await store.write(entry(1))
    code = (
        "import os, sys, anyio, pathlib; from tests.crash import test_store_faults as here;"
        "anyio.run(here._read_only, pathlib.Path(sys.argv[1]))"
    )
    for place in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        place.chmod(0o755)
    path.chmod(0o444)
    out, err = run_python(code, str(path)).communicate(timeout=60)
    assert out.splitlines()[-1:] == ["typed"], err


async def _read_only(path: Path) -> None:
    log().debug("imported, while it still can be")
    if os.geteuid() == 0:  # who may write everything
        os.setuid(65534)
    async with try_build(sqlite_store(path)) as built:
        print("typed" if isinstance(built, Failure) and _is_refusal(built.failure()) else built)


def _is_refusal(why: object) -> bool:
    return isinstance(why, StoreReadOnly) or why in (StoreUnavailable("refused"), StoreUnavailable("missing"))


# --- damage ---------------------------------------------------------------------------------------------------------


async def filled(path: Path, count: int) -> None:
    async with opened(sqlite_store(path)) as store:
        for number in range(count):
            await store.write(entry(number, 3000))


async def test_a_damaged_page(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path, 100)
    connection = sqlite3.connect(path)
    ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'audit'").fetchall()
    ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    connection.close()
    good = path.read_bytes()
    path.write_bytes(good[: (root - 1) * size] + b"\xff" * size + good[root * size :])

    def start(name: str) -> Statement:
        return Statement("INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')", (name,))

    async with opened(sqlite_store(path)) as store:
        assert await store.read("SELECT count(*) FROM conversation") == Success(((0,),))
        assert await store.write(start("c")) == Success(((),))
        assert await store.read("SELECT entry FROM audit") == Failure(StoreCorrupt())
        assert await store.write(start("d"), entry(1000)) == Failure(StoreCorrupt())
        assert await store.write(start("e")) == Failure(StoreCorrupt()), "it writes on into a damaged file"
        assert await store.read("SELECT id FROM conversation") == Success((("c",),))


@pytest.mark.parametrize("content", [b"not a database at all\n" * 100, b"SQLite format 3\0" + b"\xff" * 4080])
async def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    before = fingerprint(path)
    async with try_build(sqlite_store(path)) as built:
        assert built == Failure(StoreCorrupt())
    assert fingerprint(path) == before


# --- releases -------------------------------------------------------------------------------------------------------


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


NEWER = f"INSERT INTO schema_version (version, checksum) VALUES ({KNOWN + 1}, 'of a newer release')"
OTHER = "UPDATE schema_version SET checksum = 'another' WHERE version = 1"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (NEWER, StoreTooNew(KNOWN + 1, KNOWN)),
        (OTHER, StoreForeign("schema 1")),
        ("DROP TABLE schema_version", StoreForeign("tables of another program")),
    ],
)
async def test_a_database_that_this_release_must_not_touch(tmp_path: Path, change: str, why: object) -> None:
    path = tmp_path / "store.db"
    await filled(path, 3)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(change)
    connection.close()
    before = digest(tmp_path)
    async with try_build(sqlite_store(path)) as built:
        assert built == Failure(why)
    assert digest(tmp_path) == before


@pytest.mark.needs("postgres")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (NEWER, StoreTooNew(KNOWN + 1, KNOWN)),
        (OTHER, StoreForeign("schema 1")),
        ("DROP TABLE schema_version", StoreForeign("tables of another program")),
    ],
)
async def test_a_postgres_database_that_this_release_must_not_touch(change: str, why: object) -> None:
    dsn = cluster().database()
    async with opened(postgres_store(dsn)) as store:
        await store.write(entry(1))
        assert await store.write(Statement(change)) == Success(((),))
    async with try_build(postgres_store(dsn)) as built:
        assert built == Failure(why)


# --- eight processes ------------------------------------------------------------------------------------------------

OPENS = """
import sys, anyio
from lamina.store import postgres_store, sqlite_store, Statement
from lamina.testing._store_ground import opened

async def main(place, number):
    layer = postgres_store(place, connections=2) if place.startswith("postgresql") else sqlite_store(place)
    print("ready", flush=True)
    sys.stdin.readline()
    async with opened(layer) as store:
        sql = "INSERT INTO audit (id, created, kind, subject, outcome, entry) VALUES ($1, 0, '', '', '', '')"
        for turn in range(20):
            (await store.write(Statement(sql, (f"{number} {turn}",), 1))).unwrap()
        print("done", flush=True)

anyio.run(main, *sys.argv[1:])
"""


def race(place: str) -> None:
    """Start eight processes, let them go at once, and see all succeed."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENS, place, f"{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        out, err = racer.communicate(timeout=120)
        assert (out, racer.returncode) == ("done\n", 0), err


async def all_entries(make: Callable[[], Any]) -> list[str]:
    async with opened(make()) as store:
        rows = await store.read("SELECT count(*), min(version), max(version) FROM schema_version")
        assert rows == Success(((KNOWN, 1, KNOWN),))
        return await entries(store)


EVERYTHING = sorted(f"{number} {turn}" for number in range(8) for turn in range(20))


def test_eight_processes_make_one_sqlite_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    race(str(path))
    assert anyio.run(all_entries, lambda: sqlite_store(path)) == EVERYTHING


@pytest.mark.needs("postgres")
def test_eight_processes_make_one_postgres_database() -> None:
    dsn = cluster().database()
    race(dsn)
    assert anyio.run(all_entries, lambda: postgres_store(dsn)) == EVERYTHING
