"""Tools: a capability of the surface is listed and called as one."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import mcp_types as wire

from lamina.adapters.mcp._asking import Asking, refuse_unable
from lamina.adapters.mcp._callers import Context
from lamina.adapters.mcp._guards import no_cursor
from lamina.adapters.mcp._options import McpLimits
from lamina.adapters.mcp._shapes import error_result, result_of
from lamina.adapters.mcp._view import View, Views
from lamina.call import Caller, CallerFeature, Invocation, Outcome, Signal, ToolDefect
from lamina.effect import log

POLL_AFTER = "lamina.poll_after"
"""Where a request's scope holds after how many seconds the stream of a call ends."""


class Calls:
    """The handlers of tools.

    Args:
        views: What each caller sees.
        limits: How many calls run at once.
        asking: Asks their callers.
    """

    def __init__(self, views: Views, limits: McpLimits, asking: Asking) -> None:
        self._views = views
        self._limits = limits
        self._asking = asking
        self._calls = 0

    async def list_tools(self, ctx: Context, params: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
        """List what is available now."""
        no_cursor(params)
        view = await self._views.behind(ctx)
        available = await view.surface.available()
        return wire.ListToolsResult(tools=[tool for name, tool in view.tools.items() if name in available])

    async def call_tool(
        self, ctx: Context, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        """Call a capability; a client that cancels aborts it."""
        view = await self._views.behind(ctx)
        _poll_later(ctx)
        if self._calls >= self._limits.calls:
            return error_result("Too many calls are running; try again later.")
        self._calls += 1
        try:
            return await self._call(ctx, view, params)
        finally:
            self._calls -= 1

    async def _call(
        self, ctx: Context, view: View, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        name, capability = params.name, view.capabilities.get(params.name)
        arguments: dict[str, Any] = params.arguments or {}
        signal = Signal()

        async def invoke(caller: Caller) -> Outcome:
            return await _invoke(view, name, arguments, ctx, signal, caller)

        asks = frozenset[CallerFeature]() if capability is None else capability.asks
        ended = await self._asking.ask(ctx, view, params, (f"tool {name}", arguments), asks, signal, invoke)
        if isinstance(ended, wire.InputRequiredResult):
            return ended
        outcome = cast("Outcome", ended)
        refuse_unable(ctx, outcome)
        return result_of(view.surface, capability, name, outcome)


async def _invoke(
    view: View, name: str, arguments: dict[str, Any], ctx: Context, signal: Signal, caller: Caller
) -> Outcome:
    invocation = Invocation.new("mcp", signal=signal, request=ctx.request_id)
    try:
        return await view.surface.invoke(name, arguments, invocation, caller)
    except Exception:
        log().exception("a surface broke", capability=name[:128])
        return ToolDefect("raised")


def _poll_later(ctx: Context) -> None:
    """Let a call's stream end before its answer, where the client can take it up again and was to do so."""
    seconds = None if ctx.request is None else ctx.request.scope.get(POLL_AFTER)
    close = ctx.close_sse_stream
    if seconds is not None and close is not None:

        async def later() -> None:
            await asyncio.sleep(seconds)
            await close()

        task = asyncio.create_task(later(), name="lamina mcp poll")
        current = asyncio.current_task()
        if current is not None:
            current.add_done_callback(lambda _: task.cancel())
