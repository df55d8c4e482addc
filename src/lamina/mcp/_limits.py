"""How long, how large and how many: the bounds of a connection to a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from lamina.effect import ConstructionError, Problem, Value, caller_where


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ConnectionLimits(Value):
    """How long, how large and how many; each has a bound of its own, in brackets.

    Attributes:
        connect: Seconds until a server has answered the first request (1 hour).
        discovery: Seconds for its whole list of tools (1 hour).
        call: Seconds for a call, its waiting and its one repetition included (1 day).
        close: Seconds that a process gets to end by itself when its input is closed, and again when it is told to
            (1 minute); then its group is killed.
        message_bytes: Of one message, either way (256 MiB).
        result_bytes: Of what is kept of a result, as JSON (256 MiB).
        schema_bytes: Of one schema of a tool, as JSON (4 MiB); a tool with a larger one cannot be used.
        tools: How many tools (10,000).
        pages: How many pages its list has (10,000).
        concurrent_calls: How many calls go out at once; more wait (10,000).
        questions: How often it may ask a person or a model until the next call goes out (10,000); more are refused.
        reconnects: How often a lost connection is tried again in a row (1,000); 0 is never.
        reconnect_seconds: How long that may take altogether (1 day). A connection that lasted longer than this begins
            anew, and one that was given up is tried again no sooner than this after that.
        backoff: Seconds before the first try (1 hour); each further one waits twice as long.
    """

    connect: float = 30.0
    discovery: float = 30.0
    call: float = 60.0
    close: float = 2.0
    message_bytes: int = 4_194_304
    result_bytes: int = 1_048_576
    schema_bytes: int = 65_536
    tools: int = 1_024
    pages: int = 64
    concurrent_calls: int = 16
    questions: int = 32
    reconnects: int = 5
    reconnect_seconds: float = 30.0
    backoff: float = 0.25

    def __attrs_post_init__(self) -> None:
        lines = [f"{name} is more than 0 and at most {most:g}" for name, most in _MOST.items() if not self._fits(name)]
        if lines:
            raise ConstructionError([Problem("LIMITS", "ConnectionLimits", (*lines, str(caller_where())))])

    def _fits(self, name: str) -> bool:
        value: object = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int if name in _WHOLE else int | float):
            return False
        return 0 < value <= _MOST[name] or (name == "reconnects" and value == 0)


_MOST: Final[Mapping[str, float]] = {
    "connect": 3_600,
    "discovery": 3_600,
    "call": 86_400,
    "close": 60,
    "message_bytes": 268_435_456,
    "result_bytes": 268_435_456,
    "schema_bytes": 4_194_304,
    "tools": 10_000,
    "pages": 10_000,
    "concurrent_calls": 10_000,
    "questions": 10_000,
    "reconnects": 1_000,
    "reconnect_seconds": 86_400,
    "backoff": 3_600,
}
_WHOLE: Final = frozenset(
    {"message_bytes", "result_bytes", "schema_bytes", "tools", "pages", "concurrent_calls", "questions", "reconnects"}
)
