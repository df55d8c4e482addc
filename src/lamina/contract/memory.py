"""A host in memory: a small Elm-like runtime, where only `update` changes the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast

import anyio
import attrs
from anyio.abc import TaskGroup
from returns.result import Failure, Result

from lamina.contract._listeners import Listeners
from lamina.effect import Value, is_cancelled, log

M = TypeVar("M")
Msg = TypeVar("Msg")
Msg_co = TypeVar("Msg_co", covariant=True)
E = TypeVar("E")

QUEUE = 1_024
"""Messages, and commands, that may wait."""
LOG = 10_000
"""Messages that are remembered for replay."""


@attrs.frozen(eq=False, repr=False)
class Command(Value, Generic[Msg_co]):
    """Work that `update` asks for: it ends with a message. Made by `command`.

    Attributes:
        run: Does it.
        name: What it is called in the log.
    """

    run: Callable[[], Awaitable[Msg_co]]
    name: str = "command"


def command(
    run: Callable[[], Awaitable[Result[Msg, E]]], *, failed: Callable[[E], Msg], name: str = "command"
) -> Command[Msg]:
    """Make a command of work that may fail as it may.

    Args:
        run: Gives the message of a success, or a declared failure.
        failed: Makes a message of the failure.
        name: What it is called in the log.

    Example:
        >>> import anyio
        >>> from returns.result import Failure
        >>> async def save() -> Result[str, int]:
        ...     return Failure(507)
        >>> anyio.run(command(save, failed=lambda status: f"failed with {status}").run)
        'failed with 507'
    """

    async def whole() -> Msg:
        answered = await run()
        return failed(answered.failure()) if isinstance(answered, Failure) else answered.unwrap()

    return Command(whole, name)


Update: TypeAlias = Callable[[M, Msg], M | tuple[M, Sequence[Command[Msg]]]]
"""The only thing that changes the model: the next one, and what is to be done."""
Subscription: TypeAlias = Callable[[Callable[[Msg], None]], Awaitable[None]]
"""A source of messages: runs until it is cancelled, and sends what it is given."""


def replay(model: M, update: Update[M, Msg], messages: Iterable[Msg]) -> M:
    """Give the model that messages lead to; commands are not run, since what they led to is among the messages.

    Example:
        >>> replay(1, lambda model, message: model * message, [2, 3])
        6
    """
    for message in messages:
        model = _next(model, update(model, message))[0]
    return model


class MemoryHost(Generic[M, Msg]):
    """A live application in memory: a model, an `update`, commands, subscriptions.

    A message is applied when it is dispatched, in the task that dispatches it, one after the other; those that come
    while one is applied wait their turn. Commands and subscriptions run in the task group of `async with host:`; it
    ends them on every exit, and a host that is not entered refuses to run any. Subclass it to say who the principal is.

    Args:
        model: The first model.
        update: Gives the next model, and commands.
        subscriptions: Which sources of messages run in a model, each under a name; those that are no longer named end.
        queue: How many messages, and how many commands, may wait.
        log: How many messages are remembered.

    Source: design §7.

    Example:
        >>> host = MemoryHost(0, lambda model, message: model + message)
        >>> host.dispatch(2), host.dispatch(3)
        (None, None)
        >>> host.model(), host.messages, host.replayed()
        (5, (2, 3), 5)
    """

    def __init__(
        self,
        model: M,
        update: Update[M, Msg],
        *,
        subscriptions: Callable[[M], Mapping[str, Subscription[Msg]]] | None = None,
        queue: int = QUEUE,
        log: int = LOG,
    ) -> None:
        if queue < 1 or log < 0:
            raise ValueError("a host's queue holds at least one message, and its log none or more")
        self._first = self._model = model
        self._update = update
        self._subscriptions = subscriptions
        self._queue = queue
        self._inbox: deque[Msg] = deque()
        self._log: deque[Msg] = deque(maxlen=log)
        self._count = 0
        self._draining = False
        self._closed = False
        self._tasks: TaskGroup | None = None
        self._running = 0
        self._idle = anyio.Event()
        self._sources: dict[str, anyio.CancelScope] = {}
        self._changes: Listeners[[]] = Listeners()
        self._messages: Listeners[[Msg]] = Listeners()

    async def __aenter__(self) -> Self:
        """Begin to run commands and subscriptions; once only, in the task that owns them."""
        if self._tasks is not None or self._closed:
            raise RuntimeError("a host is entered once")
        self._tasks = await anyio.create_task_group().__aenter__()
        self._follow()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End commands and subscriptions; messages are refused from here on."""
        self._closed = True
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(kind, error, traceback)

    def model(self) -> M:
        """Give the model of this moment."""
        return self._model

    def dispatch(self, message: Msg, /) -> None:
        """Apply a message.

        Raises:
            RuntimeError: The host is closed, too much waits, or a command came and nobody runs it.
            Exception: What `update` raised.
        """
        if self._closed:
            raise RuntimeError("the host is closed")
        if len(self._inbox) >= self._queue:
            raise RuntimeError("too many messages wait in the host")
        self._inbox.append(message)
        if not self._draining:
            self._drain()

    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        """Call `listener()` whenever the model has changed."""
        return self._changes.add(listener)

    def observe(self, listener: Callable[[Msg], None], /) -> Callable[[], None]:
        """Call `listener(message)` for every message that reached update."""
        return self._messages.add(listener)

    @property
    def listeners(self) -> int:
        """How many listen to changes and messages now."""
        return len(self._changes) + len(self._messages)

    @property
    def messages(self) -> tuple[Msg, ...]:
        """The messages that reached update, oldest first, as far as they are remembered."""
        return tuple(self._log)

    def replayed(self) -> M:
        """Give the model that replaying the remembered messages leads to.

        Raises:
            RuntimeError: Some are not remembered any more.
        """
        if self._count > len(self._log):
            raise RuntimeError("the host does not remember all of its messages")
        return replay(self._first, self._update, self._log)

    async def idle(self) -> None:
        """Wait until no command runs: in a test, for all that a message has set off."""
        while self._running:
            await self._idle.wait()

    def _drain(self) -> None:
        self._draining = True
        first = True
        broke: Exception | None = None
        try:
            while self._inbox:
                try:
                    self._apply(self._inbox.popleft())
                except Exception as error:
                    if first:
                        broke = error  # raised to whoever dispatched it, once the others are applied
                    else:
                        log().exception("a message that waited in the host broke it")
                first = False
        finally:
            self._draining = False
        if broke is not None:
            raise broke

    def _apply(self, message: Msg) -> None:
        before = self._model
        self._model, commands = _next(before, self._update(before, message))
        self._log.append(message)
        self._count += 1
        self._messages.tell(message)
        if self._model is not before:
            self._changes.tell()
            self._follow()
        for one in commands:
            self._start(one)

    def _start(self, one: Command[Msg]) -> None:
        if self._tasks is None:
            raise RuntimeError("update gave a command, and nobody runs it: enter the host with `async with host:`")
        if self._running >= self._queue:
            raise RuntimeError("too many commands run in the host")
        self._running += 1
        self._tasks.start_soon(self._run, one, name=one.name)

    async def _run(self, one: Command[Msg]) -> None:
        try:
            self.dispatch(await one.run())
        except anyio.get_cancelled_exc_class():
            if is_cancelled():
                raise
            log().warning("a command was cancelled by something of its own; no message comes of it", command=one.name)
        except Exception:
            log().exception("a command of a host broke; no message comes of it", command=one.name)
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()
                self._idle = anyio.Event()

    def _follow(self) -> None:
        """Run the sources that the model names, and end the others."""
        if self._subscriptions is None or self._tasks is None:
            return
        wanted = self._subscriptions(self._model)
        for name in [name for name in self._sources if name not in wanted]:
            self._sources.pop(name).cancel()
        for name, source in wanted.items():
            if name not in self._sources:
                scope = self._sources[name] = anyio.CancelScope()
                self._tasks.start_soon(self._listen, name, source, scope, name=name)

    async def _listen(self, name: str, source: Subscription[Msg], scope: anyio.CancelScope) -> None:
        def send(message: Msg) -> None:
            if not scope.cancel_called:
                self.dispatch(message)

        with scope:
            try:
                await source(send)
            except Exception:
                log().exception("a subscription of a host broke; it is not begun again", subscription=name)


def _next(before: object, answer: object) -> tuple[Any, Sequence[Command[Any]]]:  # Any: the model of any application
    """Take apart what an update gave, before anything of it counts.

    Raises:
        TypeError: It is no model, and no model with commands.
    """
    model: object = answer
    commands: object = ()
    if type(answer) is tuple:  # a named tuple is a model
        parts = cast("tuple[object, ...]", answer)
        model, commands = parts if len(parts) == 2 else (None, None)
        if not _are_commands(commands):
            raise TypeError("update gives the next model, or (model, [commands]), and here it gave something else")
    if model is None and before is not None:
        raise TypeError("update gave None, and no model: some message has no case that returns one")
    return model, cast("Sequence[Command[Any]]", commands)


def _are_commands(given: object) -> bool:
    return isinstance(given, Sequence) and all(isinstance(one, Command) for one in cast("Sequence[object]", given))
