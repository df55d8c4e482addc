"""structlog and the standard library's logging, with the boundary of spans and audit entries (design §8, SEC-008)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, MutableMapping
from traceback import walk_tb
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias, cast

from lamina.redaction import Secrets, shape

if TYPE_CHECKING:
    from structlog.typing import Processor

Event: TypeAlias = MutableMapping[str, Any]  # Any: what structlog's own processors take
Exceptions: TypeAlias = Literal["types", "text"]
PAYLOAD_KEYS = frozenset(
    {
        *("answer", "args", "arguments", "body", "command", "content", "context", "data", "document", "event_data"),
        *("input", "kwargs", "message", "messages", "metadata", "output", "parameters", "params", "payload", "preview"),
        *("prompt", "query", "request", "response", "result", "stderr", "stdin", "stdout", "summary", "text", "value"),
    }
)
"""Fields of an event of which only the shape is logged, whatever their case."""
LONGEST_VALUE = 4_096
_MOST_FRAMES = 64
_MOST_TEXTS = 32
_LISTS = frozenset({"problems"})
"""Fields that hold sentences of the framework's own, each without the value that it is about."""
# Of structlog's own, and taken out by its formatter.
_META = frozenset({"_record", "_from_structlog"})
_CUT = "[REDACTED:more]"


class LogBoundary:
    """A structlog processor that lets no payload and no secret pass: put it last before the renderer.

    A field whose name is one of `PAYLOAD_KEYS`, or that is neither text nor number, is replaced by its shape. What
    stays has no secrets, and at most 4,096 characters.

    Args:
        secrets: What must not be in any text.
        exceptions: `types` writes an exception as classes and places, without what it says; `text` as Python does,
            without secrets.

    Example:
        >>> boundary = LogBoundary(Secrets("s3cr3t-token"))
        >>> boundary(None, "info", {"event": "sent s3cr3t-token", "tool": "mail", "arguments": {"to": "me"}})
        {'event': 'sent [REDACTED:secret]', 'tool': 'mail', 'arguments': {'[REDACTED:key]': '[REDACTED:string]'}}
    """

    def __init__(self, secrets: Secrets | None = None, exceptions: Exceptions = "types") -> None:
        self._secrets = secrets or Secrets()
        self._exceptions: Exceptions = exceptions

    def __call__(self, logger: Any, method: str, event: Event) -> Event:
        """Process one event."""
        info = event.pop("exc_info", None)
        error = _error(info)
        for key in list(event):
            if key not in _META:
                event[key] = self._fit(key, event[key])
        if error is not None:
            event["exception"] = self._exception(error)
        return event

    def _fit(self, key: str, value: object) -> object:
        if key.lower() in PAYLOAD_KEYS:
            return shape(value)
        if value is None or isinstance(value, bool | int | float):
            return self._secrets.redact(value)
        if isinstance(value, str):
            return self._text(value)
        texts = _texts(value) if key in _LISTS else None
        return shape(value) if texts is None else [self._text(text) for text in texts]

    def _text(self, text: str, longest: int = LONGEST_VALUE) -> str:
        clean = self._secrets.redact_text(text)
        return clean if len(clean) <= longest else clean[:longest] + _CUT

    def _exception(self, error: BaseException) -> str:
        if self._exceptions == "types":
            return self._text("\n".join(_types(error)), 8 * LONGEST_VALUE)
        import traceback

        return self._text("".join(traceback.format_exception(error)), 64 * LONGEST_VALUE)


def _texts(value: Any) -> list[str] | None:
    """Give the texts of a short list that holds nothing else."""
    if type(value) not in (list, tuple) or len(value) > _MOST_TEXTS:
        return None
    return list(value) if all(type(item) is str for item in value) else None


def _error(info: object) -> BaseException | None:
    if isinstance(info, BaseException):
        return info
    if isinstance(info, tuple):
        second = cast("tuple[object, ...]", info)[1:2]
        return second[0] if second and isinstance(second[0], BaseException) else None
    return sys.exc_info()[1] if info else None


def _types(error: BaseException) -> Iterator[str]:
    """Write an exception, what it came from and what it holds: classes and places, and nothing that they say."""
    seen: set[int] = set()
    waiting: list[tuple[BaseException, str]] = [(error, "")]
    while waiting and len(seen) < 32:
        one, relation = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield f"{relation}{type(one).__module__}.{type(one).__qualname__}: [REDACTED:string]"
        yield from _frames(one.__traceback__)
        if one.__cause__ is not None:
            waiting.append((one.__cause__, "caused by "))
        elif one.__context__ is not None and not one.__suppress_context__:
            waiting.append((one.__context__, "while handling "))
        if isinstance(one, BaseExceptionGroup):
            waiting += [(inner, "with ") for inner in cast("BaseExceptionGroup[BaseException]", one).exceptions]


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    places = [
        f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
        for frame, line in walk_tb(traceback)
    ]
    yield from places[-_MOST_FRAMES:]


def configure_logging(
    *,
    secrets: Secrets | None = None,
    stream: TextIO | None = None,
    handler: logging.Handler | None = None,
    form: Literal["json", "console"] = "json",
    level: int | str = "INFO",
    exceptions: Exceptions = "types",
    logger: str = "lamina",
) -> logging.Handler:
    """Write what is logged as structured lines, with nothing in them that must not leave.

    When to use: once, at the start of an application that has no logging of its own. One that has puts `LogBoundary`
    into its own structlog configuration.

    What an exception says may hold anything, so by default it is not written: `exceptions="text"` writes it, for a log
    that only the application's own people read.

    Args:
        secrets: What must not be in any line; secrets that are registered later are found from then on.
        stream: Where lines go; standard error without one.
        handler: A handler of your own instead; its formatter is set.
        form: `json` is one object a line, `console` is for people.
        level: From what level on.
        exceptions: How exceptions are written.
        logger: Whose events; the root is the empty name.

    Returns:
        The handler, to take it off again with `logging.getLogger(logger).removeHandler(handler)`.

    Example:
        >>> import io
        >>> lines = io.StringIO()
        >>> handler = configure_logging(stream=lines, logger="lamina.example")
        >>> logging.getLogger("lamina.example").warning("disk full", extra={"arguments": {"path": "/srv"}})
        >>> "disk full" in lines.getvalue(), "/srv" in lines.getvalue()
        (True, False)
        >>> logging.getLogger("lamina.example").removeHandler(handler)
    """
    from structlog import dev, processors, stdlib

    boundary = LogBoundary(secrets, exceptions)
    renderer: Processor
    renderer = processors.JSONRenderer(default=str) if form == "json" else dev.ConsoleRenderer(colors=False)
    formatter = stdlib.ProcessorFormatter(
        foreign_pre_chain=[stdlib.ExtraAdder()],
        processors=[
            stdlib.ProcessorFormatter.remove_processors_meta,
            boundary,
            # After the boundary: what these add is ours.
            stdlib.add_log_level,
            processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
    )
    made = handler or logging.StreamHandler(stream)
    made.setFormatter(formatter)
    target = logging.getLogger(logger)
    target.addHandler(made)
    target.setLevel(level)
    target.propagate = False
    return made
