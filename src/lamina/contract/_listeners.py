"""Listeners of a host: told one after the other, and none keeps the others from being told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from lamina.effect import is_a_raise, log

A = ParamSpec("A")


class Listeners(Generic[A]):
    """Who listens."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[A, None]] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def add(self, listener: Callable[A, None]) -> Callable[[], None]:
        """Listen; what is given ends it, and does nothing when it is called again."""
        key = object()
        self._listeners[key] = listener

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop

    def tell(self, *args: A.args, **kwargs: A.kwargs) -> None:
        """Tell those who listen now and still do when their turn comes; one that raises is logged."""
        for key, listener in list(self._listeners.items()):
            if key in self._listeners:
                try:
                    listener(*args, **kwargs)
                except BaseException as error:
                    if not is_a_raise(error):
                        raise
                    log().exception("a listener of a host raised")
