"""Calls under way on a surface, and how a server ends: they get time, then an abort, and their honest outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import anyio
import attrs
from returns.result import Result

from lamina.call import (
    NOBODY,
    AgentResourceError,
    Caller,
    Invocation,
    Outcome,
    PromptMessage,
    PromptRefused,
    ReadDefect,
    ResourceContent,
    Signal,
    Surface,
    ToolRejected,
    ToolSuccess,
)
from lamina.schema import JsonValue

_LAST = 3.0
"""Seconds in which calls that were aborted may still say what became of them."""
_ENDING = "The server is ending; the call was not started."


class Watched(Surface):
    """Another surface, of which one knows which calls are under way.

    Args:
        inner: The surface.
    """

    def __init__(self, inner: Surface) -> None:
        self._inner = inner
        self._running: dict[int, Signal] = {}
        self._idle = anyio.Event()
        self._closed = False
        self.name = inner.name
        self.version = inner.version
        self.capabilities = inner.capabilities
        self.resources = inner.resources
        self.templates = inner.templates
        self.prompts = inner.prompts

    @property
    def running(self) -> int:
        """How many calls are under way."""
        return len(self._running)

    def abort(self) -> None:
        """Abort every call that is under way, and refuse every further one."""
        self._closed = True
        for signal in tuple(self._running.values()):
            signal.abort()

    async def idle(self) -> None:
        """Wait until no call is under way."""
        while self._running:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Pass it on, and know of it meanwhile."""
        if self._closed:
            return ToolRejected("not-started", _ENDING)
        signal = invocation.signal
        if signal is None:
            signal = Signal()
            invocation = attrs.evolve(invocation, signal=signal)
        key = id(signal)
        self._running[key] = signal
        try:
            return await self._inner.invoke(name, payload, invocation, caller)
        finally:
            self._running.pop(key, None)
            if not self._running:
                self._idle.set()

    async def available(self) -> frozenset[str]:
        """Pass it on."""
        return await self._inner.available()

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        """Pass it on."""
        return self._inner.summary(name, outcome)

    async def read(self, uri: str) -> Result[ResourceContent, AgentResourceError | ReadDefect]:
        """Pass it on."""
        return await self._inner.read(uri)

    async def prompt(
        self, name: str, arguments: Mapping[str, str], caller: Caller = NOBODY
    ) -> Result[tuple[PromptMessage, ...], PromptRefused]:
        """Pass it on."""
        return await self._inner.prompt(name, arguments, caller)

    async def complete(
        self, kind: Literal["prompt", "template"], of: str, argument: str, begun: str
    ) -> tuple[str, ...]:
        """Pass it on."""
        return await self._inner.complete(kind, of, argument, begun)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Pass it on."""
        return self._inner.subscribe(listener)


class Closing:
    """The end of a server: begun once, by a signal or by the end of the input, and bounded whatever calls do.

    Args:
        surface: What is served.
        grace: Seconds that calls may go on before they are aborted.
    """

    def __init__(self, surface: Watched, grace: float) -> None:
        self.begun = anyio.Event()
        self._surface = surface
        self._grace = grace
        self._hurried = False
        self._scopes: set[anyio.CancelScope] = set()

    def begin(self) -> None:
        """Read no more calls; those that were read have their time."""
        self.begun.set()

    def hurry(self) -> None:
        """Abort the calls that are still under way, now."""
        self._hurried = True
        for scope in tuple(self._scopes):
            scope.cancel()

    async def settle(self, answered: Callable[[], Awaitable[None]]) -> None:
        """Wait until everything is answered; abort what takes too long, and wait a little for what it then says.

        Args:
            answered: Waits until that is so.
        """
        self.begin()
        with anyio.CancelScope(deadline=anyio.current_time() + (0 if self._hurried else self._grace)) as scope:
            self._scopes.add(scope)
            try:
                await answered()
                return
            finally:
                self._scopes.discard(scope)
        self._surface.abort()
        with anyio.move_on_after(_LAST):
            await answered()
