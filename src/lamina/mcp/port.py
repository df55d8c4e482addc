"""The port of remote tools: connections to MCP servers, what they offer, and calls of it (seed 004 §8)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Literal, Never, TypeAlias, overload

import attrs
from returns.result import Result

from lamina.call import Contents, ExecutionClass
from lamina.effect import Value
from lamina.mcp._errors import McpCallError
from lamina.mcp._schemas import ToolSchemas
from lamina.redaction import Secrets
from lamina.schema import JsonValue
from lamina.telemetry import observed

if TYPE_CHECKING:
    from lamina.approval import Approval, Ask
    from lamina.tools import Toolkit

TellProgress: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
"""Is told how much is done, of how much, and one sentence; what comes faster than it takes is left out."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ServerIdentity(Value):
    """Who a server says it is; recorded at each connection (CAP-009).

    Attributes:
        name: Its own name; empty where it does not say.
        version: Its own version; empty where it does not say.
        title: What people call it.
        protocol: The version of the protocol that both speak.
        instructions: How it wants to be used, in the server's words, at most 8,192 characters.
    """

    name: str
    version: str
    title: str = ""
    protocol: str
    instructions: str = ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RemoteTool(Value):
    """A tool as its server advertises it.

    Attributes:
        server: The server's name here.
        name: The tool's name there.
        description: The server's word, at most 8,192 characters.
        title: What people call it.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of its structured value; None where it promises none.
        execution: What calling it twice does: by its annotations where the server is trusted, else `uncertain`.
        annotations: What the server says of it besides.
        digest: Of name and schemas: another digest is another tool.
        schemas: What was read of its schemas; whoever needs it reads them anew where it is None.
    """

    server: str
    name: str
    description: str
    title: str
    input_schema: Mapping[str, JsonValue] = attrs.field(hash=False)
    output_schema: Mapping[str, JsonValue] | None = attrs.field(default=None, hash=False)
    execution: ExecutionClass = "uncertain"
    annotations: Mapping[str, JsonValue] = attrs.field(factory=dict[str, JsonValue], hash=False)
    digest: str
    schemas: ToolSchemas | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def unapplied(self) -> tuple[str, ...]:
        """Where in its schemas an expression stands that is not applied, as `input $.path` (see `BoundedSchema`)."""
        return () if self.schemas is None else self.schemas.unapplied


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RemoteServer(Value):
    """What is known of a server now.

    Attributes:
        name: Its name here.
        state: `up`; `lost`, and being connected to again; or `down`, which the next call tries to change.
        why: Why it is not up; empty while it is.
        identity: Who it said it is when it was connected to last; None where it never was.
        tools: What it offers, in its order.
        refused: Tools that it offers and that cannot be used, with the reason.
    """

    name: str
    state: Literal["up", "lost", "down"]
    why: str = ""
    identity: ServerIdentity | None = None
    tools: tuple[RemoteTool, ...] = ()
    refused: Mapping[str, str] = attrs.field(factory=dict[str, str], hash=False)

    def tool(self, name: str) -> RemoteTool | None:
        """Give a tool by its name there."""
        return next((tool for tool in self.tools if tool.name == name), None)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class McpCall(Value):
    """One call of a remote tool.

    Attributes:
        server: The server's name here.
        tool: The tool's name there.
        arguments: Its input; the server checks it, and a tool of an agent does before.
        digest: The tool that is meant; the call is refused where the server has another of that name. None takes any.
        timeout: Seconds that all of it may take; the server's own limit without it, and never more than that.
        progress: Is told how far it is.
    """

    server: str
    tool: str
    arguments: Mapping[str, JsonValue] = attrs.field(factory=dict[str, JsonValue], hash=False)
    digest: str | None = None
    timeout: float | None = None
    progress: TellProgress | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RemoteResult(Value):
    """What a remote tool gave.

    Attributes:
        contents: Its content, kind by kind.
        structured: Its structured value; None where there is none.
        original: The result as the SDK read it, with what the server attached to it.
    """

    contents: Contents
    structured: JsonValue = attrs.field(default=None, hash=False)
    original: object = attrs.field(default=None, eq=False, repr=False)


@observed("mcp")
class McpConnections(ABC):
    """Connections to MCP servers, each known by a name: what agents with remote tools need (CAP-001).

    When to use: `mcp_connections(...)` offers it to a runtime, and `connect(...)` gives one to a script. Each
    connection has one task that owns it; what is called here may be called, and cancelled, from any task. A connection
    that is lost comes back by itself, within limits.
    """

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The servers' names here, in order."""

    @abstractmethod
    def server(self, name: str) -> RemoteServer | None:
        """Give what is known of a server now; None for a name that is not there."""

    @abstractmethod
    async def call(self, call: McpCall) -> Result[RemoteResult, McpCallError]:
        """Call a tool. It is never made twice, unless its server is trusted and says that it may be (CAP-009).

        A caller that is cancelled leaves at once, and the server is told to stop.
        """

    def register_secrets(self, secrets: Secrets) -> None:  # noqa: B027 - some have none
        """Tell a runtime's `Secrets` what must not leave; called when an agent with remote tools is prepared."""

    @overload
    def toolkit(
        self,
        server: str,
        tools: Collection[str] | None = None,
        *,
        needs_approval: Literal[True],
        approval: Ask[Mapping[str, JsonValue]] | None = None,
        prefix: str | None = None,
    ) -> Toolkit[Approval]: ...
    @overload
    def toolkit(
        self,
        server: str,
        tools: Collection[str] | None = None,
        *,
        needs_approval: Literal[False] = False,
        prefix: str | None = None,
    ) -> Toolkit[Never]: ...
    def toolkit(
        self,
        server: str,
        tools: Collection[str] | None = None,
        *,
        needs_approval: bool = False,
        approval: Ask[Mapping[str, JsonValue]] | None = None,
        prefix: str | None = None,
    ) -> Toolkit[Approval] | Toolkit[Never]:
        """Give a server's tools as a toolkit that holds this connection; for scripts that have connected already.

        Args:
            server: The server's name here.
            tools: Which of them; all that can be used without it.
            needs_approval: As for `@tool(...)`.
            approval: As for `@tool(...)`.
            prefix: What their names begin with instead of the server's name; empty leaves them as they are there.

        Raises:
            ConstructionError: The server or a tool is not there, or cannot be used; all of it.
        """
        from lamina.mcp._toolkit import bound_toolkit  # it needs this module

        return bound_toolkit(self, server, tools, needs_approval=needs_approval, approval=approval, prefix=prefix)
