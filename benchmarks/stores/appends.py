"""What a committed append costs: fifty writers over fifty conversations, 1 kB records, each one on the disk.

An append compares the head of its conversation, moves it, and inserts a record; it is answered when it is on the disk
(`synchronous=FULL`). Beside lamina's store stand the same store with one commit an append, and aiosqlite doing it.
The folder has to be on a disk: on tmpfs a commit costs nothing, and there is nothing to measure. What is compared runs
in turns inside each round, since the speed of a shared disk changes; a ratio is taken inside its round, and the median
over the rounds is shown. PostgreSQL runs where its server programs and asyncpg are found.

What sharing a commit gains is the time that a flush takes, so the flush is measured, too. Where the disk takes less
than `flush` milliseconds (a virtual disk whose host keeps what it was given in memory may), a second table shows the
same with every SQLite commit made to take that much longer, as on a disk that keeps its word.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import attrs

from lamina.effect import handler
from lamina.runtime import try_build
from lamina.store import Statement, Store, memory_store, postgres_store, sqlite_store
from verdict import Verdict

WRITERS = 50
PAYLOAD = json.dumps({"role": "assistant", "text": "x" * 950, "id": "0" * 24})
TARGETS = {"one commit an append": 20.0, "aiosqlite": 3.0}

START = "INSERT INTO conversation (id, created, head_seq, head_digest) VALUES ($1, 0, 0, '')"
MOVE = "UPDATE conversation SET head_seq = $2, head_digest = $3 WHERE id = $1 AND head_seq = $4"
ADD = (
    "INSERT INTO record (conversation, seq, id, batch, kind, version, created, payload, digest) "
    "VALUES ($1, $2, $3, 'batch', 'kind', 1, 0, $4, $5)"
)
DIGEST = "d" * 64

Append = Callable[[str, int], Awaitable[None]]


@attrs.frozen
class Measured:
    """One way of appending, in one round.

    Attributes:
        rate: Appends a second.
        cpu: Microseconds of CPU an append, of this process.
        middle: The median latency, in milliseconds.
        late: The latency that one in a hundred exceeds, in milliseconds.
    """

    rate: float
    cpu: float
    middle: float
    late: float


@handler
async def the_store(_: None, store: Store) -> Store:
    return store


@contextlib.asynccontextmanager
async def lamina_store(layer) -> AsyncIterator[Append]:
    async with try_build(layer) as built:
        store = await built.unwrap().run(the_store, None)
        await store.write(*(Statement(START, (f"c{writer}",), 1) for writer in range(WRITERS)))

        async def append(conversation: str, seq: int) -> None:
            answer = await store.write(
                Statement(MOVE, (conversation, seq + 1, DIGEST, seq), 1),
                Statement(ADD, (conversation, seq + 1, f"r{seq}", PAYLOAD, DIGEST)),
            )
            answer.unwrap()

        yield append


@contextlib.asynccontextmanager
async def with_aiosqlite(path: Path) -> AsyncIterator[Append]:
    """The same by hand: one connection, a lock around each transaction."""
    import aiosqlite

    async with try_build(sqlite_store(path)) as built:  # the same schema
        built.unwrap()
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = FULL")
        for writer in range(WRITERS):
            await connection.execute(START.replace("$1", "?"), (f"c{writer}",))
        lock = asyncio.Lock()
        move, add = (sql.replace("$", "?") for sql in (MOVE, ADD))

        async def append(conversation: str, seq: int) -> None:
            async with lock:
                await connection.execute("BEGIN IMMEDIATE")
                cursor = await connection.execute(move, (conversation, seq + 1, DIGEST, seq))
                assert cursor.rowcount == 1
                await connection.execute(add, (conversation, seq + 1, f"r{seq}", PAYLOAD, DIGEST))
                await connection.execute("COMMIT")

        yield append


async def measure(append: Append, seconds: float, writers: int) -> Measured:
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def write(writer: int) -> None:
        for seq in range(10**9):
            begun = time.perf_counter()
            if begun > end:
                return
            await append(f"c{writer}", seq)
            latencies.append(time.perf_counter() - begun)

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(write, range(writers)))
    took, cpu = time.perf_counter() - begun, time.process_time() - cpu
    latencies.sort()
    count = len(latencies)
    return Measured(
        count / took, cpu / count * 1e6, latencies[count // 2] * 1e3, latencies[min(count - 1, count * 99 // 100)] * 1e3
    )


def ways(folder: Path) -> dict[str, Callable[[], contextlib.AbstractAsyncContextManager[Append]]]:
    numbers = iter(range(10**6))

    def fresh() -> Path:
        return folder / f"{next(numbers)}.db"

    found = {
        "lamina": lambda: lamina_store(sqlite_store(fresh())),
        "one commit an append": lambda: lamina_store(sqlite_store(fresh(), group=1)),
    }
    with contextlib.suppress(ImportError):
        import aiosqlite  # noqa: F401 - only whether it is there

        found["aiosqlite"] = lambda: with_aiosqlite(fresh())
    found["lamina in memory"] = lambda: lamina_store(memory_store())
    with contextlib.suppress(ImportError):
        import asyncpg  # noqa: F401 - as above

        from tests.postgres import binaries, cluster

        if binaries() is not None:
            found["lamina on PostgreSQL"] = lambda: lamina_store(postgres_store(cluster().database()))
    return found


def flush_time(folder: Path) -> float:
    """Give the median of the milliseconds that the disk takes to flush a page."""
    times: list[float] = []
    with (folder / "flush").open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(b"x" * 4096)
            begun = time.perf_counter()
            os.fsync(file.fileno())
            times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


@contextlib.contextmanager
def slower_commits(milliseconds: float) -> Iterator[None]:
    """Make every SQLite connection that is opened take longer to commit, whoever opens it."""

    class Slow(sqlite3.Connection):
        def execute(self, sql, *parameters):
            if sql == "COMMIT":
                time.sleep(milliseconds / 1e3)
            return super().execute(sql, *parameters)

    connect = sqlite3.connect
    sqlite3.connect = functools.partial(connect, factory=Slow)
    try:
        yield
    finally:
        sqlite3.connect = connect


async def compare(folder: Path, seconds: float, rounds: int, writers: int) -> dict[str, list[Measured]]:
    results: dict[str, list[Measured]] = {}
    for _ in range(rounds):
        for name, way in ways(folder).items():
            async with way() as append:
                results.setdefault(name, []).append(await measure(append, seconds, writers))
            for file in folder.iterdir():  # noqa: ASYNC240 - nothing else runs now
                file.unlink()
    return results


def measure_appends(folder: Path, seconds: float, rounds: int, flush_at_least: float) -> list[Verdict]:
    """Measure, print the tables, and hold lamina to its bounds."""

    def run(writers: int, seconds: float) -> dict[str, list[Measured]]:
        return asyncio.run(compare(folder, seconds, rounds, writers))

    before = flush_time(folder)
    many = run(WRITERS, seconds)
    one = run(1, seconds / 3)
    flush = max(before, flush_time(folder))
    show(f"appends: {WRITERS} writers, 1 kB each, a flush takes {flush:.2f} ms", many)
    show(f"appends: 1 writer, a flush takes {flush:.2f} ms", one)
    added = max(0.0, flush_at_least - flush)
    if added:
        with slower_commits(added):
            many = run(WRITERS, seconds)
        many = {name: measured for name, measured in many.items() if name.startswith(("lamina", *TARGETS))}
        show(f"appends: {WRITERS} writers, a SQLite commit takes {added:.2f} ms longer", many)
    return [
        Verdict(f"appends: lamina to {name}", times(many, name), "x", target, least=True)
        for name, target in TARGETS.items()
        if name in many
    ]


def times(results: dict[str, list[Measured]], name: str) -> float:
    """How many times as fast lamina is; a ratio is taken inside its round."""
    return statistics.median(ours.rate / one.rate for ours, one in zip(results["lamina"], results[name], strict=True))


def show(title: str, results: dict[str, list[Measured]]) -> None:
    print(f"\n{title}")
    print(f"{'':24}{'appends/s':>11}{'CPU us':>9}{'p50 ms':>9}{'p99 ms':>9}{'lamina is':>12}")
    for name, measured in results.items():
        rate, cpu, middle, late = (
            statistics.median(getattr(one, field) for one in measured) for field in ("rate", "cpu", "middle", "late")
        )
        ratio = "" if name == "lamina" else f"{times(results, name):.2f}x"
        print(f"{name:24}{rate:11.0f}{cpu:9.1f}{middle:9.2f}{late:9.2f}{ratio:>12}")
