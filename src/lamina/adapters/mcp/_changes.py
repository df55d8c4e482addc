"""Changes: what a client watches, and how it is told, in each era."""

from __future__ import annotations

import asyncio

import mcp_types as wire
from mcp.server.subscriptions import ServerEvent
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from returns.result import Failure

from lamina.adapters.mcp._callers import Context
from lamina.adapters.mcp._options import McpLimits
from lamina.adapters.mcp._resources import RESOURCE_NOT_FOUND
from lamina.adapters.mcp._sessions import begun, session_of
from lamina.adapters.mcp._view import Views
from lamina.call import AgentResourceError
from lamina.effect import log

_TOO_MANY = "Too many resources are watched"


class Changes:
    """The handlers of subscriptions, and of what else a session keeps.

    Args:
        views: What each caller sees.
        limits: How many resources a client may watch.
    """

    def __init__(self, views: Views, limits: McpLimits) -> None:
        self._views = views
        self._limits = limits

    async def listen(
        self, ctx: Context, params: wire.SubscriptionsListenRequestParams
    ) -> wire.SubscriptionsListenResult:
        """Serve a stream of changes, in the newer era."""
        view, uris = await self._views.behind(ctx), params.notifications.resource_subscriptions or ()
        if len(uris) > self._limits.watched:
            raise MCPError(wire.INVALID_PARAMS, _TOO_MANY)
        stop = await view.watcher.listen(_nobody, uris)
        try:
            return await view.listening(ctx, params)
        finally:
            stop()

    async def subscribe(self, ctx: Context, params: wire.SubscribeRequestParams) -> wire.EmptyResult:
        """Watch a resource for a session, in the older era."""
        session, view = await begun(ctx, self._views)
        if params.uri in session.uris:
            return wire.EmptyResult()
        if len(session.uris) >= self._limits.watched:
            raise MCPError(wire.INVALID_PARAMS, _TOO_MANY)
        read = await view.surface.read(params.uri)
        if isinstance(read, Failure) and isinstance(error := read.failure(), AgentResourceError):
            raise MCPError(RESOURCE_NOT_FOUND, str(error), {"uri": params.uri})
        if params.uri not in session.uris:
            session.uris.add(params.uri)
            await view.watcher.watch(params.uri)
        return wire.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: wire.UnsubscribeRequestParams) -> wire.EmptyResult:
        """Watch it no more."""
        session, view = await begun(ctx, self._views)
        if params.uri in session.uris:
            session.uris.discard(params.uri)
            view.watcher.forget((params.uri,))
        return wire.EmptyResult()

    async def set_level(self, ctx: Context, params: wire.SetLevelRequestParams) -> wire.EmptyResult:
        """Remember which messages a session's client wants."""
        session_of(ctx).level = params.level
        return wire.EmptyResult()

    async def initialized(self, ctx: Context, params: wire.NotificationParams | None) -> None:
        """Begin to tell a session of changes."""
        session, view = await begun(ctx, self._views)
        if session.begun:
            return
        session.begun = True
        server_session, queue = ctx.session, asyncio.Queue[ServerEvent](1_024)

        def take(event: ServerEvent) -> None:
            if isinstance(event, ResourceUpdated) and event.uri not in session.uris:
                return
            if not queue.full():  # a client that does not read; it can ask
                queue.put_nowait(event)

        async def tell() -> None:
            while True:
                event = await queue.get()
                try:
                    if isinstance(event, ResourceUpdated):
                        await server_session.send_resource_updated(event.uri)
                    else:
                        await server_session.send_tool_list_changed()
                except Exception:
                    log().debug("a client that is gone was not told of a change", exc_info=True)

        try:
            unlisten = await view.watcher.listen(take)
        except BaseException:
            session.begun = False
            raise
        task = asyncio.create_task(tell(), name="lamina mcp session")

        def stop() -> None:
            task.cancel()
            unlisten()

        session.stop = stop


def _nobody(event: ServerEvent) -> None: ...
