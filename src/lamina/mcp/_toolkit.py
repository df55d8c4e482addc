"""Remote tools as tools: bound now, to a connection that is up, or named now and bound when a runtime prepares them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, cast, overload

import attrs
from returns.result import Failure, Result, Success

from lamina.approval import Approval, Ask
from lamina.call import Caller, CallerFeature, ContentItem, Contents, OutcomeUnknown, TextContent
from lamina.effect import ConstructionError, Need, Problem, Where, caller_where, log
from lamina.mcp._errors import (
    McpCallError,
    McpConnectionLost,
    McpMisbehaved,
    McpOutcomeUnknown,
    McpRefused,
    McpTimedOut,
    McpTooLarge,
    McpToolChanged,
    McpToolFailed,
)
from lamina.mcp._names import is_server_name, qualified
from lamina.mcp._schemas import RemoteCodec, ToolSchemas, read_schemas
from lamina.mcp.port import McpCall, McpConnections, RemoteResult, RemoteTool, TellProgress
from lamina.model import ToolSpec
from lamina.redaction import Secrets
from lamina.schema import Codec, JsonValue, canonical_json, codec
from lamina.tools import Late, Tool, Toolkit, ToolOptions, dynamic_tool

_CONNECTIONS: Final = Need("connections", McpConnections)
_CALLER: Final = Need("caller", Caller)
_PROGRESS: Final[frozenset[CallerFeature]] = frozenset(("progress",))
_CONTENTS: Codec[Contents] = codec(Contents)
_FAILURES: Codec[Any] = codec(
    McpConnectionLost | McpTimedOut | McpToolChanged | McpRefused | McpTooLarge | McpMisbehaved | McpToolFailed
)
Found = Result[tuple[Tool[Any, Any, Any], ...], tuple[Problem, ...]]


@attrs.frozen(kw_only=True)
class _Wanted:
    """What was asked for, and how its tools are to be made."""

    server: str
    tools: tuple[str, ...] | None
    prefix: str
    ask: Ask[Any] | None
    caller: bool
    where: Where


@overload
def remote_toolkit(
    server: str,
    tools: Collection[str] | None = None,
    *,
    needs_approval: Literal[False] = False,
    caller: Literal[False] = False,
    prefix: str | None = None,
) -> Toolkit[McpConnections]: ...
@overload
def remote_toolkit(
    server: str,
    tools: Collection[str] | None = None,
    *,
    needs_approval: Literal[True],
    approval: Ask[Mapping[str, JsonValue]] | None = None,
    caller: Literal[False] = False,
    prefix: str | None = None,
) -> Toolkit[McpConnections | Approval]: ...
@overload
def remote_toolkit(
    server: str,
    tools: Collection[str] | None = None,
    *,
    needs_approval: Literal[False] = False,
    caller: Literal[True],
    prefix: str | None = None,
) -> Toolkit[McpConnections | Caller]: ...
@overload
def remote_toolkit(
    server: str,
    tools: Collection[str] | None = None,
    *,
    needs_approval: Literal[True],
    approval: Ask[Mapping[str, JsonValue]] | None = None,
    caller: Literal[True],
    prefix: str | None = None,
) -> Toolkit[McpConnections | Approval | Caller]: ...
def remote_toolkit(
    server: str,
    tools: Collection[str] | None = None,
    *,
    needs_approval: bool = False,
    approval: Ask[Mapping[str, JsonValue]] | None = None,
    caller: bool = False,
    prefix: str | None = None,
) -> Toolkit[Any]:
    """Declare that an agent uses tools of an MCP server, before anybody has connected to it.

    The toolkit needs `McpConnections`. Names, descriptions and schemas are those that the server advertises when the
    runtime opens; a tool that is named here and is not there then, or cannot be used, is a `ConstructionError`, before
    any model is asked. What was bound is held to: where the server has another tool of that name later, the call is
    refused with `McpToolChanged`.

    Args:
        server: The server's name, of `stdio_server` or `http_server`.
        tools: The names there of those that are required, and used; without it, whatever it offers then.
        needs_approval: As for `@tool(...)`, for all of them; put two toolkits together where some do not.
        approval: As for `@tool(...)`; its functions take the arguments as plain JSON.
        caller: Tell the call's `Caller` how far the server is; the runtime needs that seed then.
        prefix: What the tools' names begin with instead of the server's name; empty leaves them as they are there.

    Raises:
        ConstructionError: An argument is no good.

    Example:
        >>> remote_toolkit("github", {"create_issue", "list_issues"})
        Toolkit(github__create_issue, github__list_issues)
    """
    where = caller_where()
    wanted = _wanted(server, tools, needs_approval, approval, caller, prefix, where)
    if wanted.tools is None:
        return Toolkit([_placeholder(wanted, f"{server}__*", f"All tools of the MCP server {server}.")])
    names = [(name, qualified(wanted.prefix, name)) for name in wanted.tools]
    return Toolkit(
        _placeholder(attrs.evolve(wanted, tools=(name,)), shown, f"{name} of the MCP server {server}.")
        for name, shown in names
    )


def bound_toolkit(
    connections: McpConnections,
    server: str,
    tools: Collection[str] | None,
    *,
    needs_approval: bool,
    approval: Ask[Mapping[str, JsonValue]] | None,
    prefix: str | None,
) -> Toolkit[Any]:
    """Give the tools of a connection that is up; see `McpConnections.toolkit`."""
    wanted = _wanted(server, tools, needs_approval, approval, False, prefix, caller_where())
    found = _find(connections, wanted, held=True)
    if isinstance(found, Failure):
        raise ConstructionError(found.failure())
    return Toolkit(found.unwrap())


def _wanted(
    server: str,
    tools: Collection[str] | None,
    needs_approval: bool,
    approval: Ask[Any] | None,
    caller: bool,
    prefix: str | None,
    where: Where,
) -> _Wanted:
    lines: list[str] = []
    if not is_server_name(server):
        lines.append(f'"{server[:64]}" is no name of a server')
    if prefix and not is_server_name(prefix):
        lines.append("prefix is made like the name of a server, or empty")
    if isinstance(tools, str) or (tools is not None and not all(tools)):
        lines.append("tools is a collection of names")
    if approval is not None and not needs_approval:
        lines.append("approval= is given without needs_approval=True")
    if lines:
        raise ConstructionError([Problem("TOOLKIT", f'remote tools of "{server[:64]}"', (*lines, str(where)))])
    return _Wanted(
        server=server,
        tools=None if tools is None else tuple(sorted(set(tools))),
        prefix=server if prefix is None else prefix,
        ask=(approval or Ask()) if needs_approval else None,
        caller=caller,
        where=where,
    )


def _placeholder(wanted: _Wanted, name: str, description: str) -> Tool[Any, Any, Any]:
    """Make what stands for a tool until a runtime prepares it: it carries the needs, and is never called."""

    def find(connections: McpConnections, secrets: Secrets) -> Found:
        connections.register_secrets(secrets)
        return _find(connections, wanted, held=False)

    return Tool(
        name=name,
        description=description,
        where=wanted.where,
        execution="uncertain",
        failure_mode="return",
        ask=wanted.ask,
        needs=(_CONNECTIONS, _CALLER) if wanted.caller else (_CONNECTIONS,),
        handler=_never_called,
        input=_ANYTHING,
        success=_ANYTHING,
        failure=None,
        available=None,
        available_needs=(),
        max_concurrency=None,
        groups=(),
        spec=ToolSpec(name, description, {"type": "object"}),
        asks=_PROGRESS if wanted.caller else frozenset(),
        late=Late(key=McpConnections, find=find),
    )


_ANYTHING: Codec[JsonValue] = codec(JsonValue)


async def _never_called(_: object, *services: object) -> object:
    raise RuntimeError("a remote tool was called that no runtime has prepared")


def _find(connections: McpConnections, wanted: _Wanted, *, held: bool) -> Found:
    """Bind what is wanted, or list all that is missing."""
    line = f"remote_toolkit  {wanted.where}"
    known = connections.server(wanted.server)
    if known is None:
        write = f'| mcp_connections(stdio_server("{wanted.server}", ...))'
        lines = (line, f"connected: {', '.join(connections.names) or 'nothing'}")
        return Failure((Problem("MISSING", f'MCP server "{wanted.server}"', lines, write),))
    if known.state != "up":
        return Failure((Problem("MISSING", f'MCP server "{wanted.server}"', (line, f"not connected: {known.why}")),))
    offered = {tool.name: tool for tool in known.tools}
    problems: list[Problem] = []
    made: dict[str, Tool[Any, Any, Any]] = {}
    for name in offered if wanted.tools is None else wanted.tools:
        subject = f'remote tool {name[:64]} of "{wanted.server}"'
        if name not in offered:
            near = get_close_matches(name, offered, 3)
            why = known.refused.get(name) or (f"nearest: {', '.join(near)}" if near else "the server does not offer it")
            problems.append(Problem("MISSING", subject, (line, why)))
            continue
        try:
            tool = _bind(offered[name], wanted, connections if held else None)
        except ConstructionError as error:
            if wanted.tools is not None:
                problems.extend(error.problems)
            else:  # of all that a server offers, what can be used is used
                reasons = [line for problem in error.problems for line in problem.lines]
                log().warning(
                    "a tool of an MCP server cannot be used", server=wanted.server, tool=name[:64], why=reasons
                )
            continue
        if tool.name in made:
            problems.append(Problem("DUPLICATE", subject, (line, f"another tool is called {tool.name}, too")))
        made[tool.name] = tool
    return Failure(tuple(problems)) if problems else Success(tuple(made.values()))


def _bind(remote: RemoteTool, wanted: _Wanted, held: McpConnections | None) -> Tool[Any, Any, Any]:
    name = qualified(wanted.prefix, remote.name)
    call = _Calls(remote, held)
    needs = () if held is not None else (_CONNECTIONS, _CALLER) if wanted.caller else (_CONNECTIONS,)
    schemas = _schemas_of(remote, name, wanted.where)
    success: Codec[Any] = _CONTENTS
    if remote.output_schema is not None:
        assert schemas.output is not None
        success = RemoteCodec(remote.output_schema, schemas.output, f"the value of tool {name}", any_type=True)
    return dynamic_tool(
        name,
        remote.input_schema,
        call,
        description=remote.description,
        options=ToolOptions(
            ask=wanted.ask,
            title=remote.title,
            execution=remote.execution,
            asks=_PROGRESS if wanted.caller else None,
        ),
        needs=needs,
        input=RemoteCodec(remote.input_schema, schemas.input, f"the input of tool {name}"),
        success=success,
        failure=_FAILURES,
        where=wanted.where,
    )


def _schemas_of(remote: RemoteTool, name: str, where: Where) -> ToolSchemas:
    """Give what was read of its schemas, or read them; who listed a tool has often read them already.

    Raises:
        ConstructionError: They cannot be applied.
    """
    if remote.schemas is not None:
        return remote.schemas
    read = read_schemas(remote.input_schema, remote.output_schema)
    if isinstance(read, Failure):
        raise ConstructionError([Problem("SCHEMA", f"tool {name}", (*read.failure(), str(where)))])
    return read.unwrap()


class _Calls:
    """The handler of a remote tool."""

    __slots__ = ("_held", "_remote")

    def __init__(self, remote: RemoteTool, held: McpConnections | None) -> None:
        self._remote = remote
        self._held = held

    async def __call__(
        self,
        arguments: Mapping[str, JsonValue],
        connections: McpConnections | None = None,
        caller: Caller | None = None,
    ) -> Result[object, McpCallError | OutcomeUnknown]:
        """Call it once, and tell what became of it."""
        remote, through = self._remote, self._held or connections
        assert through is not None
        answered = await through.call(
            McpCall(
                server=remote.server,
                tool=remote.name,
                arguments=arguments,
                digest=remote.digest,
                progress=None if caller is None else _telling(caller),
            )
        )
        if isinstance(answered, Failure):
            error = answered.failure()
            return Failure(OutcomeUnknown() if isinstance(error, McpOutcomeUnknown) else error)
        result = answered.unwrap()
        return Success(_contents(result) if remote.output_schema is None else result.structured)


def _telling(caller: Caller) -> TellProgress:
    async def tell(done: float, total: float | None, message: str) -> None:
        await caller.progress(done, total, message)

    return tell


def _contents(result: RemoteResult) -> Contents:
    """Give the content; a structured value that nobody promised is told where there is nothing else."""
    if result.contents.content or result.structured is None:
        return result.contents
    item: ContentItem = TextContent(canonical_json(cast("JsonValue", result.structured)).decode())
    return Contents((item,))
