"""Stage 3: may the capability be used now? Asked before decoding, so that a refusal tells nothing of the schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lamina.call._outcome import ToolRejected
from lamina.effect import log


async def check_available(check: Callable[[], Awaitable[object]], name: str) -> ToolRejected | None:
    """Ask a capability's own predicate.

    A predicate that breaks, or that answers anything but a bool, counts as a no: what cannot be told is not offered.

    Returns:
        None where the capability is available, else `ToolRejected("unavailable")`.
    """
    try:
        answer = await check()
    except Exception:
        log().exception("available() broke; the capability counts as unavailable", capability=name)
        return ToolRejected("unavailable")
    return None if answer is True else ToolRejected("unavailable")
