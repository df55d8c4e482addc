"""A small application for the tests of contracts, and a host that shows everything that is done to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from lamina.call import Invocation


@attrs.frozen
class Model:
    selected: str | None = None
    name: str = ""
    secret: str = "hidden"


@attrs.frozen
class Delete:
    id: str
    request_id: str = ""


@attrs.frozen
class Deleted:
    id: str
    request_id: str = ""


@attrs.frozen
class FailedDelete:
    id: str
    why: str = ""


@attrs.frozen
class Rename:
    name: str


@attrs.frozen
class Clear: ...


@attrs.frozen
class Internal:
    token: str = ""


Message = Delete | Deleted | FailedDelete | Rename | Clear | Internal


@attrs.frozen
class ById:
    id: str


@attrs.frozen
class User:
    id: str
    token: str = "s3cret"


class Host:
    """Keeps every call that is made of it, in order; `on_dispatch` says what dispatching does."""

    def __init__(self, model: Model | None = None, on_dispatch: Callable[[Any], Any] | None = None) -> None:
        self.current = model or Model()
        self.calls: list[str] = []
        self.sent: list[Any] = []
        self.observers: list[Callable[[Any], None]] = []
        self.subscribers: list[Callable[[], None]] = []
        self.attached = 0
        self.on_dispatch = on_dispatch

    def model(self) -> Model:
        self.calls.append("model")
        return self.current

    def dispatch(self, message: Any, /) -> Any:
        self.calls.append("dispatch")
        self.sent.append(message)
        return None if self.on_dispatch is None else self.on_dispatch(message)

    def observe(self, listener: Callable[[Any], None], /) -> Callable[[], None]:
        self.attached += 1
        self.observers.append(listener)
        return lambda: self.observers.remove(listener)

    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        self.attached += 1
        self.subscribers.append(listener)
        return lambda: self.subscribers.remove(listener)

    def happen(self, message: Any) -> None:
        for listener in list(self.observers):
            listener(message)

    def become(self, model: Model) -> None:
        self.current = model
        for listener in list(self.subscribers):
            listener()

    @property
    def listeners(self) -> int:
        return len(self.observers) + len(self.subscribers)


class HostOf(Host):
    """A host that knows on whose behalf a call is."""

    def __init__(self, who: Callable[[Invocation], Any], **options: Any) -> None:
        super().__init__(**options)
        self.who = who

    def principal(self, invocation: Invocation, /) -> Any:
        self.calls.append("principal")
        return self.who(invocation)
