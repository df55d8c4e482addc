"""The application's log, from the command: into a file, or nowhere; never onto the terminal."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Generator
from pathlib import Path

from lamina.cli._exits import UsageError
from lamina.cli._plain import printable
from lamina.redaction import Secrets
from lamina.schema import JsonValue


class LogSecrets(Secrets):
    """What must not be in the log: nothing, until an application is open that knows."""

    __slots__ = ("_adopted",)

    def __init__(self) -> None:
        super().__init__()
        self._adopted = Secrets()

    def adopt(self, secrets: Secrets) -> None:
        """Hide what an application's own secrets hide, from now on."""
        self._adopted = secrets

    def redact(self, value: JsonValue) -> JsonValue:
        """Give a JSON value without the secrets."""
        return self._adopted.redact(value)

    def redact_text(self, text: str) -> str:
        """Give a text without the secrets."""
        return self._adopted.redact_text(text)


@contextlib.contextmanager
def application_log(file: Path | None) -> Generator[LogSecrets]:
    """Send what is logged to a file, or nowhere.

    The logger `lamina` is ours alone; of others only what would otherwise end on standard error for want of a handler
    is taken, so an application that sets its own logging up keeps it. Of payload only the shape is written; what an
    exception says is, for whoever asks for the file is the one who mends it; a new file is for its owner's eyes only.

    Args:
        file: Where the log is appended; None keeps it nowhere.

    Yields:
        What is told of the application's secrets.

    Raises:
        UsageError: The file cannot be written.
    """
    known = LogSecrets()
    try:
        if file is not None:
            os.close(_for_owner(file))
        handler = logging.NullHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The log cannot be written to {printable(str(file))}: {error.strerror}.") from None
    logger = logging.getLogger("lamina")
    before = logger.propagate, logging.lastResort, logger.level
    if file is None:
        logger.addHandler(handler)
    else:
        from lamina.telemetry import configure_logging

        level = logger.getEffectiveLevel()
        configure_logging(secrets=known, handler=handler, form="console", level=level, exceptions="text")
    # `lastResort` is where a record goes that no handler wants: standard error, unless it is replaced.
    logger.propagate, logging.lastResort = False, handler
    try:
        yield known
    finally:
        logger.removeHandler(handler)
        logger.propagate, logging.lastResort = before[:2]
        logger.setLevel(before[2])
        handler.close()


@contextlib.contextmanager
def hint_at_log(file: Path | None) -> Generator[None]:
    """Say once, on standard error, that something broke and where it would have been kept, where it is not.

    Args:
        file: Where the log is; None where it is nowhere.
    """
    if file is not None:
        yield
        return
    logger, handler = logging.getLogger("lamina"), _Hint()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


_HINT = "lamina: Something broke, and no client is told what: --log FILE keeps it."


class _Hint(logging.Handler):
    """Says that there is something to be read, and nothing of what it is."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._said = False

    def emit(self, record: logging.LogRecord) -> None:
        if self._said or record.exc_info is None:
            return
        self._said = True
        with contextlib.suppress(OSError, ValueError):
            print(
                "lamina: Something broke, and no client is told what: --log FILE keeps it.", file=sys.stderr, flush=True
            )


def _for_owner(file: Path) -> int:
    """Open a file, and make it for its owner's eyes only where it is missing."""
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
