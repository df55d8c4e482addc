"""Prompts, listed and filled; and completions of their arguments and of templates'."""

from __future__ import annotations

from typing import cast

import mcp_types as wire
from mcp.shared.exceptions import MCPError
from returns.result import Failure, Result

from lamina.adapters.mcp._asking import Asking
from lamina.adapters.mcp._callers import Context
from lamina.adapters.mcp._guards import no_cursor
from lamina.adapters.mcp._shapes import message_of
from lamina.adapters.mcp._view import Views
from lamina.call import Caller, CallerFeature, PromptMessage, PromptRefused, Signal


class Prompts:
    """The handlers of prompts and completions.

    Args:
        views: What each caller sees.
        asking: Asks their callers.
    """

    def __init__(self, views: Views, asking: Asking) -> None:
        self._views = views
        self._asking = asking

    async def list_prompts(self, ctx: Context, params: wire.PaginatedRequestParams | None) -> wire.ListPromptsResult:
        """List the prompts."""
        no_cursor(params)
        return wire.ListPromptsResult(prompts=(await self._views.behind(ctx)).prompts)

    async def get_prompt(
        self, ctx: Context, params: wire.GetPromptRequestParams
    ) -> wire.GetPromptResult | wire.InputRequiredResult:
        """Fill a prompt."""
        view, arguments = await self._views.behind(ctx), params.arguments or {}
        prompt = next((each for each in view.surface.prompts if each.name == params.name), None)
        asks = frozenset[CallerFeature]() if prompt is None else prompt.asks

        async def fill(caller: Caller) -> object:
            return await view.surface.prompt(params.name, arguments, caller)

        ended = await self._asking.ask(ctx, view, params, (f"prompt {params.name}", arguments), asks, Signal(), fill)
        if isinstance(ended, wire.InputRequiredResult):
            return ended
        filled = cast("Result[tuple[PromptMessage, ...], PromptRefused]", ended)
        if isinstance(filled, Failure):
            raise MCPError(wire.INVALID_PARAMS, str(filled.failure()))
        about = next((each.description for each in view.prompts if each.name == params.name), None)
        return wire.GetPromptResult(description=about, messages=[message_of(each) for each in filled.unwrap()])

    async def complete(self, ctx: Context, params: wire.CompleteRequestParams) -> wire.CompleteResult:
        """Complete an argument of a prompt or a template."""
        view, ref, argument = await self._views.behind(ctx), params.ref, params.argument
        if isinstance(ref, wire.PromptReference):
            values = await view.surface.complete("prompt", ref.name, argument.name, argument.value)
        else:
            values = await view.surface.complete("template", ref.uri, argument.name, argument.value)
        shown = [*values[:100]]
        more = len(values) > len(shown)
        return wire.CompleteResult(
            completion=wire.Completion(values=shown, total=None if more else len(values), has_more=more)
        )
