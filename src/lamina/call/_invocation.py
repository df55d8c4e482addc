"""One invocation from outside: its id, the way it came, and how it is aborted (design §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
import attrs

from lamina.effect import Ids, SystemIds, Value, log

_IDS: Final = SystemIds()


class Signal:
    """A value-level abort: whoever has it may abort, and whoever works for it may look, listen or wait.

    When to use: an adapter gives one to each invocation, and aborts it when its peer cancels or goes away. Everything
    happens in one event loop; a signal is aborted once and stays so.

    Example:
        >>> signal = Signal()
        >>> heard = []
        >>> stop = signal.on_abort(lambda: heard.append("aborted"))
        >>> signal.abort()
        >>> heard, signal.aborted, signal.listeners
        (['aborted'], True, 0)
    """

    __slots__ = ("_aborted", "_listeners")

    def __init__(self) -> None:
        self._aborted = False
        self._listeners: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """Whether it has been aborted."""
        return self._aborted

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._listeners)

    def abort(self) -> None:
        """Abort; the listeners are told in the order in which they came, and one that raises is logged."""
        if self._aborted:
            return
        self._aborted = True
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            try:
                listener()
            except Exception:
                log().exception("a listener of a signal raised")

    def on_abort(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Listen; called at once where it is aborted already.

        Returns:
            What ends the listening; calling it again does nothing.
        """
        if self._aborted:
            listener()
            return _nothing
        key = object()
        self._listeners[key] = listener

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop

    async def wait(self) -> None:
        """Wait until it is aborted; a waiter that is cancelled listens no more."""
        event = anyio.Event()
        stop = self.on_abort(event.set)
        try:
            await event.wait()
        finally:
            stop()


def _nothing() -> None: ...


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Invocation(Value):
    """One call of a capability, as whoever carries it knows it.

    Attributes:
        id: Its id; results, audit entries and correlations name it.
        transport: How it came: `in-app`, `mcp`, `webmcp`, `a2a`, `agent-native`, …
        signal: What aborts it; None where nothing does.
        request: The id that the protocol gave the request; None where it has none.

    Example:
        >>> Invocation(id="i-1").transport
        'in-app'
    """

    id: str
    transport: str = "in-app"
    signal: Signal | None = attrs.field(default=None, eq=False, repr=False)
    request: str | int | None = None

    @staticmethod
    def new(
        transport: str = "in-app",
        *,
        signal: Signal | None = None,
        request: str | int | None = None,
        ids: Ids | None = None,
    ) -> Invocation:
        """Make an invocation with an id of its own.

        Args:
            transport: How it came.
            signal: What aborts it.
            request: The protocol's own id.
            ids: What makes the id; random ones without.
        """
        return Invocation(id=(ids or _IDS).new("invocation"), transport=transport, signal=signal, request=request)
