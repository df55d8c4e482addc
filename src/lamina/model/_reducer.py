"""Parts in, one complete response out: the only way from a provider's answer to the history (MODEL-003, RUN-004).

Whole and streamed parts take the same steps, so a streamed response ends in the same state as a whole one. What breaks
a rule is refused and never mended. Each part costs the same however many came before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from returns.result import Failure, Result, Success

from lamina.model._ledger import ResponseLimits
from lamina.model._parts import ResponsePart
from lamina.model._protocol import ModelProtocolError, Violation
from lamina.model._request import AssistantMessage
from lamina.model._response import ModelResponse
from lamina.model._steps import STEPS, Building
from lamina.model._stream import StreamPart

_DEFAULT_LIMITS = ResponseLimits()


class Reducer:
    """Folds the parts of one response; feed them in order and ask for the response at the end.

    Args:
        limits: What the response may hold.

    Example:
        >>> from lamina.model import Finish, TextDelta, TextEnd, TextStart
        >>> reducer = Reducer()
        >>> for part in TextStart("t"), TextDelta("t", "Hel"), TextDelta("t", "lo"), TextEnd("t"), Finish("stop"):
        ...     assert reducer.feed(part) is None
        >>> reducer.finish().unwrap().text
        'Hello'
    """

    __slots__ = ("_broken", "_building")

    def __init__(self, limits: ResponseLimits = _DEFAULT_LIMITS) -> None:
        self._broken: ModelProtocolError | None = None
        self._building = Building(limits)

    def feed(self, part: ResponsePart | StreamPart) -> ModelProtocolError | None:
        """Take the next part.

        Returns:
            Nothing, or the first rule that was broken; from then on every part is ignored and gives the same error,
            so that a caller may stop its stream.
        """
        if self._broken is not None:
            return self._broken
        try:
            step = STEPS.get(type(part))
            if step is None:
                raise Violation("unknown-part", "a part is of no known kind")
            if self._building.finish is not None:
                raise Violation("after-finish", "a part came after the finish")
            step(self._building, part)
        except Violation as violation:
            self._broken = violation.error
        return self._broken

    def finish(self) -> Result[ModelResponse, ModelProtocolError]:
        """Give the complete response, or the first rule that was broken."""
        if self._broken is not None:
            return Failure(self._broken)
        end = self._building.finish
        if end is None:
            return Failure(ModelProtocolError("no-finish", "the response ended without a finish"))
        message = AssistantMessage(self._building.ledger.complete())
        return Success(ModelResponse(message, message.calls, message.text, end.reason, end.usage, end.metadata))


def reduce(
    parts: Iterable[ResponsePart | StreamPart], limits: ResponseLimits = _DEFAULT_LIMITS
) -> Result[ModelResponse, ModelProtocolError]:
    """Fold the parts of one response.

    Example:
        >>> from lamina.model import Finish, Text
        >>> reduce([Text("Hello"), Finish("stop")]).unwrap().text
        'Hello'
        >>> reduce([Text("Hello")]).failure().rule
        'no-finish'
    """
    reducer = Reducer(limits)
    for part in parts:
        if reducer.feed(part) is not None:
            break
    return reducer.finish()
