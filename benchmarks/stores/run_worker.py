"""One kind of run in a process of its own: it runs scenario c fifty times whenever it is told to, and prints the cost.

`run_worker.py KIND FOLDER` prints `ready` or `absent`, then reads lines: at `go` it makes a round and prints the CPU
microseconds a turn, an empty line ends it. What other kinds keep alive is not for its garbage collections to look at.
`run_worker.py statements FOLDER ROUNDS` prints the batches of a run, and what a batch's own statements cost.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Never

import attrs

# What the rivals' scenarios are made of is used here, too; and the tests' PostgreSQL.
sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "rivals"))

from adapters.lamina import Add, Fake, add
from lamina.agent import Agent, AgentPolicy, Binding
from lamina.conversation import stored_conversations
from lamina.effect import Try
from lamina.runtime import Runtime, RuntimeBuilder, build, try_build
from lamina.store import memory_store, postgres_store, sqlite_store
from lamina.tools import tool
from scenario import FINAL, HITS, TURNS

AT_ONCE = 50
POLICY = AgentPolicy(max_turns=TURNS + 2, max_tool_calls=TURNS + 8, max_duration=600, tool_concurrency=8)
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


def _with_store(make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    return lambda folder: stored_conversations().provide(make(folder))


def _postgres(_: Path) -> Any:
    from tests.postgres import cluster

    return postgres_store(cluster().database())


KINDS: dict[str, tuple[bool, Callable[[Path], Any] | None]] = {
    "no conversation": (False, None),
    "in memory": (False, _with_store(lambda _: memory_store())),
    "SQLite": (False, _with_store(lambda folder: sqlite_store(folder / "runs.db"))),
    "PostgreSQL": (False, _with_store(_postgres)),
    "readonly, no conversation": (True, None),
    "readonly, SQLite": (True, _with_store(lambda folder: sqlite_store(folder / "reads.db"))),
}
"""By name: whether the tool only reads, and what offers conversations."""


def there(kind: str) -> bool:
    """Whether what a kind needs is on this machine."""
    if kind != "PostgreSQL":
        return True
    try:
        import asyncpg  # noqa: F401 - only whether it is there

        from tests.postgres import binaries
    except ImportError:
        return False
    return binaries() is not None


async def serve(kind: str, folder: Path) -> None:
    reads, offer = KINDS[kind]
    binding = agent("reads", look) if reads else agent("writes", add)
    builder: Any = RuntimeBuilder().agent(binding)
    async with build(builder if offer is None else builder.provide(offer(folder))) as rt:
        print("ready", flush=True)
        number = 0
        while sys.stdin.readline().strip():
            number += 1
            print(await fifty(rt, binding, None if offer is None else f"c{number}"), flush=True)


async def own_statements(folder: Path, rounds: int) -> tuple[float, float]:
    """Give the batches of a run, and the CPU microseconds of a batch's own statements."""
    recorded, binding = Recorded(), agent("writes", add)
    (folder / "recorded").mkdir()
    with recording(recorded):
        offered = stored_conversations().provide(sqlite_store(folder / "recorded" / "runs.db"))
        async with build(RuntimeBuilder().agent(binding).provide(offered)) as rt:
            recorded.on = True
            await fifty(rt, binding, "w")
            recorded.on = False
    bare = [replay(await empty(folder / f"bare{number}.db"), recorded.calls) for number in range(rounds)]
    return recorded.units / AT_ONCE, statistics.median(bare) / recorded.units


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    if kind == "statements":
        print(*asyncio.run(own_statements(folder, int(sys.argv[3]))))
    elif not there(kind):
        print("absent")
    else:
        asyncio.run(serve(kind, folder))


if __name__ == "__main__":
    main()
