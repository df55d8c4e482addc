"""Servers that are `lamina serve`, as processes: what they print, and how they end."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs

from tests.e2e.terminal import LAMINA, environment

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
TODO = ("lamina.demo.todo:app", "todo")

# Tools of which the test knows when they have begun: they say so on standard error.
WAITING = '''
import asyncio
import sys
from pathlib import Path
from typing import Never

import attrs

from lamina.call import Caller, CallerUnable, NotElicited
from lamina.effect import Try, layer
from lamina.runtime import RuntimeBuilder
from lamina.tools import tool

print("a module that prints")


@attrs.frozen
class Wait:
    pass


@attrs.frozen
class Name:
    first: str


class Log:
    def __init__(self) -> None:
        print("a layer that prints")


@tool(execution="readonly")
async def look(call: Wait, ok: Try[Never], log: Log) -> str:
    """Look at once."""
    print("a handler that prints")
    return "seen"


async def for_ever(name: str) -> str:
    print(name, "has begun", file=sys.stderr, flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print(name, "has ended", file=sys.stderr, flush=True)
    return "never"


@tool(execution="readonly")
async def read(call: Wait, ok: Try[Never]) -> str:
    """Wait for ever."""
    return await for_ever("read")


@tool(execution="uncertain")
async def write(call: Wait, ok: Try[Never]) -> str:
    """Wait for ever."""
    return await for_ever("write")


@tool(execution="readonly")
async def a_moment(call: Wait, ok: Try[Never]) -> str:
    """Wait until a file is there."""
    print("a_moment has begun", file=sys.stderr, flush=True)
    while not Path("let-go").exists():
        await asyncio.sleep(0.01)
    return "done"


@tool(asks=("elicit",))
async def ask(call: Wait, ok: Try[NotElicited | CallerUnable], caller: Caller) -> str:
    """Ask somebody."""
    return ok(await caller.elicit_as("Who?", Name)).first


kit = look | read | write | a_moment
asking = look | ask
number = 7
app = RuntimeBuilder().provide(layer(Log))
lacking = RuntimeBuilder()
'''


@attrs.frozen
class Server:
    """A server on its way."""

    process: asyncio.subprocess.Process

    async def until(self, text: str) -> str:
        """Wait until it says something on standard error, and give the line."""
        assert self.process.stderr is not None
        before: list[str] = []
        while line := (await self.process.stderr.readline()).decode():
            if text in line:
                return line
            before.append(line)
        raise AssertionError(f"{text!r} never came; what came is:\n{''.join(before)}")

    async def port(self) -> int:
        """Give the port that it chose."""
        return int((await self.until("is served at http://")).rpartition(":")[2].partition("/")[0])

    def write(self, *messages: Any) -> None:
        """Write lines to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))

    async def read(self) -> Any:
        """Read one line of its standard output."""
        assert self.process.stdout is not None
        return json.loads(await self.process.stdout.readline())

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    async def ended(self) -> tuple[int, bytes, str]:
        """Wait for its end; give its code, and what it printed meanwhile."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        out, err = await asyncio.gather(self.process.stdout.read(), self.process.stderr.read())
        return await self.process.wait(), out, err.decode()


def call(name: str, arguments: Any = None, number: int = 1) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments or {}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@asynccontextmanager
async def serving(*arguments: str, cwd: Path | None = None, patience: float = 120) -> AsyncGenerator[Server]:
    """Start `lamina serve`, and see to it that it ends with the test."""
    process = await asyncio.create_subprocess_exec(
        *LAMINA, "serve", *arguments, cwd=cwd, env=environment(),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=1 << 22,
    )  # fmt: skip
    try:
        async with asyncio.timeout(patience):
            yield Server(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()  # type: ignore[attr-defined]
