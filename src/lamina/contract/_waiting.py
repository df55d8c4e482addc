"""Waiting inline, in the task of the dispatch: for the host, and for what ends the operation (behaviour §2.6).

There is no task group and no child task. What cuts a wait off (an abort, the deadline) is a plain callback: it notes
why, and cancels the scope that is waited in, if one is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any, Final, Literal, TypeVar, cast

import anyio

from lamina.call import Invocation, Signal
from lamina.contract._completion import Completion, MessageCompletion, StateCompletion
from lamina.contract._ground import Ground, Stop, yes
from lamina.contract._values import Settled
from lamina.contract._variant import Variant
from lamina.effect import Alarm, is_a_raise, log

T = TypeVar("T")
_COMPLETED: Final = Settled("completed")
_UNREAD: Final = object()


class CutOff(Exception):
    """A wait ended before what was waited for."""


class Wait:
    """What may cut one dispatch off: its signal and its deadline. `close` it on every exit.

    Attributes:
        why: What has cut it off, as far as anything has.
    """

    __slots__ = ("_alarm", "_scope", "_stop", "why")

    def __init__(self, signal: Signal | None) -> None:
        self.why: Literal["aborted", "timeout"] | None = None
        self._scope: anyio.CancelScope | None = None
        self._alarm: Alarm | None = None
        self._stop: Stop | None = None if signal is None else signal.on_abort(self._abort)

    @property
    def bounded(self) -> bool:
        """Whether anything can cut it off."""
        return self._stop is not None or self._alarm is not None

    def set_deadline(self, ground: Ground, seconds: float) -> None:
        """Begin to measure."""
        self._alarm = ground.clock.alarm(ground.clock.monotonic() + seconds, self._expire)

    async def until(self, work: Awaitable[T]) -> T:
        """Wait for something, in this task.

        Raises:
            CutOff: It was cut off, and cancelled; `why` says by what.
        """
        if not self.bounded:
            return await work
        with anyio.CancelScope() as scope:
            if self.why is not None:
                scope.cancel()
            self._scope = scope
            try:
                return await work
            finally:
                self._scope = None
        raise CutOff

    def close(self) -> None:
        """Listen no more."""
        if self._stop is not None:
            self._stop()
        if self._alarm is not None:
            self._alarm.cancel()

    def _abort(self) -> None:
        self._cut("aborted")

    def _expire(self) -> None:
        self._cut("timeout")

    def _cut(self, why: Literal["aborted", "timeout"]) -> None:
        self.why = self.why or why
        if self._scope is not None:
            self._scope.cancel()


class Ending(ABC):
    """Watches for what ends one operation, from before its message is sent. `close` it on every exit.

    Attributes:
        settled: How it ended, once it has.
        broke: What the application's own function raised, if it did: a defect of this invocation alone.
    """

    __slots__ = ("_closed", "_over", "_stop", "broke", "settled")

    def __init__(self) -> None:
        self._closed = False
        self.settled: Settled | None = None
        self.broke: Exception | None = None
        self._over: anyio.Event | None = None
        self._stop: Stop | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self._closed or self.settled is not None or self.broke is not None

    @abstractmethod
    def look(self) -> None:
        """Look once more, now that the wait begins."""

    async def wait(self) -> None:
        """Wait until it is over."""
        self._over = anyio.Event()
        if not self.is_over:
            await self._over.wait()

    def close(self) -> None:
        """Watch no more, also where the host goes on telling.

        A host whose own stop raises is logged, since nothing of the call depends on it.
        """
        self._closed = True
        stop, self._stop = self._stop, None
        if stop is not None:
            try:
                stop()
            except Exception:
                log().exception("a host could not end a subscription")

    def _end(self, settled: Settled | None, broke: Exception | None = None) -> None:
        self.settled, self.broke = settled, broke
        if self._over is not None:
            self._over.set()

    def _broke(self, error: BaseException) -> None:
        """End with what a function of the application's raised: whoever changes the model hears nothing of it."""
        if not is_a_raise(error):
            raise error
        if not isinstance(error, Exception):
            own = RuntimeError("a function of the contract was cancelled by something of its own")
            own.__cause__, error = error, own
        self._end(None, error)


def _ends(stop: object, of: str) -> Stop:
    """Hold a host to giving what ends a subscription: what cannot be ended would listen for ever."""
    if not callable(stop):
        raise TypeError(f"{of} gave a {type(stop).__name__}, not a function that ends it")
    return cast("Stop", stop)


class _OnMessage(Ending):
    __slots__ = ("_completion", "_invocation", "_request")

    def __init__(self, ground: Ground, completion: MessageCompletion[Any], request: object, invocation: Invocation):
        super().__init__()
        self._completion = completion
        self._request = request
        self._invocation = invocation
        assert ground.observe is not None, "checked when the contract was bound"
        self._stop = _ends(ground.observe(self._hear), "observe")

    def look(self) -> None:
        """Nothing: a message is heard, or it was not sent."""

    def _hear(self, message: object) -> None:
        if self.is_over:
            return
        kind, completion = type(message), self._completion
        if kind not in completion.success and kind not in completion.failure:
            return
        try:
            correlate = completion.correlate
            if correlate is not None and not yes(correlate(self._request, message, self._invocation), "correlate"):
                return
        except BaseException as error:
            self._broke(error)
            return
        self._end(Settled("completed" if kind in completion.success else "failed", message))


class _OnProjection(Ending):
    __slots__ = ("_ground", "_last", "_predicate", "_reading", "_request")

    def __init__(self, ground: Ground, variant: Variant, request: object):
        super().__init__()
        assert variant.reading is not None, "compiled with the variant"
        self._ground = ground
        self._reading = variant.reading
        self._predicate = cast("StateCompletion[Any, Any]", variant.completion).predicate
        self._request = request
        self._last: object = _UNREAD
        assert ground.subscribe is not None, "checked when the contract was bound"
        self._stop = _ends(ground.subscribe(self.look), "subscribe")

    def look(self) -> None:
        """Read the model; the same value is not looked at again."""
        if self.is_over:
            return
        try:
            value = self._reading.read(self._ground.model())
            if self._last is not _UNREAD and self._reading.same(value, self._last):
                return
            self._last = value
            if yes(self._predicate(value, self._request), "predicate"):
                self._end(_COMPLETED)
        except BaseException as error:
            self._broke(error)


class _OnSource(Ending):
    __slots__ = ("_completion", "_request")

    def __init__(self, completion: StateCompletion[Any, Any], request: object) -> None:
        super().__init__()
        self._completion = completion
        self._request = request
        assert completion.source is not None, "there is one where there is no projection"
        self._stop = _ends(completion.source.subscribe(self.look), "a source's subscribe")

    def look(self) -> None:
        """Read the source, each time: it may change in place."""
        if self.is_over:
            return
        completion = self._completion
        try:
            assert completion.source is not None, "as above"
            if yes(completion.predicate(completion.source.get(), self._request), "predicate"):
                self._end(_COMPLETED)
        except BaseException as error:
            self._broke(error)


def ending_of(
    ground: Ground, variant: Variant, completion: Completion[Any, Any], request: object, invocation: Invocation
) -> Ending:
    """Begin to watch for what ends an operation."""
    if isinstance(completion, MessageCompletion):
        return _OnMessage(ground, completion, request, invocation)
    state = cast("StateCompletion[Any, Any]", completion)
    return _OnProjection(ground, variant, request) if state.source is None else _OnSource(state, request)
