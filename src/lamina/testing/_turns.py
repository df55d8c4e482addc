"""One turn of a scripted model: what it answers, how that ends, and what the request must have been (TEST-002)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import orjson

from lamina.model import (
    File,
    Finish,
    FinishReason,
    ModelError,
    ModelRequest,
    Reason,
    Reasoning,
    ResponsePart,
    StreamPart,
    Text,
    ToolCall,
    Usage,
)
from lamina.schema import JsonValue

SCRIPTED_USAGE: Final = Usage(10, 5)
"""What a scripted turn costs unless it says otherwise."""


@attrs.frozen
class Break:
    """Where a turn stops being an answer.

    Attributes:
        error: What the call answers then; `None` hangs until it is cancelled.
        after: How many stream parts come first; `None` is all of them.
        finished: Whether the finish comes too.
    """

    error: ModelError | None
    after: int | None = None
    finished: bool = False


@attrs.frozen
class Turn:
    """One answer of a scripted model; make it with `say`, `call_tool`, `think`, `raw`, `fail` or `hang`.

    Turns are values: each method gives a new one. `&` puts two answers into one response.

    Attributes:
        parts: What the response holds, without its finish.
        finish: Why the model stopped; `None` is `tool-calls` if there are calls, else `stop`.
        usage: What it cost; `None` leaves it out, as a bad provider does.
        is_raw: Whether the parts are served exactly as they are, right or wrong, without a finish of ours.
        breaks: How the answer ends, if it does not end well.
        expectations: Each is called with the request; it raises, or answers `False`, if the request is wrong.

    Example:
        >>> (say("Let me see. ") & call_tool("add", x=1, y=2)).parts
        (Text(text='Let me see. ', metadata={}), ToolCall(id='', name='add', arguments='{"x":1,"y":2}', \
executor='application', metadata={}))
    """

    parts: tuple[ResponsePart | StreamPart, ...]
    finish: FinishReason | None = None
    usage: Usage | None = SCRIPTED_USAGE
    is_raw: bool = False
    breaks: Break | None = None
    expectations: tuple[Callable[[ModelRequest], object], ...] = ()

    def __and__(self, other: Turn) -> Turn:
        """Answer with both, in one response; how it ends is up to the second."""
        return attrs.evolve(
            other,
            parts=(*self.parts, *other.parts),
            finish=other.finish or self.finish,
            usage=other.usage if self.usage == SCRIPTED_USAGE else self.usage,
            is_raw=self.is_raw or other.is_raw,
            breaks=other.breaks or self.breaks,
            expectations=(*self.expectations, *other.expectations),
        )

    def ending(self, reason: FinishReason) -> Turn:
        """End with this finish reason: `length` for an answer that was cut off."""
        return attrs.evolve(self, finish=reason)

    def using(self, usage: Usage | None) -> Turn:
        """Cost this; `None` is a provider that does not say."""
        return attrs.evolve(self, usage=usage)

    def expecting(self, check: Callable[[ModelRequest], object]) -> Turn:
        """Hold the request to a check, which raises or answers `False` where it is wrong."""
        return attrs.evolve(self, expectations=(*self.expectations, check))

    def failing(self, reason: Reason | ModelError, *, after: int | None = None, finished: bool = False) -> Turn:
        """Fail in the middle of the answer.

        Args:
            reason: Why.
            after: How many stream parts come first; 0 fails before the first part, `None` after the last one.
            finished: Fail after the finish even: the response was complete, and the call still failed.
        """
        error = reason if isinstance(reason, ModelError) else ModelError(reason)
        return attrs.evolve(self, breaks=Break(error, after, finished))

    def hanging(self, *, after: int | None = None) -> Turn:
        """Never end: stop after so many stream parts, or after the last one, and wait until cancelled."""
        return attrs.evolve(self, breaks=Break(None, after))


def say(text: str) -> Turn:
    """Answer with a text.

    Example:
        >>> say("done").parts
        (Text(text='done', metadata={}),)
    """
    return Turn((Text(text),))


def call_tool(tool: str, /, *, id: str = "", raw: str | None = None, **arguments: JsonValue) -> Turn:  # noqa: A002 - the field's name
    """Answer with a tool call.

    Args:
        tool: The tool's name.
        id: The call's id; left out, the script numbers it (`call-1`, `call-2`, …).
        raw: The arguments' exact text, for what is no JSON or for an argument called `id` or `raw`.
        arguments: The arguments, where `raw` is left out.

    Example:
        >>> both = call_tool("add", x=1, y=2) & call_tool("add", x=3, y=4)
        >>> len(both.parts)
        2
    """
    return Turn((ToolCall(id, tool, orjson.dumps(arguments).decode() if raw is None else raw),))


def think(text: str) -> Turn:
    """Answer with a thought; most often `&` with what follows from it."""
    return Turn((Reasoning(text),))


def give(media_type: str, data: bytes) -> Turn:
    """Answer with a file."""
    return Turn((File(media_type, data),))


def raw(*parts: ResponsePart | StreamPart | object) -> Turn:
    """Serve exactly these parts, whole or streamed, right or wrong; the finish is one of them, or is missing.

    Example:
        >>> from lamina.model import Finish, TextDelta
        >>> broken = raw(TextDelta("never started", "x"), Finish("stop"))
    """
    # Hostile sequences hold what the vocabulary does not know.
    return Turn(parts, is_raw=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - deliberately wrong


def fail(reason: Reason | ModelError) -> Turn:
    """Fail before the first part."""
    return Turn(()).failing(reason)


def hang() -> Turn:
    """Wait until cancelled, without a single part."""
    return Turn(()).hanging()


def finish_of(turn: Turn) -> Finish:
    """Give the finish part that a turn ends with, if it gets that far."""
    calls = any(isinstance(part, ToolCall) and part.executor == "application" for part in turn.parts)
    return Finish(turn.finish or ("tool-calls" if calls else "stop"), turn.usage)
