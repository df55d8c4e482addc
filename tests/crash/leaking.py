"""A thousand runs in conversations, two of ten cancelled, in a process of its own: what do they leave?

It is run as `-m tests.crash.leaking KIND PLACE RUNS_A_CONVERSATION`, and prints one line of JSON: what there
was after run 200, after the last run, and after the runtime was closed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Never

import attrs
from returns.result import Failure, Result, Success

from lamina.approval import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable, Approved
from lamina.conversation import stored_conversations
from lamina.effect import Try, bind
from lamina.engine import RunInterrupted
from lamina.model import (
    Emit,
    Finish,
    LanguageModel,
    ModelError,
    ModelRequest,
    ResponsePart,
    Text,
    ToolCall,
    ToolMessage,
    Usage,
)
from lamina.runtime import Runtime, build
from lamina.store import postgres_store, sqlite_store
from lamina.testing._deltas import in_deltas
from lamina.tools import tool
from tests.unit.engine.world import Word, after_steps, agent_with, echo

RUNS = 1_000
SETTLED = 200
STEPS = 45
"""So many steps of the event loop, at most, are taken before a run is cancelled."""


class Tireless(LanguageModel):
    """Asks for three calls, then answers; it keeps nothing."""

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        await asyncio.sleep(0)
        usage = Usage(10, 10)
        if isinstance(request.messages[-1], ToolMessage):
            return Success([Text("done " * 20), Finish("stop", usage)])
        calls = [ToolCall(f"c{each}", each, '{"text": "x"}') for each in ("echo", "act", "send")]
        return Success([*calls, Finish("tool-calls", usage)])

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        for part in in_deltas((await self.generate(request)).unwrap(), 8):
            emit(part)
        return Success(None)


class Forgetful(Approval):
    """Says yes, and keeps nothing."""

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        await asyncio.sleep(0)
        return Success(Approved("ada"))


@tool()
async def act(call: Word, ok: Try[Never]) -> str:
    """Take some steps."""
    await after_steps(3)
    return call.text * 100


@tool(needs_approval=True)
async def send(call: Word, ok: Try[Never]) -> str:
    """Send, with somebody's leave."""
    await after_steps(2)
    return call.text


@attrs.frozen
class Left:
    """What a process holds at one moment."""

    tasks: list[str]
    threads: list[str]
    files: Counter[str]
    memory: int
    objects: Counter[str]

    @staticmethod
    async def now() -> Left:
        for _ in range(3):
            gc.collect()
            await asyncio.sleep(0.01)  # a thread that has been told to end may end
        return Left(
            tasks=sorted(task.get_name() for task in asyncio.all_tasks()),
            threads=sorted(thread.name for thread in threading.enumerate()),
            files=Counter(os.readlink(f"/proc/self/fd/{each}").split(":")[0] for each in _open()),
            memory=resident(),
            objects=Counter(
                f"{type(each).__module__}.{type(each).__qualname__}"
                for each in gc.get_objects()
                if str(type(each).__module__).startswith("lamina")
            ),
        )


def _open() -> list[str]:
    return [each for each in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{each}")]


def resident() -> int:
    """Give the process's resident memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def one(rt: Runtime[Any], agent: Any, number: int, conversation: str) -> str:
    """Run once; of every ten runs one is cancelled, and one interrupted, each time at another step."""
    if number % 10 == 9:
        task = asyncio.create_task(rt.run(agent, "go", conversation=conversation))
        await after_steps(number // 10 * 7 % STEPS)
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
    elif number % 10 == 4:
        async with rt.start(agent, "go", conversation=conversation) as run:
            await after_steps(number // 10 * 11 % STEPS)
            run.interrupt()
            result = await run.result()
    else:
        result = await rt.run(agent, "go", conversation=conversation)
    return _how(result)


async def main(kind: str, place: str, each: int) -> None:
    before = await Left.now()
    store: Any = sqlite_store(place) if kind == "sqlite" else postgres_store(place)
    app: Any = stored_conversations() | store | bind(Approval).value(Forgetful())
    agent: Any = agent_with(echo | act | send).on(bind(LanguageModel).value(Tireless()))
    ended: Counter[str] = Counter()
    moments: list[Left] = []
    async with build(app) as rt:
        for number in range(RUNS):
            ended[await one(rt, agent, number, f"c{number // each}")] += 1
            if number + 1 in (SETTLED, RUNS):
                moments.append(await Left.now())
    after = await Left.now()
    seen = {name: attrs.asdict(left) for name, left in zip(("early", "late"), moments, strict=True)}
    print(json.dumps({**seen, "before": attrs.asdict(before), "after": attrs.asdict(after), "ended": ended}))


def _how(result: Any) -> str:
    if isinstance(result, BaseException):
        assert isinstance(result, asyncio.CancelledError), result
        return "cancelled"
    if isinstance(result, Failure):
        assert isinstance(result.failure().cause, RunInterrupted), result
        return "interrupted"
    return "completed"


# --- in the process that looks --------------------------------------------------------------------------------------


def left_by(kind: str, place: str, each: int) -> dict[str, Any]:
    """Run a thousand times in a process of its own, see that nothing is left open, and give what it held."""
    command = [sys.executable, "-m", "tests.crash.leaking", kind, place, f"{each}"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "something was left unclosed"
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["ended"].pop("completed") >= 800
    assert min(seen["ended"].values()) > 80, "they are cut off, and not too late"
    for what in ("tasks", "threads", "files"):
        assert seen["late"][what] == seen["early"][what]
        assert seen["after"][what] == seen["before"][what]
    return seen


def grown(seen: dict[str, Any]) -> set[str]:
    """Give the names of our own classes of which there are more after the last run than after run 200."""
    more = Counter(seen["late"]["objects"]) - Counter(seen["early"]["objects"])
    return {each.rpartition(".")[2] for each in more}


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3], int(sys.argv[3])))
