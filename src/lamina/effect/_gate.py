"""Whether calls may run: asked by every call, so it is one attribute."""

from __future__ import annotations


class Gate:
    """Open while an environment is up.

    Attributes:
        shut: Why no call may run; `None` while they may.
    """

    __slots__ = ("_cause", "shut")

    def __init__(self) -> None:
        self.shut: str | None = "the runtime has not been opened"
        self._cause: BaseException | None = None

    def open(self) -> None:
        """Let calls in."""
        self.shut = None

    def close(self, why: str) -> None:
        """Keep calls out; what has broken stays the reason."""
        if self._cause is None:
            self.shut = why

    def blame(self, cause: BaseException) -> None:
        """Say what has broken."""
        self._cause = self._cause or cause

    def refusal(self) -> RuntimeError:
        """Make what a call raises that comes too early, too late, or after something has broken."""
        error = RuntimeError(self.shut)
        error.__cause__ = self._cause
        return error
