"""What a conversation adds to a run: scenario c of the rivals, fifty at once, with and without one.

`beyond` is what a committed batch costs beyond its statements: the CPU time of the runs with conversations, less that
of the same runs without, less that of the very same calls of `execute`, `BEGIN` and `COMMIT` with them, made once more
by hand on a bare connection of `sqlite3`; divided by the number of batches. It holds the encoding, the digest, the
statements' making, and two ways between threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sqlite3
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Never

import attrs

from adapters.lamina import Add, Fake, add
from lamina.agent import Agent, AgentPolicy, Binding
from lamina.conversation import stored_conversations
from lamina.effect import Try
from lamina.runtime import Runtime, RuntimeBuilder, build, try_build
from lamina.store import memory_store, postgres_store, sqlite_store
from lamina.tools import tool
from scenario import FINAL, HITS, TURNS
from verdict import Verdict

AT_ONCE = 50
POLICY = AgentPolicy(max_turns=TURNS + 2, max_tool_calls=TURNS + 8, max_duration=600, tool_concurrency=8)
MOST_TIMES, MOST_BEYOND = 2.5, 60.0

Calls = list[tuple[str, tuple[Any, ...]]]


@tool(name="add", execution="readonly")
async def look(call: Add, ok: Try[Never]) -> int:
    """Add one."""
    HITS[0] += 1
    return call.x + 1


@attrs.define
class Recorded:
    """What the connection executed that wrote.

    Attributes:
        on: Whether it is recorded now.
        calls: Each call, in order.
    """

    on: bool = False
    calls: Calls = attrs.field(factory=list)

    @property
    def units(self) -> int:
        """How many batches were committed: each has one statement that moves the end of a log, or makes one."""
        return sum(sql.startswith(("UPDATE conversation", "INSERT INTO conversation")) for sql, _ in self.calls)


@contextlib.contextmanager
def recording(recorded: Recorded) -> Iterator[None]:
    """Note what connections that are opened meanwhile execute."""

    class Noting(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
            if recorded.on and not sql.startswith(("SELECT", "PRAGMA")):
                recorded.calls.append((sql, tuple(parameters)))
            return super().execute(sql, parameters)

    connect = sqlite3.connect
    sqlite3.connect = functools.partial(connect, factory=Noting)  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = connect  # type: ignore[assignment]


def agent(name: str, toolkit: Any) -> Binding[Any, Any, Any]:
    return Agent(name, instructions="Add.", policy=POLICY, toolkit=toolkit).on(Fake("c", 0.0))


async def fifty(rt: Runtime[Any], binding: Binding[Any, Any, Any], kept_as: str | None) -> float:
    """Run c fifty times at once; give the CPU time of all threads in microseconds a turn."""

    async def one(number: int) -> None:
        conversation = None if kept_as is None else f"{kept_as}-{number}"
        result = await rt.run(binding, "go", conversation=conversation)
        assert result.unwrap().output == FINAL

    begun = time.process_time()
    await asyncio.gather(*map(one, range(AT_ONCE)))
    return (time.process_time() - begun) / AT_ONCE / (TURNS + 1) * 1e6


def replay(path: Path, calls: Calls) -> float:
    """Make the same calls on a bare connection; give their CPU time in microseconds."""
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
    begun = time.process_time()
    for sql, parameters in calls:
        connection.execute(sql, parameters)
    took = time.process_time() - begun
    connection.close()
    return took * 1e6


async def empty(path: Path) -> Path:
    """Make a database with the schema, and nothing in it."""
    async with try_build(sqlite_store(path)) as built:
        built.unwrap()
    return path


def builders(folder: Path, bindings: list[Binding[Any, Any, Any]]) -> dict[str, Any]:
    plain: Any = RuntimeBuilder()
    for binding in bindings:
        plain = plain.agent(binding)

    def kept(store: Any) -> Any:
        return plain.provide(stored_conversations().provide(store))

    found = {
        "no conversation": plain,
        "in memory": kept(memory_store()),
        "SQLite": kept(sqlite_store(folder / "runs.db")),
    }
    with contextlib.suppress(ImportError):
        import asyncpg  # noqa: F401 - only whether it is there

        from tests.postgres import binaries, cluster

        if binaries() is not None:
            found["PostgreSQL"] = kept(postgres_store(cluster().database()))
    return found


async def compare(folder: Path, rounds: int) -> tuple[dict[str, list[float]], float, float]:
    """Give CPU microseconds a turn by name, batches a run, and the CPU microseconds of a batch's own statements."""
    writing, reading = agent("writes", add), agent("reads", look)
    costs: dict[str, list[float]] = {}
    async with contextlib.AsyncExitStack() as stack:
        found = builders(folder, [writing, reading])
        opening = {name: await stack.enter_async_context(build(each)) for name, each in found.items()}
        for number in range(rounds + 1):
            for name, rt in opening.items():
                kept = None if name == "no conversation" else f"w{number}"
                cost = await fifty(rt, writing, kept)
                if number:  # the first is not counted: it fills the caches
                    costs.setdefault(name, []).append(cost)
            kept_reading = {"readonly, no conversation": ("no conversation", None), "readonly, SQLite": ("SQLite", "r")}
            for name, (where, kept) in kept_reading.items():
                cost = await fifty(opening[where], reading, kept and f"{kept}{number}")
                if number:
                    costs.setdefault(name, []).append(cost)
    recorded = Recorded()
    with recording(recorded):
        async with build(builders(folder / "recorded", [writing])["SQLite"]) as rt:
            recorded.on = True
            await fifty(rt, writing, "w")
            recorded.on = False
    bare = [replay(await empty(folder / f"bare{number}.db"), recorded.calls) for number in range(rounds)]
    return costs, recorded.units / AT_ONCE, statistics.median(bare) / recorded.units


def measure_runs(folder: Path, rounds: int) -> list[Verdict]:
    """Measure, print the table, and hold lamina to its bounds."""
    (folder / "recorded").mkdir()
    costs, batches, statements = asyncio.run(compare(folder, max(rounds, 5)))
    print(
        f"\nruns: c, {AT_ONCE} at once, {batches:.0f} batches a run; their statements by themselves {statements:.1f} us"
    )
    print(f"{'':28}{'CPU us a turn':>15}{'to no conversation':>20}")
    for name, series in costs.items():
        base = costs["readonly, no conversation" if name.startswith("readonly") else "no conversation"]
        ratio = "" if series is base else f"{_times(series, base):.2f}x"
        print(f"{name:28}{statistics.median(series):15.0f}{ratio:>20}")
    plain, kept = costs["no conversation"], costs["SQLite"]
    more = statistics.median(one - base for one, base in zip(kept, plain, strict=True))
    beyond = more * (TURNS + 1) / batches - statements
    return [
        Verdict("runs: c in conversations on SQLite to c without", _times(kept, plain), "x", MOST_TIMES),
        Verdict("runs: a committed batch beyond its statements", beyond, "us", MOST_BEYOND),
    ]


def _times(series: list[float], base: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(series, base, strict=True))
