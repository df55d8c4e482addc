"""How the command ends: its exit codes, and the one error that a user's mistake becomes."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""The run ended without an answer; or, of `check`, the application has problems."""
USAGE: Final = 2
"""The command line, the application or the environment is not as it has to be; nothing was run."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141


class UsageError(Exception):
    """A mistake that the person at the terminal can mend; its text says what to do next, and no traceback is shown.

    Args:
        message: What is wrong, in one line.
        hints: What to do next, each in a line of its own.
    """

    def __init__(self, message: str, *hints: str) -> None:
        super().__init__(message)
        self.message = message
        self.hints = hints
