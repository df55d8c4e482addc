"""What the SDK gives, as values of ours: identities, tools, results."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import orjson

from lamina.call import (
    AudioContent,
    ContentItem,
    Contents,
    DocumentContent,
    ExecutionClass,
    ImageContent,
    LinkContent,
    TextContent,
)
from lamina.mcp._errors import McpMisbehaved, McpTooLarge, McpToolFailed
from lamina.mcp._process import TOO_LARGE
from lamina.mcp._schemas import ToolSchemas
from lamina.mcp.port import RemoteResult, RemoteTool, ServerIdentity
from lamina.schema import JsonValue, canonical_json, is_json

if TYPE_CHECKING:
    import mcp_types as wire
    from mcp import Client, MCPError

LONGEST_DESCRIPTION = 8_192


def identity_of(client: Client) -> ServerIdentity:
    """Read who the server says it is."""
    info = client.server_info
    return ServerIdentity(
        name="" if info is None else info.name[:256],
        version="" if info is None else info.version[:256],
        title="" if info is None else (info.title or "")[:256],
        protocol=client.protocol_version,
        instructions=(client.instructions or "")[:LONGEST_DESCRIPTION],
    )


def tool_of(server: str, tool: wire.Tool, digest: str, schemas: ToolSchemas, *, trusted: bool) -> RemoteTool:
    """Read a tool as it is advertised."""
    annotations = tool.annotations
    said = {} if annotations is None else annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
    return RemoteTool(
        server=server,
        name=tool.name,
        description=(tool.description or "")[:LONGEST_DESCRIPTION],
        title=(tool.title or ("" if annotations is None else annotations.title) or "")[:256],
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        execution=_execution(annotations) if trusted else "uncertain",
        annotations=cast("Mapping[str, JsonValue]", said) if is_json(said) else {},
        digest=digest,
        schemas=schemas,
    )


def digest_of(tool: wire.Tool) -> str:
    """Give what tells a tool from others of its name."""
    told: JsonValue = [tool.name, tool.input_schema, tool.output_schema]
    return hashlib.sha256(canonical_json(told)).hexdigest()


def _execution(annotations: wire.ToolAnnotations | None) -> ExecutionClass:
    if annotations is None:
        return "uncertain"
    if annotations.read_only_hint:
        return "readonly"
    return "idempotent" if annotations.idempotent_hint else "uncertain"


def result_of(
    server: str, tool: str, result: wire.CallToolResult, limit: int
) -> RemoteResult | McpToolFailed | McpTooLarge | McpMisbehaved:
    """Read what a tool gave; one that says that it failed is a failure."""
    structured: object = result.structured_content
    if structured is not None and not is_json(structured):  # NaN, or nested without end
        return McpMisbehaved(server, tool)
    content = tuple(content_of(block) for block in result.content)
    size = sum(_size(item) for item in content) + (0 if structured is None else len(canonical_json(structured)))
    if size > limit:
        return McpTooLarge(server, tool, "The answer", limit)
    if result.is_error:
        return McpToolFailed(server, tool, content, structured)
    return RemoteResult(contents=Contents(content), structured=structured, original=result)


def content_of(block: wire.ContentBlock) -> ContentItem:
    """Read one item of content as what it is."""
    import mcp_types as wire

    match block:
        case wire.TextContent():
            return TextContent(block.text)
        case wire.ImageContent():
            return ImageContent(block.data, block.mime_type)
        case wire.AudioContent():
            return AudioContent(block.data, block.mime_type)
        case wire.ResourceLink():
            return LinkContent(
                uri=block.uri, name=block.name, description=block.description or "", media_type=block.mime_type
            )
        case wire.EmbeddedResource():
            held = block.resource
            if isinstance(held, wire.TextResourceContents):
                return DocumentContent(uri=held.uri, media_type=held.mime_type, text=held.text)
            return DocumentContent(uri=held.uri, media_type=held.mime_type, blob=held.blob)


def is_too_large(error: MCPError) -> bool:
    """Tell whether an error stands for an answer that was too long to be read."""
    return error.code == TOO_LARGE or any(said in error.message for said in _TOO_LARGE)


# How the SDK spells what its transport makes of an answer over HTTP; seen in mcp 2.3, and held by the tests.
_TOO_LARGE = ("lamina: the answer is too large", "Server-sent event exceeded the ")


def size_of(value: object) -> int:
    """Count the bytes of a JSON value."""
    try:
        return len(orjson.dumps(value))
    except TypeError:  # an integer beyond 64 bits, or a lone surrogate
        return len(canonical_json(cast("JsonValue", value)))


def _size(item: Any) -> int:  # Any: one of the kinds, each with texts of its own
    return sum(len(text) for text in (getattr(item, name, None) for name in _TEXTS) if isinstance(text, str))


_TEXTS = ("text", "data", "blob", "uri", "name", "description")
