"""What a connection of the older era keeps between its requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import attrs
from mcp.server.connection import Connection

from lamina.adapters.mcp._callers import Context
from lamina.adapters.mcp._view import View, Views
from lamina.call import LogLevel


@attrs.define(eq=False)
class Session:
    """What a connection of the older era keeps.

    Attributes:
        level: What its client wants to be told at least.
        view: What it began with; changes are told of that one, also where its caller's claims change meanwhile.
        stop: Ends listening to changes.
        uris: The resources that it subscribed to.
    """

    level: LogLevel | None = None
    view: View | None = None
    begun: bool = False
    stop: Callable[[], None] | None = None
    uris: set[str] = attrs.field(factory=set[str])


def session_of(ctx: Context) -> Session:
    """Give the session of a request."""
    return cast("Session", _connection(ctx).state.setdefault("lamina", Session()))


async def begun(ctx: Context, views: Views) -> tuple[Session, View]:
    """Give a session with its view; what it watches ends with its connection."""
    session = session_of(ctx)
    if session.view is None:
        view = await views.behind(ctx)
        if session.view is None:  # nobody was faster
            session.view = view
            _connection(ctx).exit_stack.callback(_leave, session, view)
    return session, session.view


def _leave(session: Session, view: View) -> None:
    if session.stop is not None:
        session.stop()
    view.watcher.forget(session.uris)
    session.uris.clear()


def _connection(ctx: Context) -> Connection:
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage] - the SDK has no public handle on it
