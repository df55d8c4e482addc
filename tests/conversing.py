"""What tests of runs in conversations stand on: a runtime over a store, tools that note that they ran, and faults."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Never

import attrs
from returns.result import Failure, Result

from lamina.approval import Approval, Ask, DeferredApproval
from lamina.conversation import Conversations, Entry, stored_conversations
from lamina.effect import Clock, Try, bind, handler
from lamina.runtime import Runtime, build
from lamina.store import Row, Rows, Statement, Store, StoreError, StoreFull, StoreUnavailable, Unmet, Value
from lamina.tools import Tool, tool
from tests.stores import Place
from tests.unit.engine.world import Word


class Ledger:
    """What really ran, noted by the bodies themselves."""

    def __init__(self) -> None:
        self.ran: list[str] = []


@tool()
async def act(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Do something that is not to be done twice."""
    ledger.ran.append(call.text)
    return call.text


@tool(needs_approval=True)
async def send(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Send, if somebody allows it; a denial ends the run."""
    ledger.ran.append(call.text)
    return call.text


@tool(needs_approval=True, approval=Ask[Word](recoverable=True, expires=60))
async def post(call: Word, ok: Try[Never], ledger: Ledger) -> str:
    """Post, if somebody allows it within a minute; a denial is told to the model."""
    ledger.ran.append(call.text)
    return call.text


def gated(gate: asyncio.Event, entered: asyncio.Event) -> Tool[Any, Any, Any]:
    """Give a tool that waits for a test."""

    @tool()
    async def wait(call: Word, ok: Try[Never]) -> str:
        """Wait for the test."""
        entered.set()
        await gate.wait()
        return call.text

    return wait


def records_in(statements: Sequence[Statement]) -> list[tuple[str, str]]:
    """Give the conversation and the id of each record that a unit adds, however its statement is written."""
    found: list[tuple[str, str]] = []
    for each in statements:
        if (insert := re.fullmatch(r"INSERT INTO record \(([^)]*)\) VALUES (.*)", each.sql)) is None:
            continue
        columns = insert[1].split(", ")
        for row in re.findall(r"\(([^)]*)\)", insert[2]):
            given = {
                name: str(each.parameters[int(at[1:]) - 1]) for name, at in zip(columns, row.split(", "), strict=True)
            }
            found.append((given["conversation"], given["id"]))
    return found


class Faulty(Store):
    """A store that refuses some writes: `refuses` is asked about each, with its number and its statements."""

    def __init__(self, store: Store, refuses: Callable[[int, tuple[Statement, ...]], bool]) -> None:
        self.durable = store.durable
        self.store = store
        self.refuses = refuses
        self.writes = 0

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        self.writes += 1
        if self.refuses(self.writes, statements):
            return Failure(StoreFull())
        return await self.store.write(*statements)

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self.store.read(sql, *parameters)


class Doubtful(Store):
    """A store that does not know of one write, the first with a certain record, whether it was kept."""

    def __init__(self, store: Store, record: str, *, kept: bool) -> None:
        self.durable = store.durable
        self.store = store
        self.record = record
        self.kept = kept
        self.left = True

    def concerns(self, statements: Sequence[Statement]) -> bool:
        return any(id_.startswith(self.record) for _, id_ in records_in(statements))

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        if not (self.left and self.concerns(statements)):
            return await self.store.write(*statements)
        self.left = False
        if self.kept:
            (await self.store.write(*statements)).unwrap()
        return Failure(StoreUnavailable("lost", in_doubt=True))

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self.store.read(sql, *parameters)


@handler
async def the_conversations(_: None, conversations: Conversations) -> Conversations:
    """Give the conversations of a runtime."""
    return conversations


@attrs.frozen
class Talk:
    """A runtime in which agents converse."""

    rt: Runtime[Any]
    conversations: Conversations
    ledger: Ledger
    store: Store

    async def log(self, conversation: str = "c", principal: str | None = None) -> tuple[Entry, ...]:
        return (await self.conversations.read(conversation, principal=principal)).unwrap()

    async def ids(self, conversation: str = "c") -> list[str]:
        return [entry.id for entry in await self.log(conversation)]

    async def holder(self, conversation: str = "c") -> tuple[str | None, str | None]:
        found = (await self.conversations.get(conversation)).unwrap()
        return found.run, found.state

    async def run(self, binding: Any, given: str = "go", **options: Any) -> Any:
        return await self.rt.run(binding, given, **{"conversation": "c"} | options)


@asynccontextmanager
async def talking(
    place: Place,
    *,
    approval: Approval | None = None,
    clock: Clock | None = None,
    ledger: Ledger | None = None,
    lease: float = 30.0,
    refuses: Callable[[int, tuple[Statement, ...]], bool] | None = None,
    over: Callable[[Store], Store] | None = None,
    close_timeout: float = 10.0,
    more: Any = None,
) -> AsyncGenerator[Talk, None]:
    """Open a runtime over a test's database; one of several, where the store is durable."""
    noted = ledger or Ledger()
    async with place.open() as opened:
        store = opened if refuses is None else Faulty(opened, refuses)
        store = store if over is None else over(store)
        app: Any = stored_conversations(clock=clock, lease=lease).provide(bind(Store).value(store))
        app = app | bind(Ledger).value(noted)
        app = app | bind(Approval).value(approval or DeferredApproval(same_process=not store.durable))
        if clock is not None:
            app = app | bind(Clock).value(clock)
        if more is not None:
            app = app | more
        async with build(app, close_timeout=close_timeout) as rt:
            yield Talk(rt, await rt.run(the_conversations, None), noted, store)
