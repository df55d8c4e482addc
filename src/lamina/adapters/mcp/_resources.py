"""Resources and templates: listed, and read."""

from __future__ import annotations

import mcp_types as wire
from mcp.shared.exceptions import MCPError
from returns.result import Failure

from lamina.adapters.mcp._callers import Context, is_modern
from lamina.adapters.mcp._guards import no_cursor
from lamina.adapters.mcp._shapes import read_of
from lamina.adapters.mcp._view import Views
from lamina.call import ReadDefect

RESOURCE_NOT_FOUND = -32002
"""What the older era has for it; the newer one has retired the number."""


class Resources:
    """The handlers of resources.

    Args:
        views: What each caller sees.
    """

    def __init__(self, views: Views) -> None:
        self._views = views

    async def list_resources(
        self, ctx: Context, params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourcesResult:
        """List the resources."""
        no_cursor(params)
        return wire.ListResourcesResult(resources=(await self._views.behind(ctx)).resources)

    async def list_templates(
        self, ctx: Context, params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourceTemplatesResult:
        """List the templates."""
        no_cursor(params)
        return wire.ListResourceTemplatesResult(resource_templates=(await self._views.behind(ctx)).templates)

    async def read_resource(self, ctx: Context, params: wire.ReadResourceRequestParams) -> wire.ReadResourceResult:
        """Read a resource."""
        view = await self._views.behind(ctx)
        scheme = view.scheme
        if scheme == "app" and not params.uri.startswith("app://"):
            raise MCPError(wire.INVALID_PARAMS, "resources/read requires an app:// uri")
        read = await view.surface.read(params.uri)
        if not isinstance(read, Failure):
            return read_of(read.unwrap())
        error = read.failure()
        if isinstance(error, ReadDefect):
            raise MCPError(wire.INTERNAL_ERROR, str(error))
        code = wire.INVALID_PARAMS if is_modern(ctx) else RESOURCE_NOT_FOUND
        raise MCPError(code, str(error), {"uri": params.uri})
