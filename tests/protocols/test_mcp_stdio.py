"""The MCP server as a real program: its standard output carries the protocol, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as wire
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.protocols.over_http import MODERN, Caller, told

APP = str(Path(__file__).with_name("stdio_app.py"))
SOURCE = str(Path(__file__).parents[2] / "src")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCE}


@asynccontextmanager
async def program(*arguments: str, **streams: Any) -> AsyncGenerator[asyncio.subprocess.Process]:
    given: dict[str, Any] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, **streams}
    process = await asyncio.create_subprocess_exec(
        sys.executable, APP, *arguments, stderr=asyncio.subprocess.PIPE, env=environment(), limit=1 << 20, **given
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def say(process: Any, message: Any) -> Any:
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
    return json.loads(await process.stdout.readline())


def call(name: str, arguments: Any = None, number: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
async def test_the_sdks_own_client_talks_to_it(mode: str, tmp_path: Path) -> None:
    async def person(context: Any, params: Any) -> Any:
        return wire.ElicitResult(action="accept", content={"first": "Ada"})

    parameters = StdioServerParameters(command=sys.executable, args=[APP], env=environment())
    with (tmp_path / "errors").open("w+") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode, elicitation_callback=person) as client:
            assert [each.name for each in (await client.list_tools()).tools] == [
                "echo",
                "noisy",
                "boom",
                "ask",
                "forever",
            ]
            assert (await client.call_tool("echo", {"text": "tea 🙂"})).content[0].text == "tea 🙂"
            assert (await client.call_tool("noisy", {})).content[0].text == "read b''"
            assert (await client.call_tool("boom", {})).content[0].text == 'Capability "boom" failed unexpectedly'
            assert (await client.call_tool("ask", {})).content[0].text == "Ada"
            assert (await client.call_tool("echo", {"text": "x"})).content[0].text == "x"
        errors.seek(0)
        noise = errors.read()
    for line in ("noise on print", "noise on stdout", "noise on the descriptor", "noise of a child"):
        assert line in noise
    assert "s3cr3t-canary" in noise  # the application's own log has it


async def test_only_messages_are_on_its_output_until_its_input_ends() -> None:
    async with program() as process:
        assert (await say(process, INITIALIZE))["result"]["serverInfo"]["name"] == "stdio-app"
        assert (await say(process, call("noisy")))["result"]["content"][0]["text"] == "read b''"
        assert (await say(process, []))["error"]["code"] == -32600
        process.stdin.write(b"\xff\xfe\n" + b"x" * 5_000_000 + b"\n")
        await process.stdin.drain()
        assert json.loads(await process.stdout.readline())["error"]["code"] == -32700
        assert json.loads(await process.stdout.readline())["error"]["code"] == -32600
        assert (await say(process, call("echo", {"text": "x" * 40_000}, 5)))["id"] == 5
        process.stdin.close()
        rest = await process.stdout.read()
        assert rest == b"the protocol is over\n"
        assert await process.wait() == 0


async def test_the_end_of_its_input_aborts_what_runs() -> None:
    async with program() as process:
        await say(process, INITIALIZE)
        process.stdin.write(json.dumps(call("forever", {})).encode() + b"\n")
        assert await process.stderr.readline() == b"begun\n"
        process.stdin.close()
        assert b"cancelled\n" in await process.stderr.read()
        assert await process.wait() == 0


async def test_its_input_and_output_may_be_files(tmp_path: Path) -> None:
    given, taken = tmp_path / "in", tmp_path / "out"
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with given.open("rb") as stdin, taken.open("wb") as stdout:
        async with program(stdin=stdin, stdout=stdout) as process:
            assert await process.wait() == 0
    answers = taken.read_text().splitlines()
    assert json.loads(answers[0])["id"] == 0
    assert answers[-1] == "the protocol is over"


async def test_a_client_that_dies_ends_it() -> None:
    async with program() as process:
        await say(process, INITIALIZE)
        process.stdout._transport.close()  # type: ignore[attr-defined]  # nobody reads any more
        process.stdin.write((json.dumps(call("echo", {"text": "x"})) + "\n").encode() * 3)
        process.stdin.close()
        await process.wait()


async def test_stdio_and_http_at_once() -> None:
    async with program("both") as process:
        port = (await process.stderr.readline()).split()[1].decode()
        await say(process, INITIALIZE)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            over_http = told(await Caller(http).modern("tools/call", {"name": "echo", "arguments": {"text": "a"}}))
        over_stdio = await say(process, call("echo", {"text": "b"}))
        assert over_http["result"]["content"][0]["text"] == "a"
        assert over_stdio["result"]["content"][0]["text"] == "b"
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.parametrize("how", ["interrupted", "hung up", "closed"])
async def test_its_input_may_be_a_terminal_and_it_ends_with_it(how: str) -> None:
    ours, theirs = pty.openpty()
    async with program(stdin=theirs, start_new_session=True) as process:
        os.close(theirs)
        os.write(ours, json.dumps(INITIALIZE).encode() + b"\n")
        assert json.loads(await process.stdout.readline())["id"] == 0
        if how == "interrupted":
            process.send_signal(signal.SIGINT)
        elif how == "closed":
            os.write(ours, b"\x04")
        if how == "hung up":
            os.close(ours)
        async with asyncio.timeout(20):
            code = await process.wait()
        if how != "hung up":
            os.close(ours)
        assert (code == 0) == (how != "interrupted")
