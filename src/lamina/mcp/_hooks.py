"""What a server may ask of us: refused, unless the application has said who answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from lamina.effect import log
from lamina.mcp._servers import Elicitation, Sampling, ServerSpec
from lamina.mcp.port import McpCall
from lamina.model import AssistantMessage, Message, Text, UserMessage
from lamina.schema import JsonValue

if TYPE_CHECKING:
    import mcp_types as wire
    from mcp.client.session import ClientRequestContext

_LONGEST_LOG = 1_024
Asking: TypeAlias = Callable[[], tuple[McpCall | None, tuple[McpCall, ...]] | None]
"""Counts a question; tells for which call it is, as far as that is known, and which calls are under way. `None` is one
too many: a person's patience and a model's price are not the server's to spend without end."""


def callbacks_of(server: ServerSpec, asking: Asking) -> dict[str, Any]:  # Any: the SDK's own protocols of functions
    """Give the SDK the functions for what the application allows; it refuses, and does not offer, the rest.

    Args:
        server: What was allowed.
        asking: Counts a question, and tells for which call it is.
    """
    given: dict[str, Any] = {"logging_callback": _Logged(server.name)}
    if server.elicit is not None:
        given["elicitation_callback"] = _Elicits(server, asking)
    if server.sample is not None:
        given["sampling_callback"] = _Samples(server, asking)
    if server.roots is not None:
        given["list_roots_callback"] = _Roots(server.roots)
    return given


class _Elicits:
    def __init__(self, server: ServerSpec, asking: Asking) -> None:
        self._server = server
        self._asking = asking

    async def __call__(
        self, context: ClientRequestContext, params: wire.ElicitRequestParams
    ) -> wire.ElicitResult | wire.ErrorData:
        import mcp_types as wire

        hook = self._server.elicit
        assert hook is not None
        if (asked := self._asking()) is None:
            return _too_often()
        call, during = asked
        schema: Mapping[str, JsonValue] | None = None
        url: str | None = None
        if isinstance(params, wire.ElicitRequestURLParams):
            url = params.url
        else:
            schema = cast("Mapping[str, JsonValue]", params.requested_schema)
        question = Elicitation(
            server=self._server.name, message=params.message, schema=schema, url=url, call=call, during=during
        )
        try:
            answer = await hook(question)
        except Exception:
            log().exception("what answers an MCP server's question broke", server=self._server.name)
            return wire.ErrorData(code=wire.INTERNAL_ERROR, message="The question could not be answered")
        if answer.action != "accept" or schema is None:
            return wire.ElicitResult(action=answer.action)
        content: Any = {**_defaults(schema), **answer.content}
        return wire.ElicitResult(action="accept", content=content)


def _too_often() -> wire.ErrorData:
    import mcp_types as wire

    return wire.ErrorData(code=wire.INVALID_REQUEST, message="Too many questions")


def _defaults(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give what the form itself fills in where a person says nothing."""
    members = schema.get("properties")
    found: dict[str, JsonValue] = {}
    for name, member in members.items() if isinstance(members, dict) else ():
        if isinstance(member, dict) and "default" in member:
            found[name] = member["default"]
    return found


class _Samples:
    def __init__(self, server: ServerSpec, asking: Asking) -> None:
        self._server = server
        self._asking = asking

    async def __call__(
        self, context: ClientRequestContext, params: wire.CreateMessageRequestParams
    ) -> wire.CreateMessageResult | wire.ErrorData:
        import mcp_types as wire

        hook = self._server.sample
        assert hook is not None
        if (asked := self._asking()) is None:
            return _too_often()
        call, during = asked
        messages: list[Message] = []
        for each in params.messages:
            parts = each.content if isinstance(each.content, list) else [each.content]
            texts = [Text(part.text) for part in parts if isinstance(part, wire.TextContent)]
            if len(texts) != len(parts):
                return wire.ErrorData(code=wire.INVALID_PARAMS, message="Only texts can be sampled")
            messages.append(UserMessage(tuple(texts)) if each.role == "user" else AssistantMessage(tuple(texts)))
        request = Sampling(
            messages=tuple(messages),
            max_tokens=params.max_tokens,
            system=params.system_prompt,
            temperature=params.temperature,
            stop=tuple(params.stop_sequences or ()),
            server=self._server.name,
            call=call,
            during=during,
        )
        try:
            answer = await hook(request)
        except Exception:
            log().exception("what samples for an MCP server broke", server=self._server.name)
            return wire.ErrorData(code=wire.INTERNAL_ERROR, message="The model could not be asked")
        return wire.CreateMessageResult(
            role="assistant",
            content=wire.TextContent(text=answer.text),
            model=answer.model,
            stop_reason=answer.stop_reason,
        )


class _Roots:
    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots

    async def __call__(self, context: ClientRequestContext) -> wire.ListRootsResult:
        import mcp_types as wire

        made: list[Any] = [{"uri": root} for root in self._roots]  # Any: pydantic makes its own type of a uri
        return wire.ListRootsResult(roots=made)


class _Logged:
    """Puts what a server logs into the application's own log, cut."""

    def __init__(self, server: str) -> None:
        self._server = server

    async def __call__(self, params: wire.LoggingMessageNotificationParams) -> None:
        log().debug("an MCP server says", server=self._server, level=params.level, data=str(params.data)[:_LONGEST_LOG])
