"""What a run commits, and when: five points where a conversation or a durable runtime stands (design §4, stages 1-12).

Record ids are deterministic: the same point of the same run always has the same id (behaviour §6).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from lamina.call import CallKey, Outcome
from lamina.model import AssistantMessage


@attrs.frozen
class ResponseDeclared:
    """A complete response was accepted; its calls are declared, and none has started."""

    run: str
    turn: int
    message: AssistantMessage

    @property
    def id(self) -> str:
        """`declared:{run}/{turn}`."""
        return f"declared:{self.run}/{self.turn}"


@attrs.frozen
class CallStarted:
    """The body of a call runs next; not recorded for readonly calls that nobody had to approve.

    Attributes:
        key: The call.
        arguments_digest: SHA-256 of the arguments' text, hexadecimal.
        approved_by: Who approved it; None where nobody had to.
    """

    key: CallKey
    arguments_digest: str
    approved_by: str | None

    @property
    def id(self) -> str:
        """`started:{key}`: appending it is what uses an approval up."""
        return f"started:{self.key}"


@attrs.frozen
class ResultSettled:
    """A call has its one outcome, redacted and bounded."""

    key: CallKey
    outcome: Outcome

    @property
    def id(self) -> str:
        """`settled:{key}`."""
        return f"settled:{self.key}"


@attrs.frozen
class TurnAdvanced:
    """Everything of a turn is settled; the next request sees all of it."""

    run: str
    turn: int

    @property
    def id(self) -> str:
        """`advanced:{run}/{turn}`."""
        return f"advanced:{self.run}/{self.turn}"


@attrs.frozen
class RunEnded:
    """The run has its one ending.

    Attributes:
        run: The run's id.
        ending: How it ended.
        error: The failure's tag; None for a completed run.
    """

    run: str
    ending: Literal["completed", "failed", "interrupted"]
    error: str | None = None

    @property
    def id(self) -> str:
        """`ended:{run}`."""
        return f"ended:{self.run}"


Record: TypeAlias = ResponseDeclared | CallStarted | ResultSettled | TurnAdvanced | RunEnded
