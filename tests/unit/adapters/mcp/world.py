"""An application that uses all of the protocol, and clients of both eras for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, Never

import attrs
import mcp_types as wire
from mcp import Client
from mcp.shared.message import SessionMessage
from returns.result import Failure

from lamina.adapters.mcp import McpLimits, McpServer
from lamina.adapters.mcp._lines import Lines
from lamina.call import (
    AudioContent,
    Caller,
    CallerUnable,
    Contents,
    DocumentContent,
    ImageContent,
    LinkContent,
    NotElicited,
    SampleRequest,
    Surface,
    TextContent,
)
from lamina.effect import Try, bind, seed, tagged
from lamina.model import UserMessage
from lamina.runtime import Changes, build, prompt, resource
from lamina.tools import tool

SECRET = "s3cr3t-canary"
LEGACY, MODERN = "2025-11-25", "2026-07-28"


class World:
    """What the tools of the tests touch."""

    def __init__(self) -> None:
        self.open = True
        self.ran: list[str] = []
        self.ended: list[str] = []
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.text = "one"
        self.changes = Changes()


@attrs.frozen
class Word:
    text: str


@attrs.frozen
class Nothing:
    """Nothing."""


@attrs.frozen
class Sum:
    total: int


@attrs.frozen
class Name:
    first: str
    size: Literal["s", "m"] = "m"


@tagged("There is no word {text}.")
class NoSuchWord:
    text: str


@tool(title="Echo", execution="readonly")
async def echo(call: Word, ok: Try[Never]) -> str:
    """Say it again."""
    return call.text


@tool(execution="idempotent")
async def add(call: Word, ok: Try[NoSuchWord]) -> Sum:
    """Add the digits of a word."""
    return Sum(sum(map(int, call.text))) if call.text.isdigit() else ok.fail(NoSuchWord(call.text))


@tool()
async def boom(call: Nothing, ok: Try[Never]) -> str:
    """Break."""
    raise ValueError(f"it holds {SECRET}")


def is_open(world: World) -> bool:
    return world.open


@tool(available=is_open)
async def buy(call: Nothing, ok: Try[Never], world: World) -> str:
    """Buy something."""
    world.ran.append("buy")
    return "bought"


@tool()
async def wait(call: Nothing, ok: Try[Never], world: World) -> str:
    """Wait until somebody says go."""
    world.ran.append("wait")
    world.begun.set()
    try:
        await world.go.wait()
    except asyncio.CancelledError:
        world.ended.append("cancelled")
        raise
    return "went"


@tool(execution="readonly")
async def gallery(call: Nothing, ok: Try[Never]) -> Contents:
    """Give content of each kind."""
    return Contents(
        (
            TextContent("a text"),
            ImageContent("AAE=", "image/png"),
            AudioContent("AAE=", "audio/wav"),
            DocumentContent(uri="app://d", media_type="text/plain", text="a document"),
            DocumentContent(uri="app://b", blob="AAE="),
            LinkContent(uri="app://l", name="a link", description="Look."),
        )
    )


@tool()
async def tell(call: Word, ok: Try[Never], caller: Caller) -> str:
    """Tell the caller."""
    await caller.progress(1, 2, "half")
    await caller.log("debug", "quiet")
    await caller.log("warning", {"said": call.text}, "shop")
    await caller.progress(2, 2)
    return ",".join(sorted(caller.features))


@tool(asks=("elicit",))
async def ask(call: Nothing, ok: Try[NotElicited | CallerUnable], caller: Caller, world: World) -> str:
    """Ask for a name."""
    world.ran.append("ask")
    name = ok(await caller.elicit_as("Who are you?", Name))
    return f"{name.first} {name.size}"


@tool(asks=("elicit", "sample"))
async def ask_twice(call: Nothing, ok: Try[NotElicited | CallerUnable], caller: Caller, world: World) -> str:
    """Ask a person, and then a model."""
    world.ran.append("ask_twice")
    name = ok(await caller.elicit_as("Who are you?", Name))
    said = ok(await caller.sample(SampleRequest(messages=(UserMessage.of(name.first),), max_tokens=5, system="Be.")))
    return f"{said.text} by {said.model}"


@tool(asks=("elicit", "sample"))
async def ask_both(call: Nothing, ok: Try[Never], caller: Caller) -> str:
    """Ask a person and a model at once."""
    request = SampleRequest(messages=(UserMessage.of("hi"),), max_tokens=5)
    name, said = await asyncio.gather(caller.elicit_as("Who?", Name), caller.sample(request))
    return f"{name.unwrap().first} {said.unwrap().text}"


@tool(asks=("elicit",))
async def try_ask(call: Nothing, ok: Try[Never], caller: Caller) -> str:
    """Ask, and be content without an answer."""
    answered = await caller.elicit_as("Who?", Name)
    sampled = await caller.sample(SampleRequest(messages=(UserMessage.of("hi"),), max_tokens=5))
    return f"{answered.failure() if isinstance(answered, Failure) else answered.unwrap().first}|{sampled.failure()}"


@resource("app://text")
async def text(world: World) -> str:
    """A text."""
    return world.text


@resource("app://raw", media_type="image/png")
async def raw() -> bytes:
    return b"\x00\x01"


@resource("app://broken")
async def broken() -> str:
    raise ValueError(SECRET)


@resource("app://item/{sku}", complete={"sku": ("tea", "toast", "oil")})
async def item(sku: str) -> str | None:
    return None if sku == "nothing" else f"item {sku}"


@prompt(title="Greet")
async def greet(name: str, tone: Literal["kind", "short"] = "kind") -> str:
    """Greet somebody."""
    return f"Greet {name}, {tone}."


@prompt(asks=("elicit",))
async def interview(caller: Caller, world: World) -> str:
    """Ask who it is for."""
    world.ran.append("interview")
    named = await caller.elicit_as("Who is it for?", Name)
    return f"For {'nobody' if isinstance(named, Failure) else named.unwrap().first}."


TOOLS = echo | add | boom | buy | wait | gallery | tell | ask | ask_twice | ask_both | try_ask


@asynccontextmanager
async def surface_of(world: World, toolkit: Any = TOOLS, **more: Any) -> AsyncGenerator[Surface]:
    """Build the application, and give its surface."""
    app: Any = bind(World).value(world)
    async with build(app, seeds=seed(Caller)) as opened:
        offered = {"resources": [text, raw, broken, item], "prompts": [greet, interview], **more}
        yield opened.surface(toolkit, name="shop", version="1.2.3", changes=world.changes, **offered)


@asynccontextmanager
async def served(
    world: World, mode: str = LEGACY, *, toolkit: Any = TOOLS, limits: McpLimits | None = None, **client: Any
) -> AsyncGenerator[tuple[Any, McpServer]]:
    """Give a client of an era, connected over two streams of bytes, and the server."""
    async with surface_of(world, toolkit) as surface:
        server = McpServer(surface, limits=limits or McpLimits(debounce=0.001))
        async with talking(server, mode, **client) as connected:
            yield connected, server


@asynccontextmanager
async def talking(server: McpServer, mode: str, **client: Any) -> AsyncGenerator[Any]:
    chosen = "legacy" if mode == LEGACY else mode
    async with pipe(server) as transport, Client(transport, mode=chosen, **client) as connected:
        yield connected


class pipe:
    """A client's transport, whose other end is a server's lines."""

    def __init__(self, server: McpServer) -> None:
        self.server = server

    async def __aenter__(self) -> Any:
        import anyio

        up, to_server = asyncio.Queue[bytes](), asyncio.Queue[bytes]()

        async def receive() -> bytes:
            return await to_server.get()

        async def send(data: bytes) -> None:
            await up.put(data)

        self.task = asyncio.create_task(self.server.serve(Lines(receive, send, self.server.limits.line)))
        self.end = lambda: to_server.put_nowait(b"")
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](100)
        incoming, read = anyio.create_memory_object_stream[Any](100)

        async def forward() -> None:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await to_server.put(line.encode() + b"\n")

        async def backward() -> None:
            while True:
                data = await up.get()
                await incoming.send(SessionMessage(wire.jsonrpc_message_adapter.validate_json(data, by_name=False)))

        self.pumps = [asyncio.create_task(forward()), asyncio.create_task(backward())]
        self.streams = (write, outgoing, incoming, read)

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Any]:
            yield read, write

        return transport()

    async def __aexit__(self, *_: object) -> None:
        self.end()
        await self.task
        for pump in self.pumps:
            pump.cancel()
        await asyncio.wait(self.pumps)
        for stream in self.streams:
            stream.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what other tasks do, at most two seconds."""
    async with asyncio.timeout(2):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.001)
