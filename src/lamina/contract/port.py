"""The port between a contract and a live application: a model to read, and where to send messages (behaviour §2.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from returns.result import Result

from lamina.call import Invocation

M_co = TypeVar("M_co", covariant=True)
P_co = TypeVar("P_co", covariant=True)
V_contra = TypeVar("V_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)


class Host(Protocol[M_co, V_contra]):
    """A live application, as a contract sees it.

    When to use: implement it over whatever runs your application, or take `MemoryHost` or `PlainHost`. It may take more
    messages than a contract exposes, never fewer. Models are immutable, and replaced when they change.

    Further methods are optional; a contract that needs one refuses a host without it:

    - `principal(invocation)`: on whose behalf a call is, once it is decoded; the answer may be awaited.
    - `subscribe(listener)`: calls `listener()` whenever the model has changed. Gives what ends it.
    - `observe(listener)`: calls `listener(message)` for every message that reached update. Gives what ends it.

    Listeners are called in the thread of the event loop; a host that lives in another one calls them through
    `loop.call_soon_threadsafe`.
    """

    def model(self) -> M_co:
        """Give the model of this moment."""
        ...

    def dispatch(self, message: V_contra, /) -> Awaitable[object] | Result[object, object] | None:
        """Take a message; what it gives is awaited. A raise and a `Failure` are defects: it may have arrived."""
        ...


class HostWithPrincipal(Host[M_co, V_contra], Protocol[M_co, V_contra, P_co]):
    """A host that knows on whose behalf a call is: what a contract with a `principal=` asks for."""

    def principal(self, invocation: Invocation, /) -> P_co | Awaitable[P_co]:
        """Say on whose behalf an invocation is; called once for each, after its input is decoded."""
        ...


class Source(Protocol[T_co]):
    """A value outside the model that says when it may have changed: what the server has confirmed, say."""

    def get(self) -> T_co:
        """Give the value of this moment."""
        ...

    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        """Call `listener()` whenever the value may have changed. Gives what ends it."""
        ...
