"""The application's log, from the command: into a file, or nowhere; never onto the terminal."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator
from pathlib import Path

from lamina.cli._exits import UsageError


@contextlib.contextmanager
def application_log(file: Path | None) -> Generator[None]:
    """Send what is logged to a file, or nowhere.

    The logger `lamina` is ours alone; of others only what would otherwise end on standard error for want of a handler
    is taken, so an application that sets its own logging up keeps it. Of payload only the shape is written; what an
    exception says is, for whoever asks for the file is the one who mends it.

    Args:
        file: Where the log is appended; None keeps it nowhere.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        handler = logging.NullHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The log cannot be written to {file}: {error.strerror}.") from None
    logger = logging.getLogger("lamina")
    before = logger.propagate, logging.lastResort, logger.level
    if file is None:
        logger.addHandler(handler)
    else:
        from lamina.telemetry import configure_logging

        configure_logging(handler=handler, form="console", level=logger.getEffectiveLevel(), exceptions="text")
    # `lastResort` is where a record goes that no handler wants: standard error, unless it is replaced.
    logger.propagate, logging.lastResort = False, handler
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate, logging.lastResort = before[:2]
        logger.setLevel(before[2])
        handler.close()
