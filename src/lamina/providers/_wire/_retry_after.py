"""When a provider asks to be left alone until: the headers that say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read how many seconds to wait, from `retry-after-ms` or from `retry-after` in seconds or as a date.

    A date is measured against the response's own `date`, so that a clock that is wrong here does no harm.

    Args:
        headers: Of the response; names in any case, as HTTP libraries give them.
        now: The time to measure a date against, where the response has none.

    Returns:
        Seconds, not negative; `None` where the provider did not say, or nothing sensible.

    Example:
        >>> retry_after({"retry-after": "7"}), retry_after({"retry-after-ms": "250"}), retry_after({})
        (7.0, 0.25, None)
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    if seconds is not None:
        return seconds
    until = _date(given)
    if until is None:
        return None
    since = _date(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - since).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
