"""Calls under way on a surface, and how a server ends: they get time, then an abort, and their honest outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import attrs

from lamina.call import Caller, ForwardingSurface, Invocation, Outcome, Signal, Surface, ToolRejected
from lamina.schema import JsonValue

_LAST = 3.0
"""Seconds in which calls that were aborted may still say what became of them."""
_ENDING = "The server is ending; the call was not started."


class Watched(ForwardingSurface):
    """Another surface, of which one knows which calls are under way.

    Args:
        inner: The surface.
    """

    def __init__(self, inner: Surface) -> None:
        super().__init__(inner)
        self._running: dict[int, Signal] = {}
        self._idle = anyio.Event()
        self._closed = False

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
            return await super().invoke(name, payload, invocation, caller)
        finally:
            self._running.pop(key, None)
            if not self._running:
                self._idle.set()


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
