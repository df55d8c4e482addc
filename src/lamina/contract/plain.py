"""A host over a plain object and its methods, for applications without messages of their own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Never, TypeVar, cast

import attrs
from returns.result import Failure, Result, Success

from lamina.contract._listeners import Listeners

M = TypeVar("M")
V = TypeVar("V")
W = TypeVar("W")


class PlainHost(Generic[M, V]):
    """Turns messages into calls of functions; made by `PlainHost.of(model)` and `.on(Message, function)`.

    When to use: your application is an object with methods. Say how to make a model of it, and which method each
    message stands for. A function may be async, and may answer with a message (or a `Result` of one): a fact, which is
    told to whoever observes, so that a capability can complete on it. Observers are told of the sent message first. A
    `Failure` of anything else is the host's: nobody could be told of it as a fact, so the dispatch fails unexpectedly.
    Changes that come about in other ways are told with `changed()`.

    Example:
        >>> @attrs.frozen
        ... class Model:
        ...     todos: tuple[str, ...]
        >>> @attrs.frozen
        ... class Add:
        ...     title: str
        >>> todos: list[str] = []
        >>> host = PlainHost.of(lambda: Model(tuple(todos))).on(Add, lambda message: todos.append(message.title))
        >>> host.dispatch(Add("milk"))
        >>> host.model()
        Model(todos=('milk',))
    """

    def __init__(
        self,
        model: Callable[[], M],
        functions: Mapping[type[Any], Callable[[Any], object]],  # Any: `on` has typed each pair
        changes: Listeners[[]],
        facts: Listeners[[object]],
    ) -> None:
        self._read = model
        self._functions = dict(functions)
        self._changes = changes
        self._facts = facts

    @staticmethod
    def of(model: Callable[[], W]) -> PlainHost[W, Never]:
        """Begin a host that takes no messages yet.

        Args:
            model: Makes an immutable model of what there is; a new one for each call.
        """
        return PlainHost(model, {}, Listeners(), Listeners())

    def on(self, message: type[W], function: Callable[[W], object]) -> PlainHost[M, V | W]:
        """Give the host that calls a function for a message, too; both have the same listeners.

        Args:
            message: The message's class.
            function: What it does; async or not.
        """
        return PlainHost(self._read, {**self._functions, message: function}, self._changes, self._facts)

    @property
    def takes(self) -> frozenset[type]:
        """The classes of the messages that there is a function for."""
        return frozenset(self._functions)

    def model(self) -> M:
        """Make the model of this moment."""
        return self._read()

    def dispatch(self, message: V, /) -> Awaitable[None] | None:
        """Call the message's function.

        Raises:
            KeyError: There is none.
            RuntimeError: It answered with a `Failure` that is no message.
            Exception: What it raised.
        """
        answer = self._functions[type(message)](message)
        if inspect.isawaitable(answer):
            return self._later(message, cast("Awaitable[object]", answer))
        self._tell(message, answer)
        return None

    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        """Call `listener()` after every message, and whenever `changed` is called."""
        return self._changes.add(listener)

    def observe(self, listener: Callable[[object], None], /) -> Callable[[], None]:
        """Call `listener(message)` for every message that was taken, and every fact."""
        return self._facts.add(listener)

    @property
    def listeners(self) -> int:
        """How many listen to changes and messages now."""
        return len(self._changes) + len(self._facts)

    def changed(self) -> None:
        """Tell that the model may have changed."""
        self._changes.tell()

    def happened(self, fact: object) -> None:
        """Tell a fact, and that the model may have changed."""
        self._facts.tell(fact)
        self._changes.tell()

    async def _later(self, message: V, answer: Awaitable[object]) -> None:
        self._tell(message, await answer)

    def _tell(self, message: V, answer: object) -> None:
        self._facts.tell(message)
        if isinstance(answer, Success):
            answer = cast("Success[object]", answer).unwrap()
        elif isinstance(answer, Failure):
            answer = cast("Result[object, object]", answer).failure()
            if not attrs.has(type(answer)):
                self._changes.tell()  # how far it got, only the function knows
                raise RuntimeError(f"the function of {type(message).__name__} failed: {answer}")
        if attrs.has(type(answer)):
            self._facts.tell(answer)
        self._changes.tell()
