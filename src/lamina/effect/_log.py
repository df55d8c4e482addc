"""The application's own log: the only place that an exception's text goes (design §2.3)."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger


@cache
def log() -> BoundLogger:
    """Give the logger `lamina`: structured events, handed to the standard library's logging.

    structlog is imported at the first event, since a program whose handlers do not break never needs it.

    Example:
        >>> log().debug("nothing to see", run="run-1")
    """
    import structlog

    return cast(
        "BoundLogger",
        structlog.wrap_logger(
            logging.getLogger("lamina"),
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.stdlib.render_to_log_kwargs,
            ],
        ),
    )
