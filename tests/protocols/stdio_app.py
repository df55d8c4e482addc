"""A program that is an MCP server on stdio; run as `python stdio_app.py [stdio|both]`."""

from __future__ import annotations

import os
import sys
from typing import Any, Never

import anyio
import attrs

from lamina.adapters.mcp import McpHttp, serve_mcp
from lamina.call import Caller, NotElicited
from lamina.effect import Try, empty_layer, seed
from lamina.runtime import build
from lamina.tools import tool


@attrs.frozen
class Word:
    text: str


@attrs.frozen
class Nothing:
    """Nothing."""


@attrs.frozen
class Name:
    first: str


@tool(execution="readonly")
async def echo(call: Word, ok: Try[Never]) -> str:
    """Say it again."""
    return call.text


@tool()
async def noisy(call: Nothing, ok: Try[Never]) -> str:
    """Print in every way, and read the input."""
    print("noise on print")
    sys.stdout.write("noise on stdout\n")
    os.write(1, b"noise on the descriptor\n")
    await anyio.run_process([sys.executable, "-c", "print('noise of a child')"], stdin=None, stdout=None)
    return f"read {os.read(0, 10)!r}"


@tool()
async def boom(call: Nothing, ok: Try[Never]) -> str:
    """Break."""
    raise ValueError("it holds s3cr3t-canary")


@tool(asks=("elicit",))
async def ask(call: Nothing, ok: Try[NotElicited], caller: Caller) -> str:
    """Ask for a name."""
    answered: Any = await caller.elicit_as("Who?", Name)
    return str(answered.unwrap().first)


@tool()
async def forever(call: Nothing, ok: Try[Never]) -> str:
    """Wait."""
    sys.stderr.write("begun\n")
    sys.stderr.flush()
    try:
        await anyio.sleep_forever()
    finally:
        sys.stderr.write("cancelled\n")
        sys.stderr.flush()
    return ""


async def main(how: str) -> None:
    def started(port: int) -> None:
        sys.stderr.write(f"port {port}\n")
        sys.stderr.flush()

    async with build(empty_layer(), seeds=seed(Caller)) as opened:
        surface = opened.surface(echo | noisy | boom | ask | forever, name="stdio-app")
        await serve_mcp(surface, http=McpHttp(port=0, started=started) if how == "both" else None)
    print("the protocol is over")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else "stdio")
