"""A server on the loopback that answers each request as it was told to, and remembers what it was asked.

It speaks as much HTTP as the tests of model adapters need, byte by byte, so that it can also break off, stay silent,
or send what is no HTTP answer of any use.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import Any

import attrs


class Event(Enum):
    """What happens in the middle of an answer, instead of more bytes."""

    LOST = "the connection is reset"
    HANG = "nothing more comes, until the client leaves"


@attrs.frozen
class Reply:
    """One answer: each piece is written on its own."""

    pieces: tuple[bytes | Event, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Scenario:
    """What a provider answers to a streaming and to a whole request."""

    stream: Reply
    whole: Reply

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        return self.stream if body.get("stream") else self.whole


@attrs.frozen
class Asked:
    """A request that arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class Loopback:
    """Answers with `scenario`, or first with each of `next`."""

    def __init__(self, scenario: Scenario | None = None) -> None:
        self.scenario = scenario
        self.next: list[Scenario] = []
        self.asked: list[Asked] = []
        self.port = 0
        self._busy: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def released(self, seconds: float = 5.0) -> bool:
        """Wait until no answer is being given any more."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
        return not self._busy

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Loopback]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in list(self._busy):
                task.cancel()
            await asyncio.gather(*self._busy, return_exceptions=True)
            await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        self._idle.clear()
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
        except asyncio.CancelledError:
            # The server is closing; the stream protocol's own callback would report a cancelled handler.
            writer.transport.abort()
        finally:
            writer.close()
            self._busy.discard(task)
            if not self._busy:
                self._idle.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _read(reader)
        self.asked.append(asked)
        scenario = self.next.pop(0) if self.next else self.scenario
        assert scenario is not None, "the server was not told what to answer"
        reply = scenario.reply_to(asked.body)
        headers = {"connection": "close", "transfer-encoding": "chunked", **reply.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} Said\r\n{head}\r\n".encode())
        for piece in reply.pieces:
            if piece is Event.LOST:
                writer.transport.abort()
                return
            if piece is Event.HANG:
                await writer.drain()
                await reader.read()
                return
            assert isinstance(piece, bytes)
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            # Let the client read this piece before the next is there: packets are cut where pieces are.
            await asyncio.sleep(0.001)
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split(" ")[1], headers, json.loads(body or b"{}"))
