"""The scene of the crash harness: an agent in a conversation on a SQLite file, and where its process may be killed.

A process *talks*: several turns with reading, idempotent and uncertain tools, an output that is repaired, an approval
that suspends a run and is resumed, a run that is cancelled, a second run. Or it *takes up* what a killed one left.
Every tool notes in a file of its own, on the disk before it goes on, that its body began and that it ended. Every
text is given to one call only, so that this file and the log can be compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Never, TypeAlias

import attrs
from returns.result import Failure, Result

from lamina.agent import Agent
from lamina.approval import Approval, Approved, DeferredApproval
from lamina.conversation import AlreadyDecided, Conversations, stored_conversations
from lamina.effect import Clock, Ids, Try, bind, tag_of
from lamina.engine import RunInterrupted, RunSuspended, ToolCallSucceeded
from lamina.runtime import Runtime, build
from lamina.schema import codec
from lamina.store import Row, Rows, Statement, Store, StoreError, Unmet, Value, sqlite_store
from lamina.testing import ScriptedModel, VirtualClock, call_tool, say
from lamina.testing._store_ground import opened
from lamina.tools import tool
from tests.conversing import records_in, the_conversations
from tests.crash.forking import die, tell
from tests.unit.engine.world import Word, policy

CONVERSATION = "c"
AFTER_EVERY_LEASE = timedelta(hours=1)

Point: TypeAlias = tuple[str, int]
"""What is about to happen, or has, and which time it is."""
UNIT = ("before a unit", "before its commit", "after its commit", "after its answer")
BODY = ("before a body", "in a body", "after a body")


class Killer:
    """Counts the points that a process comes to, and kills it at one of them."""

    def __init__(self, pipe: int, at: Point | None) -> None:
        self.pipe = pipe
        self.met = Counter[str]()
        self._at = at

    def come_to(self, point: str, what: str = "") -> None:
        self.met[point] += 1
        here = (point, self.met[point])
        if here == self._at:
            die(self.pipe, json.dumps(here))
        if self._at is None:
            tell(self.pipe, f"point {json.dumps([*here, what])}")

    def watch_commits(self) -> None:
        """Come to a point at either side of each commit that the store's own thread makes."""
        killer = self

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                if sql != "COMMIT":
                    return super().execute(sql, *parameters)
                killer.come_to("before its commit")
                cursor = super().execute(sql, *parameters)
                killer.come_to("after its commit")
                return cursor

        sqlite3.connect = partial(sqlite3.connect, factory=Watched)  # type: ignore[assignment]


class Watched(Store):
    """A store that comes to a point at either side of each unit, and tells what was kept."""

    def __init__(self, store: Store, killer: Killer) -> None:
        self.durable = store.durable
        self._store = store
        self._killer = killer

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        ids = [id_ for _, id_ in records_in(statements)]
        self._killer.come_to("before a unit", " ".join(ids))
        answer = await self._store.write(*statements)
        if not isinstance(answer, Failure):
            tell(self._killer.pipe, f"kept {json.dumps(ids)}")
        self._killer.come_to("after its answer", " ".join(ids))
        return answer

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self._store.read(sql, *parameters)


class Trail:
    """What the tools really did, on the disk."""

    def __init__(self, path: Path, killer: Killer) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._killer = killer
        self.hangs = asyncio.Event()

    async def do(self, text: str, *, hang: bool = False) -> str:
        self._killer.come_to("before a body", text)
        self._note(f"began {text}")
        self._killer.come_to("in a body", text)
        if hang:
            self.hangs.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        self._note(f"ended {text}")
        self._killer.come_to("after a body", text)
        return text

    def _note(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())
        os.fsync(self._file)


@tool(execution="readonly")
async def look(call: Word, ok: Try[Never], trail: Trail) -> str:
    """Look at something."""
    return await trail.do(call.text)


@tool(execution="idempotent")
async def put(call: Word, ok: Try[Never], trail: Trail) -> str:
    """Put something where it may be already."""
    return await trail.do(call.text)


@tool()
async def act(call: Word, ok: Try[Never], trail: Trail) -> str:
    """Do something that is not to be done twice."""
    return await trail.do(call.text)


@tool()
async def hang(call: Word, ok: Try[Never], trail: Trail) -> str:
    """Begin something, and never end."""
    return await trail.do(call.text, hang=True)


@tool(needs_approval=True)
async def send(call: Word, ok: Try[Never], trail: Trail) -> str:
    """Send, if somebody allows it."""
    return await trail.do(call.text)


