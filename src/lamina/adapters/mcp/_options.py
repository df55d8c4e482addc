"""What an MCP server is told: how far it goes, where it listens, and whom it serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import attrs

from lamina.call import Surface
from lamina.effect import ConstructionError, Problem, Value, caller_where
from lamina.schema import JsonValue, canonical_json


def _positive(limits: object, field: attrs.Attribute[Any], value: float) -> None:  # Any: a whole number, or not
    if not 0 < value < float("inf"):
        line = f"{field.name} is positive and finite  {caller_where()}"
        raise ConstructionError([Problem("LIMIT", "McpLimits", (line,))])


@attrs.frozen(kw_only=True, eq=False, repr=False)
class McpLimits(Value):
    """How much of everything an MCP server takes.

    Attributes:
        body: Bytes of one HTTP request.
        line: Bytes of one line on stdio.
        arrival: Seconds in which an HTTP request has to arrive whole.
        sessions: Sessions at once, over HTTP, in the protocol's older era.
        idle: Seconds that a session may do nothing.
        calls: Tool calls at once, over all callers.
        held: Calls at once that wait for their caller's answer, in the newer era.
        patience: Seconds that an answer of the caller is waited for.
        debounce: Seconds between a change and telling of it; changes in between are told once.
        callers: Surfaces kept at once, where each caller has one of its own.
        listeners: Streams of changes at once.
        watched: Resources that one client watches at once.

    Raises:
        ConstructionError: One of them is not positive.
    """

    body: int = attrs.field(default=4_194_304, validator=_positive)
    line: int = attrs.field(default=4_194_304, validator=_positive)
    arrival: float = attrs.field(default=30.0, validator=_positive)
    sessions: int = attrs.field(default=1_000, validator=_positive)
    idle: float = attrs.field(default=1_800.0, validator=_positive)
    calls: int = attrs.field(default=256, validator=_positive)
    held: int = attrs.field(default=1_000, validator=_positive)
    patience: float = attrs.field(default=600.0, validator=_positive)
    debounce: float = attrs.field(default=0.05, validator=_positive)
    callers: int = attrs.field(default=1_000, validator=_positive)
    listeners: int = attrs.field(default=1_024, validator=_positive)
    watched: int = attrs.field(default=256, validator=_positive)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Identity(Value):
    """Who calls, as a verified token says.

    A session belongs to its subject and client: a token that is renewed goes on with it, another's gets a 404.

    Attributes:
        subject: Whom the token speaks for; unique for its issuer.
        client: Through which application, where that is known.
        issuer: Who says so.
        claims: Whatever else the application wants to know; the order of its members does not count.

    Example:
        >>> first = Identity(subject="ada", claims={"a": 1, "b": 2})
        >>> first.key == Identity(subject="ada", claims={"b": 2, "a": 1}).key
        True
    """

    subject: str
    client: str = ""
    issuer: str | None = None
    claims: Mapping[str, JsonValue] = attrs.field(factory=dict[str, JsonValue], hash=False)

    @property
    def key(self) -> bytes:
        """What two tokens of one caller, who may do the same, have in common."""
        return canonical_json([self.subject, self.client, self.issuer, dict(self.claims)])


Verify: TypeAlias = Callable[[str], Awaitable[Identity | None]]
"""Verifies the bearer token of a request; None refuses it."""
SurfaceFactory: TypeAlias = Callable[[Identity | None], Surface | Awaitable[Surface]]
"""Gives the surface of one caller; of nobody in particular on stdio, and where no tokens are verified."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class McpHttp(Value):
    """Where and how an MCP server listens.

    Attributes:
        host: The address.
        port: The port; 0 takes any that is free.
        path: The endpoint.
        hosts: Values of the `Host` header besides those of this machine: `mcp.example.com`, with or without a port.
        origins: Web pages that may call, besides those of this machine: `https://app.example.com`.
        verify: What verifies tokens; without it everybody who reaches the port may call.
        json_response: Answer with plain JSON and no stream, which costs less, and cannot tell a caller anything
            meanwhile: capabilities that ask their caller are refused.
        replay: Events that are kept for each session, so that a client whose connection was lost gets what it missed;
            0 keeps none. For the older era, which alone has that.
        poll_after: Seconds after which the stream of a call that still runs ends; its client comes back for the
            answer. It keeps no connection open for long, as some proxies want it; needs `replay`.
        started: Told the port when it listens.

    Raises:
        ConstructionError: `poll_after` without `replay`, or one of them is negative.
    """

    host: str = "127.0.0.1"
    port: int = 8_000
    path: str = "/mcp"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    verify: Verify | None = attrs.field(default=None, eq=False, repr=False)
    json_response: bool = False
    replay: int = 0
    poll_after: float | None = None
    started: Callable[[int], None] | None = attrs.field(default=None, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        lines: list[str] = []
        if self.replay < 0 or (self.poll_after is not None and not 0 < self.poll_after < float("inf")):
            lines.append("replay is 0 or more, and poll_after is positive")
        if self.poll_after is not None and not self.replay:
            lines.append("poll_after ends streams that nobody can take up again: give replay, too")
        if lines:
            raise ConstructionError([Problem("HTTP", "McpHttp", (*lines, str(caller_where())))])
