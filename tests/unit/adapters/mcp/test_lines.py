"""Lines of JSON: what is no message is answered, and nothing ends the connection but its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lamina.adapters.mcp import McpLimits, McpServer
from lamina.adapters.mcp._lines import Lines
from tests.unit.adapters.mcp.world import LEGACY, MODERN, World, surface_of

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(name: str, arguments: Any, number: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


class Wire:
    """The client's end, byte for byte."""

    def __init__(self) -> None:
        self.up, self.down = asyncio.Queue[bytes](), asyncio.Queue[bytes]()

    def raw(self, data: bytes) -> None:
        self.up.put_nowait(data)

    def say(self, *messages: Any) -> None:
        for message in messages:
            self.raw(json.dumps(message).encode() + b"\n")

    async def hear(self) -> Any:
        async with asyncio.timeout(5):
            return json.loads(await self.down.get())

    async def ask(self, message: Any) -> Any:
        self.say(message)
        return await self.hear()

    def end(self) -> None:
        self.raw(b"")


@asynccontextmanager
async def wired(
    world: World, *, begun: bool = True, limits: McpLimits | None = None, **more: Any
) -> AsyncGenerator[tuple[Wire, asyncio.Task[None]]]:
    wire = Wire()
    async with surface_of(world, **more) as surface:
        server = McpServer(surface, limits=limits or McpLimits())
        lines = Lines(wire.up.get, wire.down.put, server.limits.line)
        task = asyncio.create_task(server.serve(lines))
        if begun:
            await wire.ask(INITIALIZE)
            wire.say(READY)
        yield wire, task
        wire.end()
        async with asyncio.timeout(5):
            await task


def error(reply: Any) -> tuple[Any, int, str]:
    return reply["id"], reply["error"]["code"], reply["error"]["message"]


async def test_what_is_no_message_is_answered_and_the_next_one_works() -> None:
    async with wired(World()) as (wire, _):
        for line, told in (
            (b"{nonsense", (None, -32700, "Parse error")),
            (b'{"a": "\xff\xfe"}', (None, -32700, "Parse error")),
            (b"\xff\xfe\x00", (None, -32700, "Parse error")),
            (b'{"jsonrpc": "1.0"}', (None, -32600, "Not a JSON-RPC 2.0 message")),
            (b"5", (None, -32600, "Not a JSON-RPC 2.0 message")),
            (b"[" * 100_000, (None, -32700, "Parse error")),
            (json.dumps([call("echo", {"text": "a"})]).encode(), (None, -32600, "Batched requests are not supported")),
            (b"[]", (None, -32600, "Batched requests are not supported")),
            # A request that cannot be read is answered all the same, for it is waited for.
            (json.dumps(call("echo", {"text": "\ud800"}, 44)).encode(), (44, -32700, "Parse error")),
            (
                b'{"method":"ping","params":{"a":"\\ud800","id":1},"jsonrpc":"2.0","id":"b"}',
                ("b", -32700, "Parse error"),
            ),
            (b'{"jsonrpc":"2.0","id":45,"method":5}', (45, -32600, "Not a JSON-RPC 2.0 message")),
            (b'{"jsonrpc":"2.0","id":46,"method":"ping","params":[1]}', (46, -32600, "Not a JSON-RPC 2.0 message")),
            # An id that is none makes no notification of a request.
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (None, -32600, "Not a JSON-RPC 2.0 message")),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', (None, -32600, "Not a JSON-RPC 2.0 message")),
            (
                b'{"jsonrpc":"2.0","id":null,"method":"m","params":{"a":NaN}}',
                (None, -32600, "Not a JSON-RPC 2.0 message"),
            ),
            (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', (None, -32600, "Not a JSON-RPC 2.0 message")),
            # What may be an answer to us has an id of ours, and not of the client's.
            (b'{"jsonrpc":"2.0","id":47,"result":5}', (None, -32600, "Not a JSON-RPC 2.0 message")),
            (b'{"jsonrpc":"2.0","id":48,"result":{"a":"\\ud800"}}', (None, -32700, "Parse error")),
        ):
            wire.raw(line + b"\n")
            assert error(await wire.hear()) == told
        wire.raw(b"\n  \n\r\n")
        assert (await wire.ask(call("echo", {"text": "a"})))["result"]["content"][0]["text"] == "a"


async def test_86_a_character_that_comes_in_pieces_is_whole() -> None:
    async with wired(World()) as (wire, _):
        for byte in json.dumps(call("echo", {"text": "tea 🙂"}), ensure_ascii=False).encode() + b"\n":
            wire.raw(bytes((byte,)))
        assert (await wire.hear())["result"]["content"][0]["text"] == "tea 🙂"


async def test_a_line_that_is_too_long_is_refused_once_and_forgotten() -> None:
    async with wired(World(), limits=McpLimits(line=1_000)) as (wire, _):
        for _ in range(5):
            wire.raw(b"x" * 900)
        assert error(await wire.hear()) == (None, -32600, "A line is longer than 1000 bytes")
        wire.raw(b"still the same line\n")
        assert (await wire.ask(call("echo", {"text": "a"})))["result"]["content"][0]["text"] == "a"
        wire.say(call("echo", {"text": "x" * 2_000}))
        assert error(await wire.hear())[1] == -32600
        wire.raw(b"y" * 2_000 + b"\n" + json.dumps(call("echo", {"text": "b"}, 7)).encode() + b"\n")
        assert error(await wire.hear())[1] == -32600
        assert (await wire.hear())["id"] == 7
        assert wire.down.empty()