@attrs.frozen
class Number:
    number: int


class OwnIds(Ids):
    """Ids that no other process gives."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._made = Counter[str]()

    def new(self, kind: str) -> str:
        self._made[kind] += 1
        return f"{kind}-{self._process}-{self._made[kind]}"


@attrs.frozen(kw_only=True)
class Scene:
    """One process in the conversation; its name begins every text that it brings."""

    process: str
    rt: Runtime[Any]
    conversations: Conversations
    trail: Trail
    pipe: int

    def word(self, name: str) -> str:
        return f"{self.process}-{name}"

    def call(self, tool: str, name: str) -> Any:
        return call_tool(tool, text=self.word(name), id=self.word(name))

    def agent(self, *turns: Any, output: Any = str, model: ScriptedModel | None = None) -> Any:
        toolkit = look | put | act | hang | send
        agent = Agent("worker", instructions="Work.", policy=policy(), toolkit=toolkit, output=output)
        return agent.on(model or ScriptedModel(*turns))

    async def run(self, binding: Any, given: str) -> Any:
        return self.ended(await self.rt.run(binding, self.word(given), conversation=CONVERSATION))

    def ended(self, ended: Any) -> Any:
        """Tell how a run ended; give its answer, or what it ended with."""
        if isinstance(ended, Failure):
            failure = ended.failure()
            tell(self.pipe, f"ended {json.dumps([failure.report.run, tag_of(failure.cause)])}")
            return failure.cause
        tell(self.pipe, f"ended {json.dumps([ended.unwrap().report.run, 'Completed'])}")
        return ended.unwrap().output

    def expect(self, what: bool, why: object) -> None:
        if not what:
            tell(self.pipe, f"problem: {self.process}: {why}".replace("\n", " ")[:1500])


@asynccontextmanager
async def scene(folder: Path, process: str, nth: int, killer: Killer) -> AsyncGenerator[Scene, None]:
    """Open the conversation as the nth process that does, when every earlier one's lease is over."""
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC) + nth * AFTER_EVERY_LEASE)
    trail = Trail(folder / "trail", killer)
    async with opened(sqlite_store(folder / "log.db", readers=1)) as store:
        app: Any = stored_conversations(clock=clock).provide(bind(Store).value(Watched(store, killer)))
        app = app | bind(Trail).value(trail) | bind(Approval).value(DeferredApproval())
        app = app | bind(Clock).value(clock) | bind(Ids).value(OwnIds(process))
        async with build(app) as rt:
            conversations = await rt.run(the_conversations, None)
            yield Scene(process=process, rt=rt, conversations=conversations, trail=trail, pipe=killer.pipe)


async def talk(here: Scene) -> None:
    """Go through everything that a run in a conversation may come to."""
    batch = here.call("look", "look") & here.call("put", "put") & here.call("act", "act")
    turns = batch, here.call("act", "alone"), here.call("look", "glance"), say("no number"), say('{"number": 1}')
    first = await here.run(here.agent(*turns, output=Number), "first")
    here.expect(first == Number(1), f"the first run gave {first}")

    asking = here.call("act", "beside") & here.call("send", "asked")
    waiting = await here.run(here.agent(asking), "second")
    here.expect(isinstance(waiting, RunSuspended), f"the second run gave {waiting}")
    tell(here.pipe, f"suspended {codec(RunSuspended).encode_json(waiting).unwrap().decode()}")
    yes = {here.word("asked"): Approved("ada")}
    resumed = here.ended(await here.rt.resume(here.agent(here.call("put", "later"), say("sent")), waiting, yes))
    here.expect(resumed == "sent", f"the resumed run gave {resumed}")
    again = (await here.rt.resume(here.agent(), waiting, yes)).failure().cause
    here.expect(isinstance(again, AlreadyDecided), f"resumed again it gave {again}")

    endless = here.agent(here.call("put", "quick") & here.call("hang", "endless"))
    async with here.rt.start(endless, here.word("third"), conversation=CONVERSATION) as run:
        await here.trail.hangs.wait()
        async for event in run.events():
            if isinstance(event, ToolCallSucceeded):  # and is recorded, so that there are always as many units
                break
        run.interrupt()
        cause = here.ended(await run.result())
    here.expect(isinstance(cause, RunInterrupted), f"the cancelled run gave {cause}")

    last = await here.run(here.agent(here.call("act", "last"), say("done")), "fourth")
    here.expect(last == "done", f"the fourth run gave {last}")
