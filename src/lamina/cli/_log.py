"""The application's log, from the command: into a file, or nowhere; never onto the terminal."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator
from pathlib import Path

from lamina.cli._exits import UsageError

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class _Lines(logging.Formatter):
    """One line an event, with its fields after it, and the traceback below."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that the base class has
        """Add what structlog handed over as the record's own attributes."""
        fields = {key: value for key, value in vars(record).items() if key not in _OWN}
        return " ".join([super().formatMessage(record), *(f"{key}={value!r}" for key, value in fields.items())])


@contextlib.contextmanager
def application_log(file: Path | None) -> Generator[None]:
    """Send what is logged to a file, or nowhere.

    The logger `lamina` is ours alone; of others only what would otherwise end on standard error for want of a handler
    is taken, so an application that sets its own logging up keeps it.

    Args:
        file: Where the log is appended; None keeps it nowhere.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        handler = logging.NullHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The log cannot be written to {file}: {error.strerror}.") from None
    handler.setFormatter(_Lines())
    logger = logging.getLogger("lamina")
    before = logger.propagate, logging.lastResort
    logger.addHandler(handler)
    # `lastResort` is where a record goes that no handler wants: standard error, unless it is replaced.
    logger.propagate, logging.lastResort = False, handler
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate, logging.lastResort = before
        handler.close()
