"""A model that follows a script, the same for whole and streamed answers (TEST-002)."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import anyio
import anyio.lowlevel
import attrs
from returns.result import Failure, Result, Success

from lamina.model import Emit, LanguageModel, ModelError, ModelRequest, ResponsePart, StreamPart, ToolCall
from lamina.testing._deltas import in_deltas
from lamina.testing._turns import Turn, finish_of
from lamina.testing._valid import request_problem


class ScriptMismatch(AssertionError):
    """A scripted model was asked for something that its script does not hold.

    It is raised where the model is called. Should something contain it there, `assert_exhausted` raises it again.
    """


class ScriptedModel(LanguageModel):
    """A model whose answers are written down beforehand, one turn a request.

    Each request takes the next turn, whether it asks for a whole answer or a stream. A request beyond the script, one
    that a turn did not expect, and one that no provider would accept raise `ScriptMismatch`. Use it as a context
    manager, or call `assert_exhausted`, so that a mismatch that was contained on its way fails the test.

    Args:
        turns: What to answer, in order.
        delta: How many code points a streamed delta holds.
        check_requests: Whether a request has to be one that a provider would accept.

    Example:
        >>> import asyncio
        >>> from lamina.model import UserMessage
        >>> from lamina.testing import call_tool, say
        >>> model = ScriptedModel(call_tool("add", x=1, y=2), say("3"))
        >>> asyncio.run(model.generate(ModelRequest((UserMessage.of("1 and 2?"),)))).unwrap()[0]
        ToolCall(id='call-1', name='add', arguments='{"x":1,"y":2}', executor='application', metadata={})
        >>> model.remaining
        1
    """

    provider = "scripted"
    model = "scripted"

    def __init__(self, *turns: Turn, delta: int = 8, check_requests: bool = True) -> None:
        self._turns = _numbered(turns)
        self._delta = delta
        self._check_requests = check_requests
        self._mismatch: ScriptMismatch | None = None
        self._requests: list[ModelRequest] = []
        self._open = 0

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every request so far, also those that were refused."""
        return tuple(self._requests)

    @property
    def remaining(self) -> int:
        """How many turns have not been asked for."""
        return max(0, len(self._turns) - len(self._requests))

    @property
    def open_calls(self) -> int:
        """How many calls are running now; after a cancellation it is back to 0."""
        return self._open

    def assert_exhausted(self) -> None:
        """Raise `ScriptMismatch` if anything was asked wrongly, or was not asked for."""
        if self._mismatch is not None:
            raise self._mismatch
        if self.remaining:
            raise ScriptMismatch(f"{self.remaining} of {len(self._turns)} scripted turns were not asked for")

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.assert_exhausted()

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Answer with the next turn's parts at once."""
        self._open += 1
        try:
            turn = self._next(request)
            await anyio.lowlevel.checkpoint()
            if turn.breaks is not None:
                return Failure(await _broken(turn.breaks.error))
            # What is raw may hold stream parts or nonsense; serving it as it is, is the point.
            return Success([*turn.parts] if turn.is_raw else [*turn.parts, finish_of(turn)])  # type: ignore[list-item]  # pyright: ignore[reportReturnType] - see above
        finally:
            self._open -= 1

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Answer with the next turn's parts in deltas, one step of the event loop apart."""
        self._open += 1
        try:
            turn = self._next(request)
            for part in _streamed(turn, self._delta):
                await anyio.lowlevel.checkpoint()
                emit(part)
            await anyio.lowlevel.checkpoint()
            return Success(None) if turn.breaks is None else Failure(await _broken(turn.breaks.error))
        finally:
            self._open -= 1

    def _next(self, request: ModelRequest) -> Turn:
        place = len(self._requests)
        self._requests.append(request)
        if place >= len(self._turns):
            raise self._mismatched(f"request {place + 1} is beyond the script, which has {len(self._turns)} turns")
        if self._check_requests and (problem := request_problem(request)) is not None:
            raise self._mismatched(f"request {place + 1} is none that a provider would accept: {problem}")
        turn = self._turns[place]
        for check in turn.expectations:
            try:
                refused = check(request) is False
            except AssertionError as error:
                raise self._mismatched(f"request {place + 1} is not what its turn expected: {error}") from error
            if refused:
                raise self._mismatched(f"request {place + 1} is not what its turn expected")
        return turn

    def _mismatched(self, what: str) -> ScriptMismatch:
        mismatch = ScriptMismatch(what)
        self._mismatch = self._mismatch or mismatch
        return mismatch


def _numbered(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    numbered: list[Turn] = []
    count = 0
    for turn in turns:
        parts: list[ResponsePart | StreamPart] = []
        for part in turn.parts:
            if isinstance(part, ToolCall) and not turn.is_raw:
                count += 1
                part = part if part.id else attrs.evolve(part, id=f"call-{count}")
            parts.append(part)
        numbered.append(attrs.evolve(turn, parts=tuple(parts)))
    return tuple(numbered)


def _streamed(turn: Turn, delta: int) -> Sequence[StreamPart]:
    parts = list(in_deltas(turn.parts, delta)) if not turn.is_raw else list(turn.parts)
    if turn.breaks is not None:
        parts = parts[: turn.breaks.after]
    if not turn.is_raw and (turn.breaks is None or turn.breaks.finished):
        parts.append(finish_of(turn))
    return parts  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - what is raw may be anything


async def _broken(error: ModelError | None) -> ModelError:
    if error is None:
        await anyio.sleep_forever()
        raise AssertionError("a sleep for ever has ended")
    return error