async def test_arguments_of_five_megabytes_are_refused_by_default() -> None:
    async with wired(World()) as (wire, _):
        wire.say(call("echo", {"text": "x" * 5_000_000}))
        assert error(await wire.hear()) == (1, -32600, "A line is longer than 4194304 bytes")
        assert (await wire.ask(call("echo", {"text": "a"})))["id"] == 1


@pytest.mark.parametrize("pieces", [1, 7, 400, 100_000])
async def test_whoever_asks_too_much_is_told_by_the_id_of_the_request(pieces: int) -> None:
    asked = call("echo", {"text": "x" * 3_000, "id": 9}, 8)
    python = json.dumps(asked).encode()
    typescript = json.dumps({key: asked[key] for key in ("method", "params", "jsonrpc", "id")}).encode()
    result = b'{"jsonrpc":"2.0","id":8,"result":{"a":"' + b"x" * 3_000 + b'"}}'
    nested = b'{"method":"echo","params":{"a":"' + b"x" * 3_000 + b'","b":{"id":8}}}'
    async with wired(World(), limits=McpLimits(line=1_000)) as (wire, _):
        for line, told in ((python, 8), (typescript, 8), (result, None), (nested, None)):
            data = line + b"\n"
            for at in range(0, len(data), pieces):
                wire.raw(data[at : at + pieces])
            assert error(await wire.hear()) == (told, -32600, "A line is longer than 1000 bytes")
        assert (await wire.ask(call("echo", {"text": "a"})))["id"] == 1
        assert wire.down.empty()


async def test_a_request_without_an_end_is_refused_when_the_input_ends() -> None:
    async with wired(World(), limits=McpLimits(line=1_000)) as (wire, task):
        wire.raw(b'{"method":"echo","params":{"a":"' + b"x" * 3_000)
        wire.end()
        assert error(await wire.hear()) == (None, -32600, "A line is longer than 1000 bytes")
        async with asyncio.timeout(5):
            await task


@pytest.mark.parametrize("arguments", [[], "text", 5, [1]])
async def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    world = World()
    async with wired(world) as (wire, _):
        assert error(await wire.ask(call("buy", arguments)))[:2] == (1, -32602)
    assert world.ran == []


async def test_null_and_missing_arguments_and_a_missing_name() -> None:
    async with wired(World()) as (wire, _):
        assert (await wire.ask(call("buy", None)))["result"]["content"][0]["text"] == "bought"
        no_arguments = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "buy"}}
        assert (await wire.ask(no_arguments))["result"]["content"][0]["text"] == "bought"
        for params in ({}, None, {"name": 5}, {"arguments": {}}):
            message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
            if params is None:
                del message["params"]
            assert error(await wire.ask(message))[:2] == (3, -32602)
        unknown = {"jsonrpc": "2.0", "id": 4, "method": "tools/destroy"}
        assert error(await wire.ask(unknown)) == (4, -32601, "Method not found")


async def test_a_version_that_nobody_knows_is_answered_with_one_that_is_known() -> None:
    for asked, answered in (
        ("1999-01-01", LEGACY),
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
    ):
        async with wired(World(), begun=False) as (wire, _):
            hello = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": asked}}  # type: ignore[dict-item]
            assert (await wire.ask(hello))["result"]["protocolVersion"] == answered


async def test_a_modern_version_that_nobody_knows_is_refused_with_those_that_are() -> None:
    async with wired(World(), begun=False) as (wire, _):
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2099-01-01",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        reply = await wire.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
        assert reply["error"]["code"] == -32022
        assert reply["error"]["data"]["supported"] == [MODERN]


async def test_before_the_handshake_nothing_is_served() -> None:
    world = World()
    async with wired(world, begun=False) as (wire, _):
        assert error(await wire.ask(call("buy", {})))[1] == -32602
        assert (await wire.ask({"jsonrpc": "2.0", "id": 5, "method": "ping"}))["result"] == {}
    assert world.ran == []


async def test_84_cancelling_what_is_not_there_is_harmless() -> None:
    async with wired(World()) as (wire, _):
        for params in ({"requestId": 99}, {"requestId": "x"}, {}, {"requestId": None}):
            wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert (await wire.ask(call("echo", {"text": "a"})))["id"] == 1


async def test_88_two_calls_may_be_answered_out_of_order() -> None:
    world = World()
    async with wired(world) as (wire, _):
        wire.say(call("wait", {}, "slow"))
        await world.begun.wait()
        assert (await wire.ask(call("echo", {"text": "a"}, "fast")))["id"] == "fast"
        world.go.set()
        assert (await wire.hear())["id"] == "slow"


async def test_87_88_after_the_end_nothing_runs_and_a_last_line_without_its_end_is_none() -> None:
    world = World()
    async with wired(world) as (wire, task):
        wire.raw(json.dumps(call("buy", {})).encode())
        wire.end()
        async with asyncio.timeout(5):
            await task
        wire.say(call("buy", {}))
        wire.end()
    assert world.ran == []


async def test_the_end_of_the_input_aborts_what_runs() -> None:
    world = World()
    async with wired(world) as (wire, task):
        wire.say(call("wait", {}))
        await world.begun.wait()
        wire.end()
        async with asyncio.timeout(5):
            await task
    assert world.ended == ["cancelled"]


async def test_a_client_that_reads_no_more_breaks_nothing() -> None:
    world, wire = World(), Wire()

    async def closed(data: bytes) -> None:
        raise BrokenPipeError

    async with surface_of(world) as surface:
        task = asyncio.create_task(McpServer(surface).serve(Lines(wire.up.get, closed)))
        wire.say(INITIALIZE, READY, call("buy", {}))
        wire.raw(b"nonsense\n")
        wire.end()
        async with asyncio.timeout(5):
            await task
