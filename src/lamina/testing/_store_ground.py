"""What the cases of the store's suite stand on: tables, a store that is open, and what is asked of it most."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Never, TypeAlias

import attrs
from returns.result import Failure

from lamina.effect import Layer, handler
from lamina.store import Row, Rows, Statement, Store, Unmet, Value
from lamina.testing._suite import Broken, service_of

TABLES = {
    "lamina_check": "(name TEXT NOT NULL PRIMARY KEY, number BIGINT, ratio DOUBLE PRECISION, body TEXT, data BYTEA)",
    "lamina_check_head": "(id TEXT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL)",
    "lamina_check_log": "(id TEXT NOT NULL, seq BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id, seq))",
}

INSERT = "INSERT INTO lamina_check (name, number) VALUES ($1, $2)"


@attrs.frozen
class Ground:
    """Where a case happens.

    Attributes:
        store: Open, with the suite's tables, which are empty.
        make: Gives the layer of another store; where it is durable, of the same database.
    """

    store: Store
    make: Callable[[], Layer[Never, Store, Any]]  # Any: what it may fail with is reported as it is


Case: TypeAlias = Callable[[Ground], Awaitable[None]]


@handler
async def the_store(_: None, store: Store) -> Store:
    """Give the store of a runtime."""
    return store


def opened(app: Layer[Never, Store, Any]) -> AbstractAsyncContextManager[Store]:  # Any: as above
    """Open a store, and close it afterwards."""
    return service_of(app, the_store)


async def wrote(store: Store, *statements: Statement) -> Rows:
    """Commit a unit that has to succeed."""
    answer = await store.write(*statements)
    if isinstance(answer, Failure):
        raise Broken(f"a unit that has to succeed failed: {answer.failure()}")
    return answer.unwrap()


async def found(store: Store, sql: str, *parameters: Value) -> tuple[Row, ...]:
    """Ask a query that has to succeed."""
    answer = await store.read(sql, *parameters)
    if isinstance(answer, Failure):
        raise Broken(f"a query that has to succeed failed: {answer.failure()}")
    return answer.unwrap()


async def names(store: Store) -> tuple[Value, ...]:
    """Give the names in the suite's table, in order."""
    return tuple(name for (name,) in await found(store, "SELECT name FROM lamina_check ORDER BY name"))


def insert(name: str, number: int = 0, *, rows: int | None = 1) -> Statement:
    """Insert a row."""
    return Statement(INSERT, (name, number), rows)


def append(conversation: str, expected: int, body: str) -> tuple[Statement, Statement]:
    """Compare and append: only where the head is as it is expected to be."""
    return (
        Statement(
            "UPDATE lamina_check_head SET seq = seq + 1 WHERE id = $1 AND seq = $2", (conversation, expected), rows=1
        ),
        Statement(
            "INSERT INTO lamina_check_log (id, seq, body) VALUES ($1, $2, $3)", (conversation, expected + 1, body)
        ),
    )


async def start_log(store: Store, conversation: str) -> None:
    """Begin a log to append to."""
    await wrote(store, Statement("INSERT INTO lamina_check_head (id, seq) VALUES ($1, 0)", (conversation,), rows=1))


async def race(stores: list[Store], conversation: str, expected: int, racers: int) -> int:
    """Let many append at one place at once; give how many did, where the others were told why not."""
    from anyio import create_task_group

    won: list[int] = []

    async def run(at: int) -> None:
        answer = await stores[at % len(stores)].write(*append(conversation, expected, f"{at}"))
        if not isinstance(answer, Failure):
            won.append(at)
        elif answer.failure() != Unmet(0):
            raise Broken(f"who loses a race is told {answer.failure()}")

    async with create_task_group() as group:
        for at in range(racers):
            group.start_soon(run, at)
    return len(won)
