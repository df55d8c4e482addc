"""Telling the callers of a surface that something of it may have changed."""

from __future__ import annotations

from collections.abc import Callable

from lamina.effect import log


class Changes:
    """What an application announces its changes with; a surface that is given one tells its callers.

    When to use: capabilities that come and go, or resources that are watched: `rt.surface(toolkit, changes=changes)`,
    and `changes.announce()` wherever one of them may have changed. Too often does no harm: adapters tell their peers
    only of what is different afterwards.

    Example:
        >>> changes, heard = Changes(), []
        >>> stop = changes.subscribe(lambda: heard.append("changed"))
        >>> changes.announce()
        >>> stop(); changes.announce()
        >>> heard, changes.listeners
        (['changed'], 0)
    """

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[], None]] = {}

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._listeners)

    def announce(self) -> None:
        """Say that something may have changed; a listener that raises is logged, and the others are told."""
        for listener in tuple(self._listeners.values()):
            try:
                listener()
            except Exception:
                log().exception("a listener to the changes of a surface raised")

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Listen.

        Returns:
            What ends it; calling it again does nothing.
        """
        key = object()
        self._listeners[key] = listener

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop
