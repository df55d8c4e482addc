"""Lines of JSON, one message each: standard input and output, or any two streams of bytes."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
import attrs
import mcp_types as wire
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from lamina.adapters.mcp._unread import MARGIN, NO_MESSAGE, asked_in, begins_with_its_method, is_misnamed, why_unread
from lamina.effect import log

Receive: TypeAlias = Callable[[], Awaitable[bytes]]
"""Gives the next bytes; none at the end."""
Send: TypeAlias = Callable[[bytes], Awaitable[None]]
Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]
_CHUNK = 65_536
_STAY_OPEN = ("subscriptions/listen",)


@attrs.frozen(eq=False)
class Ending:
    """How a connection ends before its client ends it, and what is given time then.

    When to use: for a server that ends on a signal and lets calls under way end first.

    Attributes:
        begun: Set where nothing more is to be read.
        settle: Awaited once nothing more is read, whoever ended it, with what waits until every request is answered.
            Requests that are not answered when it returns are cancelled.
    """

    begun: anyio.Event
    settle: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


class Lines:
    """Reads and writes messages, a line each.

    What is no message is answered, and never ends the connection: a line that is too long, text that is no UTF-8 or no
    JSON, a batch. The answer has the id of the request that it would have been, wherever that can be seen: without it
    whoever waits for the answer waits for ever. The last line counts only where it ends.

    Args:
        receive: Gives the next bytes; none at the end.
        send: Writes bytes.
        longest: Bytes of a line.
        ending: How it ends before the input does; without it, the end of the input cancels what is under way.
    """

    def __init__(self, receive: Receive, send: Send, longest: int = 4_194_304, *, ending: Ending | None = None) -> None:
        self._ending = ending
        self._asked: set[str | int] = set()
        self._answered = anyio.Event()
        self._receive = receive
        self._send = send
        self._longest = longest
        self._writing = anyio.Lock()

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[Streams]:
        """Give the messages as the SDK wants them."""
        to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read_all, to_server)
            group.start_soon(self._write, from_server)
            try:
                yield read, write
            finally:
                for stream in (to_server, read, write):
                    stream.close()
                group.cancel_scope.cancel()

    async def answered(self) -> None:
        """Wait until every request that was read is answered, but for those that stay open by their nature."""
        while self._asked:
            self._answered = anyio.Event()
            await self._answered.wait()

    async def _read_all(self, messages: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        ending = self._ending
        with messages, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            if ending is None:
                await self._read(messages)
                return
            async with anyio.create_task_group() as group:

                async def stop() -> None:
                    await ending.begun.wait()
                    group.cancel_scope.cancel()

                group.start_soon(stop)
                await self._read(messages)
                group.cancel_scope.cancel()
            await ending.settle(self.answered)

    async def _read(self, messages: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        kept, skipping, refused = bytearray(), False, False
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            while data := await self._next():
                *lines, rest = data.split(b"\n")
                for part in lines:
                    kept += part
                    if not skipping:
                        await self._take(bytes(kept), messages)
                    elif not refused:
                        await self._refuse_long(bytes(kept))
                    skipping = False
                    kept.clear()
                kept += rest
                if not skipping and len(kept) > self._longest:
                    skipping = True
                    # Where the id stands at the end, the answer waits for it.
                    refused = not begins_with_its_method(kept)
                    if refused:
                        await self._refuse_long(bytes(kept[:MARGIN]))
                if skipping:  # its two ends are all that is looked at
                    del kept[MARGIN:-MARGIN]
            if skipping and not refused:
                await self._refuse_long(b"")

    async def _next(self) -> bytes:
        try:
            return await self._receive()
        except OSError:  # a terminal that hung up, or a socket whose peer is gone
            log().debug("the input cannot be read any more, which is its end", exc_info=True)
            return b""

    async def _take(self, line: bytes, messages: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        if not line.strip():
            return
        if len(line) > self._longest:
            await self._refuse_long(line)
            return
        try:
            message = wire.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:  # pydantic's own is one
            await self._refuse(*why_unread(line))
            return
        if isinstance(message, wire.JSONRPCNotification) and is_misnamed(line):
            await self._refuse(wire.INVALID_REQUEST, NO_MESSAGE)
            return
        asked = message.id if isinstance(message, wire.JSONRPCRequest) and message.method not in _STAY_OPEN else None
        if asked is not None:
            self._asked.add(asked)
        try:
            await messages.send(SessionMessage(message))
        except BaseException:
            self._settled(asked)
            raise
        if isinstance(message, wire.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settled((message.params or {}).get("requestId"))

    def _settled(self, request: object) -> None:
        if isinstance(request, str | int):  # a client may name anything
            self._asked.discard(request)
            if not self._asked:
                self._answered.set()

    async def _write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with suppress(anyio.ClosedResourceError):
            async with messages:
                async for message in messages:
                    await self._put(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
                    if isinstance(message.message, wire.JSONRPCResponse | wire.JSONRPCError):
                        self._settled(message.message.id)

    async def _refuse_long(self, line: bytes) -> None:
        await self._refuse(wire.INVALID_REQUEST, f"A line is longer than {self._longest} bytes", asked_in(line))

    async def _refuse(self, code: int, why: str, request: str | int | None = None) -> None:
        error = wire.JSONRPCError(jsonrpc="2.0", id=request, error=wire.ErrorData(code=code, message=why))
        await self._put(error.model_dump_json(by_alias=True, exclude_unset=True).encode())

    async def _put(self, line: bytes) -> None:
        async with self._writing:
            try:
                await self._send(line + b"\n")
            except OSError:
                log().debug("the client reads no more; what was said to it is dropped")


@asynccontextmanager
async def stdio_lines(longest: int, ending: Ending | None = None) -> AsyncGenerator[Lines]:
    """Take standard input and output for the protocol, and give them back afterwards.

    Meanwhile file descriptor 0 is empty, and 1 is standard error: what a handler, or a process that it starts, prints
    or reads is none of the protocol's.
    """
    _flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(empty, 0)
        os.dup2(2, 1)
        reader, close_reader = await _reader(os.dup(wire_in))
        writer, close_writer = await _writer(os.dup(wire_out))
        try:
            yield Lines(reader, writer, longest, ending=ending)
        finally:
            close_reader()
            close_writer()
    finally:
        _flush()  # while 1 is still standard error
        for fd, home in ((wire_in, 0), (wire_out, 1)):
            with suppress(OSError):
                os.set_blocking(fd, True)
            os.dup2(fd, home)
            os.close(fd)
        os.close(empty)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


async def _reader(fd: int) -> tuple[Receive, Callable[[], None]]:
    """Read a descriptor; a pipe without a thread for each read."""
    if _is_pipe(fd):
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
        )
        return lambda: reader.read(_CHUNK), transport.close

    return _thread_reader(fd)


def _thread_reader(fd: int) -> tuple[Receive, Callable[[], None]]:
    """Read a terminal or a file in a thread, and close it.

    A read that nobody waits for any more stays behind: nothing can wake it. So it is no thread of a pool, which the end
    of the program would wait for.
    """
    loop, wanted, got = asyncio.get_running_loop(), threading.Semaphore(0), asyncio.Queue[bytes]()
    over = threading.Event()

    def work() -> None:
        data = b"-"
        while data and not over.is_set():
            wanted.acquire()
            if over.is_set():
                break
            try:
                data = os.read(fd, _CHUNK)
            except OSError:
                data = b""
            try:
                loop.call_soon_threadsafe(got.put_nowait, data)
            except RuntimeError:  # the loop is over
                break
        os.close(fd)

    async def read() -> bytes:
        wanted.release()
        return await got.get()

    def close() -> None:
        over.set()
        wanted.release()

    threading.Thread(target=work, name="lamina mcp input", daemon=True).start()
    return read, close


async def _writer(fd: int) -> tuple[Send, Callable[[], None]]:
    if _is_pipe(fd):
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(fd, "wb", 0))
        writer = asyncio.StreamWriter(transport, protocol, None, loop)

        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        return send, transport.close

    def write_all(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    async def write(data: bytes) -> None:
        await anyio.to_thread.run_sync(write_all, data)

    return write, lambda: os.close(fd)


def _is_pipe(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
