"""`lamina serve`: a surface of an application over MCP, from the command line."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import os
import signal
import sys
from collections.abc import Generator
from typing import Any

import attrs

from lamina.adapters.mcp import McpHttp
from lamina.call import Surface, presented
from lamina.cli._calls import Closing, Watched
from lamina.cli._exits import INTERRUPTED, OK, UsageError
from lamina.cli._log import hint_at_log
from lamina.cli._plain import count, printable
from lamina.cli._served import Served, find_served
from lamina.cli._streams import Kept
from lamina.cli._verify import find_verify
from lamina.effect import AcquisitionFailed, ConstructionError, log, message_of, tag_of

_TRANSPORTS = ("stdio", "http")
_PORT = 8_000
_ONLY_HTTP = ("host", "allow_host", "allow_origin", "verify", "json_response")


@attrs.frozen
class _How:
    stdio: bool
    http: McpHttp | None
    grace: float


def serve(options: argparse.Namespace) -> int:
    """Serve until the input ends, or a signal comes.

    Returns:
        0 where it was ended.

    Raises:
        UsageError: The command line, the module, a layer or the port is not as it has to be.
        ConstructionError: Something is missing; nothing listens then.
        KeyboardInterrupt: It was interrupted before it served.
    """
    how = _how(options)
    if not how.stdio:
        return _serve(options, how, None)
    with Kept() as kept:
        return _serve(options, how, kept)


def _how(options: argparse.Namespace) -> _How:
    names = [name.strip() for name in options.mcp.split(",")]
    if unknown := [name for name in names if name not in _TRANSPORTS]:
        raise UsageError(f"MCP is not spoken over {printable(unknown[0])!r}.", "Write --mcp stdio, http or stdio,http")
    if "http" not in names:
        for option in _ONLY_HTTP if options.port is None else ("port",):
            if option == "port" or getattr(options, option):
                hint = "Write --mcp http"
                if option == "verify":
                    hint += "; over standard input and output there are no tokens: who starts the command calls."
                raise UsageError(f"--{option.replace('_', '-')} says something over HTTP only.", hint)
        return _How(stdio=True, http=None, grace=options.grace)
    host = options.host or "127.0.0.1"
    if not _is_loopback(host) and not options.allow_host:
        raise UsageError(
            f"{printable(host)} is reached from other machines, so say by which name they may call.",
            f"Write --host {printable(host)} --allow-host mcp.example.com; for web pages --allow-origin, too.",
        )
    # Whoever listens at another of this machine's own addresses is called by it.
    own = () if not _is_loopback(host) else (f"[{host}]" if ":" in host else host,)
    http = McpHttp(
        host=host,
        port=_PORT if options.port is None else options.port,
        hosts=(*own, *options.allow_host),
        origins=tuple(options.allow_origin),
        json_response=options.json_response,
    )
    return _How(stdio="stdio" in names, http=http, grace=options.grace)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _serve(options: argparse.Namespace, how: _How, kept: Kept | None) -> int:
    served = find_served(options.app, options.surface)
    if how.http is not None and options.verify is not None:
        how = attrs.evolve(how, http=attrs.evolve(how.http, verify=find_verify(options.verify)))

    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        with _signals(task) as signals:
            try:
                async with served.opened() as surface:
                    if options.list_all or options.read_tools or options.inline_defs:
                        surface = presented(
                            surface,
                            list_all=options.list_all,
                            read_tools=options.read_tools,
                            inline_defs=options.inline_defs,
                        )
                    await _Serving(served, surface, how, kept, signals).run()
                    return OK
            except asyncio.CancelledError:
                if signals.count:
                    raise KeyboardInterrupt from None
                raise

    try:
        with hint_at_log(options.log):
            return asyncio.run(main())
    except (UsageError, ConstructionError, BrokenPipeError):
        raise
    except AcquisitionFailed as error:
        failed = error.error
        said = printable(message_of(failed))
        raise UsageError(f"The application did not open: {tag_of(failed)}: {said}") from None
    except Exception as error:
        log().exception("the application broke")
        kind = type(error).__name__
        raise UsageError(f"The application could not be opened, served or closed: {kind}.", "See --log FILE.") from None


class _Signals:
    """What Ctrl-C and SIGTERM do: the first ends the server, the second its calls, the third gives up waiting."""

    def __init__(self, task: asyncio.Task[int]) -> None:
        self.count = 0
        self.closing: Closing | None = None
        self.surface: Watched | None = None
        self._task = task

    def __call__(self) -> None:
        self.count += 1
        if self.count > 2:
            os._exit(INTERRUPTED)
        if self.closing is None:
            self._task.cancel()
        elif self.count == 1:
            running = 0 if self.surface is None else self.surface.running
            if running:
                tell(f"ending; {count(running, 'call')} may still end. Again aborts what is under way.")
            self.closing.begin()
        else:
            self.closing.hurry()


@contextlib.contextmanager
def _signals(task: asyncio.Task[int]) -> Generator[_Signals]:
    signals, loop, taken = _Signals(task), asyncio.get_running_loop(), list[signal.Signals]()
    try:
        # Elsewhere than on Unix, and in another than the main thread, Ctrl-C is asyncio's own.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, signals)
                taken.append(number)
        yield signals
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


class _Serving:
    """One server on its transports, from when it listens until all of it has ended."""

    def __init__(self, served: Served, surface: Surface, how: _How, kept: Kept | None, signals: _Signals) -> None:
        from lamina.adapters.mcp import McpServer  # the SDK; a mistake is said sooner without it

        self._served = served
        self._how = how
        self._kept = kept
        self._surface = signals.surface = Watched(surface)
        self._closing = Closing(self._surface, how.grace)
        self._signals = signals
        json_response = how.http is not None and how.http.json_response
        self._server = McpServer(self._surface, json_response=json_response)

    async def run(self) -> None:
        """Serve until it is ended.

        Raises:
            UsageError: The port cannot be had.
        """
        self._signals.closing = self._closing
        http = None if self._how.http is None else await self._listen(self._how.http)
        try:
            if self._kept is not None:
                await self._talk(self._kept, http)
            elif http is not None:
                await self._wait(http)
            await self._closing.settle(self._surface.idle)
        finally:
            if http is not None:
                http.cancel()
                await asyncio.wait({http})
        if http is not None and not http.cancelled() and (error := http.exception()) is not None:
            raise error

    async def _listen(self, settings: McpHttp) -> asyncio.Task[None]:
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        listening = asyncio.create_task(
            self._server.http(attrs.evolve(settings, started=started.set_result)), name="lamina serve http"
        )
        try:
            both: set[asyncio.Future[Any]] = {listening, started}  # Any: one answers nothing, the other a port
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            listening.cancel()
            await asyncio.wait({listening})
            raise
        if not started.done():
            error = listening.exception()
            if isinstance(error, OSError):
                number = error.errno or 0
                why = os.strerror(number) if number > 0 else error.strerror or type(error).__name__
                at = f"{printable(settings.host)}:{settings.port}"
                raise UsageError(f"{at} cannot be listened on: {why}.", "Choose another --port; 0 takes any.") from None
            raise error or RuntimeError("the server ended before it listened")
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._say(f"at http://{host}:{started.result()}{settings.path}")
        if settings.verify is not None:
            tell("whoever calls there needs a token.")
        elif not _is_loopback(settings.host):
            tell("no token is verified, so everybody who reaches it may call.")
        return listening

    async def _talk(self, kept: Kept, http: asyncio.Task[None] | None) -> None:
        from lamina.adapters.mcp import Ending

        self._say("on standard input and output")
        ending = Ending(self._closing.begun, self._closing.settle)
        with kept.lent():
            talking = asyncio.create_task(self._server.stdio(ending), name="lamina serve stdio")
            try:
                await asyncio.wait({talking, http} if http else {talking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not talking.done():
                    talking.cancel()
                    await asyncio.wait({talking})
        if not talking.cancelled():
            talking.result()

    async def _wait(self, http: asyncio.Task[None]) -> None:
        told = asyncio.create_task(self._closing.begun.wait())
        try:
            await asyncio.wait({told, http}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()

    def _say(self, where: str) -> None:
        has = [count(len(self._surface.capabilities), "tool")]
        if readable := len(self._surface.resources) + len(self._surface.templates):
            has.append(count(readable, "resource"))
        tell(f"{printable(self._surface.name)}, {self._served.kind} with {' and '.join(has)}, is served {where}")


def tell(text: str) -> None:
    """Say something to people: standard output may be the protocol's."""
    with contextlib.suppress(OSError, ValueError):
        print(f"lamina: {text}", file=sys.stderr, flush=True)
