"""How the command ends: its exit codes, and the one error that a user's mistake becomes."""

from __future__ import annotations

import sys
from typing import Final

OK: Final = 0
"""All went well."""
FAILED: Final = 1
"""The run ended without an answer; of `check`, the application has problems; of `contract --check`, the file differs;
of `sessions`, `approvals` and `mcp`, what was asked for is not there, is decided already, or failed."""
USAGE: Final = 2
"""The command line, the application or the environment is not as it has to be; nothing was run."""
SUSPENDED: Final = 3
"""The run waits for somebody to decide, and nothing of it is lost: `lamina approvals`, then `--resume`."""
INTERRUPTED: Final = 130
"""Ctrl-C ended the run; every call has its outcome, and its session can be gone on with."""
BROKEN_PIPE: Final = 141
"""Whoever read the output has gone."""


class UsageError(Exception):
    """A mistake that the person at the terminal can mend; its text says what to do next, and no traceback is shown.

    Args:
        message: What is wrong, in one line.
        hints: What to do next, each in a line of its own.
    """

    code: int = USAGE

    def __init__(self, message: str, *hints: str) -> None:
        super().__init__(message)
        self.message = message
        self.hints = hints


class Refused(UsageError):
    """What a store or a server says no to: there is no such session or tool, it is in use, or was decided already."""

    code = FAILED


def is_output_lost(error: OSError) -> bool:
    """Tell whether an error was the output's: then no more can be written, not even a line end."""
    if error.filename is not None:
        return False
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False
