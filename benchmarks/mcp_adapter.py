"""What serving over MCP costs: the adapter beside the SDK's server without it, and beside fastmcp.

`python benchmarks mcp` prints, for stdio and HTTP and for both eras of the protocol, the CPU time that the server's
process takes for a call of one small tool. The three servers of a row run at once and take turns, round by round, so
that a slow moment of the machine hits all of them; the median over rounds is shown, and differences and ratios are
taken inside a round. CPU time is the kernel's own count for the process.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

SERVER = Path(__file__).with_name("mcp_server.py")
SERVERS = ("sdk", "lamina", "fastmcp")
ERAS = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
MOST_ADDED_MS, LEAST_RATIO = 0.3, 1.2


def cpu_seconds(pid: int) -> float:
    """Read how long all threads of a process have run."""
    spent = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            spent += int((task / "schedstat").read_text().split()[0]) / 1e9
        except (OSError, ValueError):
            continue  # a thread that has just ended
    return spent


@asynccontextmanager
async def client_of(name: str, transport: str, mode: str) -> AsyncGenerator[tuple[Any, int]]:
    """Start a server, and give a client of it with the server's process id."""
    if transport == "stdio":
        before = children()
        parameters = StdioServerParameters(
            command=sys.executable, args=[str(SERVER), name, "stdio"], env={**os.environ, "FASTMCP_LOG_LEVEL": "ERROR"}
        )
        async with Client(parameters, mode=mode) as client:
            (pid,) = children() - before
            yield client, pid
        return
    async with await anyio.open_process([sys.executable, str(SERVER), name, "http"]) as process:
        try:
            assert process.stderr is not None
            said = b""
            with anyio.fail_after(60):
                while (found := re.search(rb"port (\d+)\n", said)) is None:
                    said += await process.stderr.receive()
            async with Client(f"http://127.0.0.1:{int(found[1])}/mcp", mode=mode) as client:
                yield client, process.pid
        finally:
            process.kill()


def children() -> set[int]:
    """Give the processes that this one has started."""
    task = Path(f"/proc/{os.getpid()}/task")
    return {int(pid) for each in task.iterdir() for pid in (each / "children").read_text().split()}


async def timed(client: Any, pid: int, count: int) -> float:
    """Give the server's CPU ms a call."""
    before = cpu_seconds(pid)
    for n in range(count):
        answered = await client.call_tool("add", {"a": n, "b": 1})
        assert answered.structured_content == {"total": n + 1}, answered
    return (cpu_seconds(pid) - before) / count * 1_000


async def measure(transport: str, mode: str, rounds: int, count: int) -> dict[str, list[float]]:
    """Measure one row: CPU ms a call, by server, one a round."""
    found: dict[str, list[float]] = {name: [] for name in SERVERS}
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(client_of(name, transport, mode)) for name in SERVERS}
        for client, pid in clients.values():
            await timed(client, pid, count // 2)
        for _ in range(rounds):
            for name, (client, pid) in clients.items():
                found[name].append(await timed(client, pid, count))
    return found


def row(transport: str, era: str, found: dict[str, list[float]]) -> tuple[str, bool]:
    """Give a row of the table, and whether both bounds are met."""
    middle = {name: statistics.median(times) for name, times in found.items()}
    added = statistics.median(ours - theirs for ours, theirs in zip(found["lamina"], found["sdk"], strict=True))
    ratio = statistics.median(theirs / ours for ours, theirs in zip(found["lamina"], found["fastmcp"], strict=True))
    holds = added <= MOST_ADDED_MS and ratio >= LEAST_RATIO
    line = f"{transport:6}{era:11}" + "".join(f"{middle[name]:9.2f}" for name in SERVERS)
    bounds = f"{added:10.2f} {mark(added <= MOST_ADDED_MS):5}{ratio:9.2f} {mark(ratio >= LEAST_RATIO)}"
    return line + bounds, holds


def mark(holds: bool) -> str:
    """Say whether a bound is met."""
    return "ok" if holds else "OVER"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--count", type=int, default=200, help="calls a round, of each server")
    parser.add_argument("--only", choices=("stdio", "http"), help="one transport")
    options = parser.parse_args()
    if not Path("/proc/self/schedstat").exists():
        sys.exit("benchmarks: CPU time of another process is read from /proc, which is not there")
    print(f"{'CPU ms a call of the server':17}")
    print(f"{'':17}" + "".join(f"{name:>9}" for name in SERVERS) + f"{'added':>10} {'':5}{'x fastmcp':>9}")
    met = True
    for transport in ("stdio", "http") if options.only is None else (options.only,):
        for era, mode in ERAS.items():
            line, holds = row(transport, era, anyio.run(measure, transport, mode, options.rounds, options.count))
            print(line, flush=True)
            met = met and holds
    print(f"\nbounds: at most {MOST_ADDED_MS:g} ms added, at least {LEAST_RATIO:g} x the calls of fastmcp a CPU second")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
