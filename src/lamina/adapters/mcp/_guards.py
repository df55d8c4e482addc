"""What stands around every handler: no exception's text gets out, and no list has a second page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TypeVar

import mcp_types as wire
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from lamina.adapters.mcp._callers import Context
from lamina.effect import is_cancelled, log

P = TypeVar("P")
R = TypeVar("R")


def contained(method: str, handler: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """Let nothing out of a handler but what it says itself: no text of an exception reaches a client, in any era."""

    @wraps(handler)
    async def handle(ctx: Context, params: P) -> R:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # The SDK would take it for an end of the whole session, and tell nobody.
            log().warning("handling a request was cancelled by something of its own", method=method)
            raise MCPError(wire.INTERNAL_ERROR, f"Handling {method} failed unexpectedly") from None
        except Exception:
            log().exception("handling a request broke", method=method)
            raise MCPError(wire.INTERNAL_ERROR, f"Handling {method} failed unexpectedly") from None

    return handle


async def nothing_leaks(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Stand behind everything: what the SDK itself may raise has no text for a client either."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception:
        log().exception("serving a request broke", method=ctx.method[:128])
        raise MCPError(wire.INTERNAL_ERROR, "Handling the request failed unexpectedly") from None


def no_cursor(params: wire.PaginatedRequestParams | None) -> None:
    """Refuse a cursor: no list here has a second page."""
    if params is not None and params.cursor is not None:
        raise MCPError(wire.INVALID_PARAMS, "Unknown cursor")
