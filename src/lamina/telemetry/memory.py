"""Telemetry that is kept in memory: for tests, and for a look from within."""

from __future__ import annotations

from collections import deque
from contextvars import ContextVar, Token

import attrs

from lamina.telemetry.port import Began, Ended, Observation, Telemetry


@attrs.define(eq=False)
class Observed:
    """One operation.

    Attributes:
        began: What was told at its beginning.
        parent: The operation that it began in, if that is observed, too; as far as one task can tell.
        ended: What was told at its end; None while it runs.
    """

    began: Began
    parent: Observed | None = None
    ended: Ended | None = None


_CURRENT: ContextVar[Observed | None] = ContextVar("lamina_observed", default=None)


@attrs.frozen(eq=False)
class _Open:
    observed: Observed
    token: Token[Observed | None]

    def end(self, ended: Ended) -> None:
        self.observed.ended = ended
        try:
            _CURRENT.reset(self.token)
        except ValueError:  # ended in another context than it began in
            _CURRENT.set(None)


class MemoryTelemetry(Telemetry):
    """Keeps the last operations.

    Args:
        limit: How many.

    Example:
        >>> from lamina.telemetry import observe_model, observe_run
        >>> telemetry = MemoryTelemetry()
        >>> with observe_run(telemetry, run="run-1", agent="triage"), observe_model(1, streamed=False):
        ...     pass
        >>> [one.began.name for one in telemetry.observed]
        ['AgentRuntime.run', 'AgentRuntime.model']
    """

    def __init__(self, limit: int = 2_048) -> None:
        self._observed: deque[Observed] = deque(maxlen=limit)
        self._dropped = 0

    @property
    def observed(self) -> tuple[Observed, ...]:
        """The operations, in the order in which they began."""
        return tuple(self._observed)

    @property
    def dropped(self) -> int:
        """How many older ones were let go."""
        return self._dropped

    def begin(self, began: Began) -> Observation:
        """Keep an operation."""
        if len(self._observed) == self._observed.maxlen:
            self._dropped += 1
        outer = _CURRENT.get()
        made = Observed(began, outer)
        self._observed.append(made)
        return _Open(made, _CURRENT.set(made))
