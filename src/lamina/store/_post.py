"""Calling back into the event loop from a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from anyio.lowlevel import current_token

Post: TypeAlias = Callable[..., object]
"""`post(call, *arguments)` has the loop make a call soon; from any thread."""


def post_here() -> Post:
    """Give what posts into the loop that runs here, asyncio's or trio's.

    anyio's own way makes the thread wait for the loop, which the writer has no time for.
    """
    token: Any = current_token().native_token  # Any: the loop itself, or trio's token
    post = cast("Post", getattr(token, "call_soon_threadsafe", None) or token.run_sync_soon)

    def post_unless_over(call: Callable[..., object], *arguments: object) -> None:
        try:
            post(call, *arguments)
        except RuntimeError:
            return  # the loop has ended, and with it everybody who could have waited

    return post_unless_over
