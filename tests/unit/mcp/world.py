"""What the tests of the client share: servers that are real processes, and what those have noted."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from lamina.mcp import ConnectionLimits, StdioServer, stdio_server

SERVERS = Path(__file__).parent / "servers"
QUICK = ConnectionLimits(connect=15, discovery=10, call=15, close=0.5, backoff=0.01, reconnect_seconds=10)


def raw(
    *flags: str,
    name: str = "raw",
    notes: Path | None = None,
    big: int | None = None,
    limits: ConnectionLimits = QUICK,
    protocol: str = "legacy",
    **more: object,
) -> StdioServer:
    """Name the server that misbehaves."""
    env: dict[str, str] = {}
    if notes is not None:
        notes.touch()
        env["NOTES"] = str(notes)
    if big is not None:
        env["BIG"] = str(big)
    return stdio_server(
        name, sys.executable, str(SERVERS / "raw.py"), *flags, env=env, limits=limits, protocol=protocol, **more
    )  # type: ignore[arg-type]


async def until(holds: Callable[[], object], seconds: float = 15) -> None:
    """Wait until something holds that only another process brings about, which can tell nobody here."""
    with anyio.fail_after(seconds):
        while not holds():  # noqa: ASYNC110 - another process tells nobody here
            await anyio.sleep(0.01)


async def noted(notes: Path, line: str, times: int = 1) -> None:
    """Wait until a server has noted a line."""
    await until(lambda: notes.read_text("utf-8").split("\n").count(line) >= times)


def pids(notes: Path, what: str = "start") -> list[int]:
    """Give the processes that a server has noted."""
    return [int(line.split()[1]) for line in notes.read_text("utf-8").splitlines() if line.startswith(f"{what} ")]


def alive(pid: int) -> bool:
    """Tell whether a process is there, zombies included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> None:
    """Wait until a process is gone that is nobody's child here: init reaps it."""
    await until(lambda: not alive(pid))


@asynccontextmanager
async def program(name: str, *args: str, notes: Path | None = None) -> AsyncIterator[int]:
    """Run a server that prints its port, and give it."""
    env = dict(os.environ)
    if notes is not None:
        env["NOTES"] = str(notes)
    process = await anyio.open_process([sys.executable, str(SERVERS / name), *args], env=env, stderr=None)
    assert process.stdout is not None
    try:
        with anyio.fail_after(30):
            line = await process.stdout.receive()
        yield int(line)
    finally:
        process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()
