"""Surfaces and outcomes in the protocol's own types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import mcp_types as wire
import orjson
from mcp.shared.exceptions import MCPError
from returns.result import Failure

from lamina.call import (
    AudioContent,
    CallerUnable,
    Capability,
    ContentItem,
    Contents,
    DocumentContent,
    ImageContent,
    LinkContent,
    Outcome,
    Prompt,
    PromptMessage,
    ResourceContent,
    ResourceInfo,
    Surface,
    TextContent,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
)
from lamina.schema import JsonValue, canonical_json, codec

_CONTENTS: Final = codec(Contents)
_DIALECT = "$schema"


def tool_of(capability: Capability) -> wire.Tool:
    """Describe a capability; its execution class becomes hints."""
    execution = capability.execution
    readonly = execution == "readonly"
    output = capability.output_schema
    return wire.Tool(
        name=capability.name,
        title=capability.title or None,
        description=capability.description or None,
        input_schema={**capability.input_schema, "type": "object"},
        output_schema=None if output is None else _as_object(output),
        annotations=wire.ToolAnnotations(
            title=capability.title or None,
            read_only_hint=readonly,
            destructive_hint=False if readonly else None,
            idempotent_hint=readonly or execution == "idempotent",
        ),
    )


def is_wrapped(capability: Capability) -> bool:
    """Tell whether values are members of an object on the wire, since they are none themselves."""
    output = capability.output_schema
    return output is not None and output.get("type") != "object"


def _as_object(schema: Mapping[str, JsonValue]) -> dict[str, Any]:
    if schema.get("type") == "object":
        return dict(schema)
    body = {key: value for key, value in schema.items() if key not in (_DIALECT, "$defs")}
    made: dict[str, Any] = {"type": "object", "properties": {"result": body}, "required": ["result"]}
    return {**made, **{key: schema[key] for key in (_DIALECT, "$defs") if key in schema}}


def result_of(surface: Surface, capability: Capability | None, name: str, outcome: Outcome) -> wire.CallToolResult:
    """Give the answer to a call.

    Raises:
        MCPError: There is no such capability, or the arguments do not fit.
    """
    match outcome:
        case ToolSuccess():
            return _success(surface, capability, name, outcome)
        case ToolInvalidInput():
            raise MCPError(wire.INVALID_PARAMS, outcome.message)
        case ToolRejected():
            if outcome.reason == "no-such-tool":
                raise MCPError(wire.INVALID_PARAMS, outcome.message)
            return error_result(outcome.message)
        case ToolDefect(kind="raised" | "output"):
            return error_result(f'Capability "{name}" failed unexpectedly')
        case ToolFailure():
            return _failure(capability, outcome)
        case _:
            return error_result(outcome.message)


def error_result(text: str) -> wire.CallToolResult:
    """Give an answer that says what went wrong."""
    return wire.CallToolResult(content=[wire.TextContent(text=text)], is_error=True)


def _failure(capability: Capability | None, outcome: ToolFailure) -> wire.CallToolResult:
    """Give the sentence, and the value where it is what the capability's schema promises: an operation that failed."""
    told, value = error_result(outcome.message), outcome.value
    described = capability is not None and capability.output_schema is not None
    # What else a failure may hold is an error's own form, which has a tag, or the remains of what was too large.
    if described and isinstance(value, dict) and not value.keys() & {"_tag", "truncatedToolResult"}:
        told.structured_content = value
    return told


def required_of(outcome: Outcome) -> wire.ClientCapabilities | None:
    """Say what a client would have had to offer, where a handler passed on that it cannot be asked."""
    error = outcome.error if isinstance(outcome, ToolFailure) else None
    if not isinstance(error, CallerUnable):
        return None
    if error.feature == "elicit":
        return wire.ClientCapabilities(elicitation=wire.ElicitationCapability())
    if error.feature == "roots":
        return wire.ClientCapabilities(roots=wire.RootsCapability())
    return wire.ClientCapabilities(sampling=wire.SamplingCapability()) if error.feature == "sample" else None


def _success(surface: Surface, capability: Capability | None, name: str, outcome: ToolSuccess) -> wire.CallToolResult:
    value = outcome.value
    if capability is not None and capability.gives == "contents":
        decoded = _CONTENTS.decode(value)
        if not isinstance(decoded, Failure):
            return wire.CallToolResult(content=[content_of(item) for item in decoded.unwrap().content])
        return error_result(_cut(value))
    if isinstance(value, dict) and value.get("truncatedToolResult") is True:
        return error_result(_cut(value))
    structured: Any = value if isinstance(value, dict) else None
    if capability is not None and is_wrapped(capability):
        structured = {"result": value}
    text = surface.summary(name, outcome)
    if text is None:
        text = value if isinstance(value, str) else written(value)
    return wire.CallToolResult(content=[wire.TextContent(text=text)], structured_content=structured)


def _cut(value: JsonValue) -> str:
    return f"The call was done. Its result is larger than may be told, and was cut: {written(value)}"


def written(value: JsonValue) -> str:
    """Write a value as JSON."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer beyond 64 bits, which is JSON all the same
        return canonical_json(value).decode()


def content_of(item: ContentItem) -> wire.ContentBlock:
    """Give one item of content."""
    match item:
        case TextContent():
            return wire.TextContent(text=item.text)
        case ImageContent():
            return wire.ImageContent(data=item.data, mime_type=item.media_type)
        case AudioContent():
            return wire.AudioContent(data=item.data, mime_type=item.media_type)
        case LinkContent():
            return wire.ResourceLink(
                uri=item.uri, name=item.name, description=item.description or None, mime_type=item.media_type
            )
        case DocumentContent():
            return wire.EmbeddedResource(resource=_document(item.uri, item.media_type, item.text, item.blob))


def resource_of(info: ResourceInfo) -> wire.Resource:
    """Describe a resource."""
    return wire.Resource(
        uri=info.uri,
        name=info.name,
        title=info.title or None,
        description=info.description or None,
        mime_type=info.media_type,
    )


def template_of(info: ResourceInfo) -> wire.ResourceTemplate:
    """Describe a template."""
    return wire.ResourceTemplate(
        uri_template=info.uri,
        name=info.name,
        title=info.title or None,
        description=info.description or None,
        mime_type=info.media_type,
    )


def read_of(content: ResourceContent) -> wire.ReadResourceResult:
    """Give what was read."""
    return wire.ReadResourceResult(contents=[_document(content.uri, content.media_type, content.text, content.blob)])


def _document(
    uri: str, media_type: str | None, text: str | None, blob: str | None
) -> wire.TextResourceContents | wire.BlobResourceContents:
    if text is None and blob is not None:
        return wire.BlobResourceContents(uri=uri, mime_type=media_type, blob=blob)
    return wire.TextResourceContents(uri=uri, mime_type=media_type, text=text or "")


def prompt_of(prompt: Prompt) -> wire.Prompt:
    """Describe a prompt."""
    return wire.Prompt(
        name=prompt.name,
        title=prompt.title or None,
        description=prompt.description or None,
        arguments=[
            wire.PromptArgument(name=each.name, description=each.description or None, required=each.required)
            for each in prompt.arguments
        ],
    )


def message_of(message: PromptMessage) -> wire.PromptMessage:
    """Give one message of a prompt."""
    return wire.PromptMessage(role=message.role, content=content_of(message.content))


def plain(value: object) -> JsonValue:
    """Say of a value that it is JSON, which the wire's own types leave open."""
    return cast("JsonValue", value)
