"""The telemetry port: what is told of every operation, and never what was in it (seed 004 §12, CAP-013)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

import attrs

Attribute: TypeAlias = str | int | float | bool
"""What an attribute holds. A text is a name or an id, at most 128 characters, or it is `[REDACTED:string]`."""
Ending: TypeAlias = Literal["success", "failure", "defect"]
"""How an operation ended: it did what it is for; it gave a declared failure; it raised."""


@attrs.frozen(kw_only=True)
class Began:
    """An operation begins.

    Attributes:
        name: The operation's, like `sessions.update`; a constant.
        version: The version of what the operation means and tells.
        run: The run that it belongs to, if any.
        conversation: The conversation that it belongs to, if any.
        agent: The agent's id, if any.
        resource: What it works on: a session's id, a tool's name.
        attributes: What else is told, without payload.
    """

    name: str
    version: int
    run: str | None = None
    conversation: str | None = None
    agent: str | None = None
    resource: str | None = None
    attributes: Mapping[str, Attribute] = attrs.field(factory=dict[str, Attribute])


@attrs.frozen(kw_only=True)
class Ended:
    """The same operation has ended.

    Attributes:
        outcome: How; None where it was interrupted, for then nobody knows.
        duration: Seconds.
        retries: How often something in it was tried again.
        category: For a failure its tag, with the tag of its reason or cause; for a defect the exception's class;
            `interrupted` for an interruption; None for a success.
        attributes: What was learnt on the way, without payload.
    """

    outcome: Ending | None
    duration: float
    retries: int = 0
    category: str | None = None
    attributes: Mapping[str, Attribute] = attrs.field(factory=dict[str, Attribute])


class Observation(Protocol):
    """One operation that a telemetry has been told of."""

    def end(self, ended: Ended) -> None:
        """Take how it ended; called once."""
        ...


class Telemetry(ABC):
    """Takes what is told of operations; a service.

    When to use: `bind(Telemetry).to(OpenTelemetry)` sends it to whatever the process has set up,
    `bind(Telemetry).to(MemoryTelemetry)` keeps it. A runtime that offers none makes nothing of all this.

    An implementation is called in the task that it observes, at the beginning and at the end of each operation, so it
    must not wait. When it raises, that is logged, and the operation goes on as if it had not.
    """

    @abstractmethod
    def begin(self, began: Began) -> Observation:
        """Take the beginning of an operation, and give what takes its end."""
