"""How a handler asks its caller: the way that the request's era has for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import mcp_types as wire
from mcp.shared.exceptions import MCPError

from lamina.adapters.mcp._callers import AskingCaller, Context, TellingCaller, can_be_asked, is_modern
from lamina.adapters.mcp._held import HeldCalls, binding_of
from lamina.adapters.mcp._options import McpLimits
from lamina.adapters.mcp._sessions import session_of
from lamina.adapters.mcp._shapes import required_of
from lamina.adapters.mcp._view import View
from lamina.call import Caller, CallerFeature, Outcome, Signal

_ASKS: frozenset[CallerFeature] = frozenset(("elicit", "sample", "roots"))


class Asking:
    """Does what may ask its caller; holds it, in the newer era, until the caller comes back with an answer.

    Args:
        limits: How far it goes.
        offered: What callers can be asked for.
    """

    def __init__(self, limits: McpLimits, offered: frozenset[CallerFeature]) -> None:
        self._patience = limits.patience
        self._offered = offered
        self.held = HeldCalls(limits.held, limits.patience)

    async def ask(
        self,
        ctx: Context,
        view: View,
        params: wire.InputResponseRequestParams,
        what: tuple[str, object],
        asks: frozenset[CallerFeature],
        signal: Signal,
        invoke: Callable[[Caller], Awaitable[object]],
    ) -> object:
        """Do something that may ask its caller."""
        features = self._offered & {*asks, "progress", "log"}
        try:
            if not is_modern(ctx):
                return await invoke(AskingCaller(ctx, features, session_of(ctx).level, self._patience))
            given = params.input_responses or {}
            if params.request_state is not None:
                return await self.held.resume(ctx, binding_of(view.key, *what), params.request_state, given)
            if asks & _ASKS:
                return await self.held.begin(ctx, features, binding_of(view.key, *what), signal, given, invoke)
            return await invoke(TellingCaller(ctx, features))
        except asyncio.CancelledError:
            signal.abort()  # whatever the surface has handed it to
            raise


def refuse_unable(ctx: Context, outcome: Outcome) -> None:
    """Tell a client of the newer era which of its capabilities it would have had to declare.

    Raises:
        MCPError: A handler passed on that its caller cannot be asked, and the client had not declared that it can.
    """
    required = required_of(outcome) if is_modern(ctx) else None
    if required is None:
        return
    able = can_be_asked(ctx)
    if required.elicitation is not None and "elicit" in able:
        return
    if required.sampling is not None and "sample" in able:
        return
    if required.roots is not None and "roots" in able:
        return
    data = wire.MissingRequiredClientCapabilityErrorData(required_capabilities=required)
    raise MCPError(
        wire.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "The client has not declared a capability that this call needs",
        data.model_dump(by_alias=True, mode="json", exclude_none=True),
    )
