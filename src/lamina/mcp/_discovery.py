"""Reading the whole list of a server's tools, within limits (seed 004 §8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import attrs
from returns.result import Failure, Result, Success

from lamina.effect import log
from lamina.mcp._errors import LONGEST_TEXT, McpDiscoveryFailed
from lamina.mcp._results import digest_of, is_too_large, size_of, tool_of
from lamina.mcp._schemas import ToolSchemas, read_schemas
from lamina.mcp._servers import ServerSpec
from lamina.mcp.port import RemoteTool
from lamina.schema import is_json

if TYPE_CHECKING:
    import mcp_types as wire
    from mcp import Client

_LONGEST_NAME = 256
_MOST_TOLD = 32


@attrs.frozen(eq=False)
class Catalogue:
    """What a server offers.

    Attributes:
        tools: By their names there, in the server's order.
        refused: Why the others cannot be used, by their names.
    """

    tools: Mapping[str, RemoteTool]
    refused: Mapping[str, str]


async def discover(
    client: Client, server: ServerSpec, known: Catalogue | None = None
) -> Result[Catalogue, McpDiscoveryFailed]:
    """Read every page of the list; a cursor that comes again, or a list without end, is a failure.

    Args:
        client: The SDK's client.
        server: What was connected to.
        known: What it offered before; what is the same is not read again.

    Raises:
        MCPError: The connection is lost.
    """
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED
    from pydantic import ValidationError

    if client.server_capabilities.tools is None:
        return Success(Catalogue({}, {}))
    try:
        with anyio.fail_after(server.limits.discovery):
            return await _pages(client, server, known)
    except TimeoutError:
        return Failure(McpDiscoveryFailed(server.name, f"it took longer than {server.limits.discovery:g} s"))
    except ValidationError:
        return Failure(McpDiscoveryFailed(server.name, "a page is not what the protocol says"))
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise
        if is_too_large(error):
            return Failure(
                McpDiscoveryFailed(server.name, f"a page is larger than {server.limits.message_bytes} bytes")
            )
        return Failure(McpDiscoveryFailed(server.name, f"it refused: {error.message[:LONGEST_TEXT]}"))


async def _pages(client: Client, server: ServerSpec, known: Catalogue | None) -> Result[Catalogue, McpDiscoveryFailed]:
    from mcp_types import PaginatedRequestParams

    limits = server.limits
    found: list[wire.Tool] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(limits.pages):
        page = await client.session.list_tools(params=None if cursor is None else PaginatedRequestParams(cursor=cursor))
        found += page.tools
        if len(found) > limits.tools:
            return Failure(McpDiscoveryFailed(server.name, f"it has more than {limits.tools} tools"))
        cursor = page.next_cursor
        if not cursor:  # some servers spell the end of the list as an empty one
            return Success(await _catalogue(found, server, known))
        if cursor in seen:
            return Failure(McpDiscoveryFailed(server.name, "it gave the cursor of a page again"))
        seen.add(cursor)
    return Failure(McpDiscoveryFailed(server.name, f"it has more than {limits.pages} pages"))


async def _catalogue(found: list[wire.Tool], server: ServerSpec, known: Catalogue | None) -> Catalogue:
    before = {} if known is None else {tool.digest: tool.schemas for tool in known.tools.values()}
    tools: dict[str, RemoteTool] = {}
    refused: dict[str, str] = {}
    unapplied: list[str] = []
    for each in found:
        await anyio.lowlevel.checkpoint()  # reading a schema has its bound, and there may be many
        name = each.name
        why = _why_not(each, server)
        if name in tools or name in refused:
            # Which of the two is meant nobody can tell, whatever their order.
            tools.pop(name, None)
            refused[name[:_LONGEST_NAME]] = "two tools have this name"
        elif why is not None:
            refused[name[:_LONGEST_NAME]] = why
        else:
            digest = digest_of(each)
            schemas = before.get(digest) or read_schemas(each.input_schema, each.output_schema)
            if isinstance(schemas, Failure):
                refused[name] = "; ".join(schemas.failure())
                continue
            read = schemas if isinstance(schemas, ToolSchemas) else schemas.unwrap()
            tools[name] = tool_of(server.name, each, digest, read, trusted=server.trust_annotations)
            unapplied += [f"{name} {at}" for at in read.unapplied]
    if refused:
        log().warning("an MCP server has tools that cannot be used", server=server.name, tools=refused)
    if unapplied:
        told = unapplied[:_MOST_TOLD]
        log().warning("expressions in an MCP server's schemas are not applied", server=server.name, at=told)
    return Catalogue(tools, refused)


def _why_not(tool: wire.Tool, server: ServerSpec) -> str | None:
    if not 0 < len(tool.name) <= _LONGEST_NAME:
        return f"its name has more than {_LONGEST_NAME} characters, or none"
    if not is_json([tool.name, tool.input_schema, tool.output_schema]):
        return "its schemas are no JSON, or nested too deeply"
    for what, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
        if schema is not None and size_of(schema) > server.limits.schema_bytes:
            return f"its {what} schema is larger than {server.limits.schema_bytes} bytes"
    if tool.input_schema.get("type") != "object":
        return "its input is no object"
    return None
