"""What a call is known by, from its declaration to its recovery."""

from __future__ import annotations

from typing import Literal

import attrs

from lamina.effect import Value

ExecutionClass = Literal["readonly", "idempotent", "uncertain"]
"""What running a call twice does: nothing, nothing more, or nobody knows (behaviour §3). `uncertain` is the default."""


@attrs.frozen(eq=False, repr=False)
class CallKey(Value):
    """One call's identity: stable over logging, approval, execution and recovery (seed 004 §2).

    Attributes:
        run: The run's id.
        turn: The turn that declared the call, from 1.
        call: The id that the model gave it.

    Example:
        >>> str(CallKey("run-1", 2, "c7"))
        'run-1/2/c7'
    """

    run: str
    turn: int
    call: str

    def __str__(self) -> str:
        """Render as `run/turn/call`."""
        return f"{self.run}/{self.turn}/{self.call}"
