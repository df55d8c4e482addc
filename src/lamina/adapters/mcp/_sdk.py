"""The SDK's low-level server, with the handlers of what a surface has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as wire
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from lamina.adapters.mcp._asking import Asking
from lamina.adapters.mcp._callers import Context
from lamina.adapters.mcp._calls import Calls
from lamina.adapters.mcp._changes import Changes
from lamina.adapters.mcp._guards import contained, nothing_leaks
from lamina.adapters.mcp._options import McpLimits
from lamina.adapters.mcp._prompts import Prompts
from lamina.adapters.mcp._resources import Resources
from lamina.adapters.mcp._view import Views
from lamina.call import Surface


class _Server(Server[Any]):
    """Says that its list of tools changes, and that no other does, whichever transport asks."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> wire.ServerCapabilities:
        found = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        # The SDK claims in the newer era whatever a stream of changes could carry; a surface's lists of resources and
        # of prompts never change.
        if found.prompts is not None:
            found.prompts.list_changed = False
        if found.resources is not None:
            found.resources.list_changed = False
        return found


def sdk_server(views: Views, limits: McpLimits, asking: Asking, name: str | None, version: str | None) -> Server[Any]:
    """Register what the surface has; where each caller has its own, everything."""
    surface = None if views.only is None else views.only.surface
    name = name or ("lamina" if surface is None else surface.name)
    version = version or ("0.1.0" if surface is None else surface.version)
    reads = surface is None or bool(surface.resources or surface.templates)
    prompts = surface is None or bool(surface.prompts)
    completes = surface is None or bool(surface.templates) or any(each.arguments for each in surface.prompts)
    server = _Server(name, version=version, get_tool_input_schema=None if surface is None else _schemas(surface))
    server.middleware.append(nothing_leaks)
    add: Any = server.add_request_handler  # each handler has its own type of parameters

    def register(method: str, params: type[Any], handler: Callable[[Context, Any], Any]) -> None:
        add(method, params, contained(method, handler))

    calls, changes = Calls(views, limits, asking), Changes(views, limits)
    resources, asked = Resources(views), Prompts(views, asking)
    register("tools/list", wire.PaginatedRequestParams, calls.list_tools)
    register("tools/call", wire.CallToolRequestParams, calls.call_tool)
    register("logging/setLevel", wire.SetLevelRequestParams, changes.set_level)
    register("subscriptions/listen", wire.SubscriptionsListenRequestParams, changes.listen)
    if reads:
        register("resources/list", wire.PaginatedRequestParams, resources.list_resources)
        register("resources/templates/list", wire.PaginatedRequestParams, resources.list_templates)
        register("resources/read", wire.ReadResourceRequestParams, resources.read_resource)
        register("resources/subscribe", wire.SubscribeRequestParams, changes.subscribe)
        register("resources/unsubscribe", wire.UnsubscribeRequestParams, changes.unsubscribe)
    if prompts:
        register("prompts/list", wire.PaginatedRequestParams, asked.list_prompts)
        register("prompts/get", wire.GetPromptRequestParams, asked.get_prompt)
    if completes:
        register("completion/complete", wire.CompleteRequestParams, asked.complete)
    ready = contained("notifications/initialized", changes.initialized)
    server.add_notification_handler("notifications/initialized", wire.NotificationParams, ready)
    return server


def _schemas(surface: Surface) -> Callable[[str], Mapping[str, Any] | None]:
    known = {each.name: each.input_schema for each in surface.capabilities}
    return known.get
