"""A server as a process of ours: spoken to in lines, within bounds, and ended with its group on every exit.

Laws that hold here:

1. Nothing is awaited between the process's start and the `try` that ends it; the last resort is a kill without a wait.
2. Output is always read, so that a server that writes cannot block while it is asked to end.
3. No line is kept beyond the limit; an answer that is too long fails its own call, where its id can be told.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
from anyio.abc import ByteReceiveStream, Process

from lamina.effect import log
from lamina.mcp._servers import StdioServer
from lamina.mcp._transport import Transport
from lamina.redaction import MASK

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    Incoming: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]

TOO_LARGE: Final = -31_999
"""The code of the error that stands for an answer that was too long to be read; no protocol uses it."""
_CHUNK = 65_536
_PEEK = 512
_MOST_SKIPPED = 64
"""How many times the limit of a message a line may have before the connection is given up."""
_MOST_GARBAGE = 1_024
"""How many lines that are no messages are passed over."""
_STDERR_TAIL = 4_096
_POLL = 0.01
_WATCH = 0.5
_REAP = 2.0
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")')
_ID_AT_END = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")\s*\}\s*$')


class ProcessTransport(Transport):
    """One process, from its start to its end."""

    def __init__(self, server: StdioServer) -> None:
        super().__init__()
        self._server = server
        self._limit = server.limits.message_bytes
        self._tail = bytearray()
        self._closing = False

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[TransportStreams, None]:
        """Start the process, and give the streams of its messages.

        Raises:
            OSError: There is no such program, or it may not be run.
        """
        from mcp.shared.message import SessionMessage  # an extra

        server = self._server
        inherited = {name: value for name in server.inherit if (value := os.environ.get(name)) is not None}
        process = await anyio.open_process(
            [server.command, *server.args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**inherited, **server.env, **server.secret_env},
            cwd=server.cwd,
            start_new_session=True,
        )
        try:
            incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
            with incoming, read, write, outgoing:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._read, process, incoming)
                    group.start_soon(self._write, process, outgoing)
                    group.start_soon(self._drain_errors, process)
                    group.start_soon(self._watch, process)
                    try:
                        yield read, write
                    finally:
                        self._closing = True
                        with anyio.CancelScope(shield=True):
                            read.close()
                            write.close()
                            await self._stop(process)
                        group.cancel_scope.cancel()
        finally:
            self._closing = True
            _kill_group(process, _KILL)
            await _release(process)

    # --- in -----------------------------------------------------------------------------------------------------------

    async def _read(self, process: Process, incoming: Incoming) -> None:
        assert process.stdout is not None
        with incoming:
            try:
                await self._lines(process.stdout, incoming)
            except _Unfit as unfit:
                self.lose(str(unfit))
            except _GONE:
                pass
            if not self._closing and not self.lost.is_set():
                await self._say_how_it_ended(process)
        # A server that still writes must not block on a full pipe, and so miss that it is asked to end.
        with suppress(*_GONE):
            while True:
                await process.stdout.receive(_CHUNK)

    async def _lines(self, stdout: ByteReceiveStream, incoming: Incoming) -> None:
        kept, searched, garbage = bytearray(), 0, 0
        while True:
            kept += await stdout.receive(_CHUNK)
            while (end := kept.find(b"\n", searched)) >= 0:
                line = bytes(kept[:end])
                del kept[: end + 1]
                searched = 0
                if not line.strip():
                    continue
                message = _message(line) if len(line) <= self._limit else self._too_large(line[:_PEEK], line[-_PEEK:])
                if isinstance(message, ValueError):
                    garbage += 1
                    if garbage == 1 and not self._closing:
                        log().warning("an MCP server writes what is no message", server=self._server.name)
                    if garbage > _MOST_GARBAGE:
                        raise _Unfit("it writes what is no message of the protocol")
                    continue
                await incoming.send(message)
            searched = len(kept)
            if searched > self._limit:
                message = await self._skip(kept, stdout)
                searched = 0
                await incoming.send(message)

    async def _skip(self, kept: bytearray, stdout: ByteReceiveStream) -> SessionMessage:
        """Pass over the rest of a line that is too long; what comes after it stays in `kept`."""
        head, tail, length = bytes(kept[:_PEEK]), bytes(kept[-_PEEK:]), len(kept)
        while True:
            chunk = await stdout.receive(_CHUNK)
            end = chunk.find(b"\n")
            length += len(chunk)
            tail = (tail + (chunk if end < 0 else chunk[:end]))[-_PEEK:]
            if end >= 0:
                kept[:] = chunk[end + 1 :]
                return self._too_large(head, tail)
            if length > self._limit * _MOST_SKIPPED:
                raise _Unfit(f"it sent a message of more than {self._limit} bytes")

    def _too_large(self, head: bytes, tail: bytes) -> SessionMessage:
        """Make the failure of the call whose answer is too long; its id stands before the result, or at the end."""
        from mcp.shared.message import SessionMessage
        from mcp_types import ErrorData, JSONRPCError

        found = _ID.search(head.partition(b'"result"')[0]) or _ID_AT_END.search(tail)
        if found is None or b'"method"' in head.partition(b'"result"')[0]:
            raise _Unfit(f"it sent a message of more than {self._limit} bytes")
        text = found[1].decode("utf-8", "replace")
        request = text[1:-1] if text.startswith('"') else int(text)
        error = ErrorData(code=TOO_LARGE, message="too large")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))

    async def _watch(self, process: Process) -> None:
        """Notice the end of a process whose output does not end with it, for a child of its own has inherited it."""
        while process.returncode is None:  # noqa: ASYNC110 - `wait()` would also wait for that child
            await anyio.sleep(_WATCH)
        await anyio.sleep(_WATCH)  # what it wrote last is read first
        if not self._closing and not self.lost.is_set():
            await self._say_how_it_ended(process)

    async def _say_how_it_ended(self, process: Process) -> None:
        """Say why nothing more can come: mostly that the process has ended."""
        for _ in range(round(self._server.limits.close / _POLL)):
            if process.returncode is not None:
                break
            await anyio.sleep(_POLL)
        code = process.returncode
        if self._closing or self.lost.is_set():
            return
        if code is None:
            self.lose("it closed its input or its output")
        else:
            self.lose(f"it exited with code {code}" if code >= 0 else f"it was ended by signal {-code}")
        tail = self._tail.decode("utf-8", "replace").strip()
        for secret in filter(None, self._server.secrets):  # no runtime knows them before an agent is prepared
            tail = tail.replace(secret, MASK)
        log().warning("an MCP server ended by itself", server=self._server.name, exit_code=code, stderr=tail)

    # --- out ----------------------------------------------------------------------------------------------------------

    async def _write(self, process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        with suppress(*_GONE), outgoing:
            async for sent in outgoing:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                with anyio.move_on_after(self._server.limits.call) as slow:
                    await process.stdin.send(text.encode("utf-8", "replace") + b"\n")
                if slow.cancelled_caught:  # half a message may have gone out
                    self.lose("it does not read its input")
                    return
        if not self._closing and not self.lost.is_set():
            await self._say_how_it_ended(process)

    async def _drain_errors(self, process: Process) -> None:
        assert process.stderr is not None
        with suppress(*_GONE):
            while True:
                self._tail += await process.stderr.receive(_CHUNK)
                del self._tail[:-_STDERR_TAIL]

    # --- the end ------------------------------------------------------------------------------------------------------

    async def _stop(self, process: Process) -> None:
        """Close its input, wait, ask its group to end, wait, and kill the group."""
        grace = self._server.limits.close
        assert process.stdin is not None
        with anyio.move_on_after(grace), suppress(*_GONE):
            await process.stdin.aclose()
        if not await _ended(process, grace):
            _kill_group(process, signal.SIGTERM)
            if not await _ended(process, grace):
                log().warning("an MCP server does not end when it is told to; it is killed", server=self._server.name)
        _kill_group(process, _KILL)
        if not await _ended(process, _REAP):
            log().error("an MCP server's process cannot be ended", server=self._server.name, pid=process.pid)


class _Unfit(Exception):
    """What comes cannot be read as messages, or is too much; the sentence goes into the failure."""


_KILL: Final = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


def _message(line: bytes) -> SessionMessage | ValueError:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _ended(process: Process, seconds: float) -> bool:
    """Wait for the process itself: `wait()` would also wait for whoever has inherited its pipes."""
    deadline = anyio.current_time() + seconds
    while process.returncode is None:
        if anyio.current_time() >= deadline:
            return False
        await anyio.sleep(_POLL)
    return True


def _kill_group(process: Process, number: int) -> None:
    """Signal the whole group, its leader gone or not: what it has started has stayed in it."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            if process.returncode is None:
                process.send_signal(signal.Signals(number))
        else:
            os.killpg(process.pid, number)


async def _release(process: Process) -> None:
    """Close the pipes, also where somebody who has left the group holds their other end."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(_REAP):
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(*_GONE):
                    await stream.aclose()
    # asyncio's transport would warn when it is collected; nothing public leads to it. trio has none.
    transport: object = getattr(getattr(process, "_process", None), "_transport", None)
    close = getattr(transport, "close", None)
    if callable(close):
        with suppress(PermissionError):
            close()
