"""What an operation inherits from where it is called: the telemetry, and whose run it belongs to."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from lamina.effect import Clock, log
from lamina.redaction import Secrets
from lamina.telemetry.port import Telemetry

LONGEST_NAME = 128
_NO_SECRETS = Secrets()


class Ambient:
    """Where operations are told, and as whose; it goes down into every task that is started below."""

    __slots__ = ("_broke", "agent", "conversation", "now", "run", "secrets", "telemetry")

    def __init__(
        self,
        telemetry: Telemetry,
        secrets: Secrets | None = None,
        now: Callable[[], float] = time.monotonic,
        run: str | None = None,
        conversation: str | None = None,
        agent: str | None = None,
    ) -> None:
        self.telemetry = telemetry
        self.secrets = secrets or _NO_SECRETS
        self.now = now
        self.run = self.name(run)
        self.conversation = self.name(conversation)
        self.agent = self.name(agent)
        self._broke = False

    def name(self, text: str | None) -> str | None:
        """Make a name fit to be told: without secrets, and at most 128 characters."""
        return None if text is None else self.secrets.redact_text(text)[:LONGEST_NAME]

    def broke(self) -> None:
        """Log that the telemetry raised, once: an exporter that is down would fill the log."""
        if not self._broke:
            self._broke = True
            log().warning("the telemetry broke; what it observes goes on", telemetry=type(self.telemetry).__name__)


AMBIENT: ContextVar[Ambient | None] = ContextVar("lamina_telemetry", default=None)


def is_observed() -> bool:
    """Tell whether operations that begin here and now are told to anybody."""
    return AMBIENT.get() is not None


@contextmanager
def observing(
    telemetry: Telemetry | None,
    *,
    secrets: Secrets | None = None,
    clock: Clock | None = None,
    run: str | None = None,
    conversation: str | None = None,
    agent: str | None = None,
) -> Generator[None]:
    """Tell a telemetry of every operation inside, in this task and in those that are started in it.

    When to use: where a service is used without a runtime. A runtime that offers `Telemetry` does it for its runs.

    Args:
        telemetry: Where operations are told; None changes nothing.
        secrets: What must not be in a name.
        clock: Measures durations; the machine's own without one.
        run: The run's id.
        conversation: The conversation's id.
        agent: The agent's id.

    Example:
        >>> from lamina.telemetry import MemoryTelemetry, operation
        >>> seen = MemoryTelemetry()
        >>> with observing(seen, run="run-1"), operation("files.read").begin(resource="a.txt"):
        ...     pass
        >>> [(one.began.name, one.began.run, one.ended.outcome) for one in seen.observed]
        [('files.read', 'run-1', 'success')]
    """
    if telemetry is None:
        yield
        return
    now = time.monotonic if clock is None else clock.monotonic
    token = AMBIENT.set(Ambient(telemetry, secrets, now, run, conversation, agent))
    try:
        yield
    finally:
        AMBIENT.reset(token)
