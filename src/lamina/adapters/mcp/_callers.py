"""The `Caller` of a call, as far as the protocol's older era goes: the server asks its client while it works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import mcp_types as wire
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from returns.result import Failure, Result, Success

from lamina.call import Caller, CallerFeature, CallerUnable, Elicited, LogLevel, Root, Sampled, SampleRequest
from lamina.effect import log
from lamina.model import AssistantMessage, SystemMessage, Text, UserMessage
from lamina.schema import JsonValue, inline_defs

Context: TypeAlias = ServerRequestContext[Any, Any]  # Any: nobody's lifespan, and whatever request the transport has
R = TypeVar("R", wire.ElicitResult, wire.CreateMessageResult, wire.ListRootsResult)
_LEVELS: tuple[LogLevel, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_UNSAID = "the capability does not say that it asks for it"
_UNLOGGED = "the protocol's client is gone, or takes no messages; what was said to it is dropped"


def is_modern(ctx: Context) -> bool:
    """Tell whether a request is of the stateless era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_be_asked(ctx: Context) -> frozenset[CallerFeature]:
    """Say what the client of a request has declared."""
    declared = ctx.session.client_capabilities
    found: set[CallerFeature] = {"log"}
    if ctx.meta is not None and ctx.meta.get("progress_token") is not None:
        found.add("progress")
    if declared is not None and declared.elicitation is not None:
        found.add("elicit")
    if declared is not None and declared.sampling is not None:
        found.add("sample")
    if declared is not None and declared.roots is not None:
        found.add("roots")
    return frozenset(found)


class TellingCaller(Caller):
    """Is told of progress and of what is logged; cannot be asked anything."""

    def __init__(self, ctx: Context, features: frozenset[CallerFeature], level: LogLevel | None = None) -> None:
        self.features = features & can_be_asked(ctx)
        self.ctx = ctx
        self._level = level

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Send it, where the client asked for it."""
        try:
            await self.ctx.session.report_progress(done, total, message or None)
        except Exception:
            log().debug(_UNLOGGED, exc_info=True)

    async def log(self, level: LogLevel, data: JsonValue, logger: str = "") -> None:
        """Send it, where the client takes messages of that level."""
        ctx = self.ctx
        if level not in self._taken():
            return
        params = wire.LoggingMessageNotificationParams(level=level, data=data, logger=logger or None)
        try:
            await ctx.session.send_notification(wire.LoggingMessageNotification(params=params), ctx.request_id)
        except Exception:
            log().debug(_UNLOGGED, exc_info=True)

    def _taken(self) -> frozenset[str]:
        if is_modern(self.ctx):
            return frozenset(allowed_log_levels(self.ctx.protocol_version, self.ctx.meta))
        return frozenset(_LEVELS if self._level is None else _LEVELS[_LEVELS.index(self._level) :])

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        """Refuse."""
        return Failure(CallerUnable("elicit", _UNSAID))

    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        """Refuse."""
        return Failure(CallerUnable("sample", _UNSAID))

    async def roots(self, *, key: str | None = None) -> Result[tuple[Root, ...], CallerUnable]:
        """Refuse."""
        return Failure(CallerUnable("roots", _UNSAID))


class AskingCaller(TellingCaller):
    """Can be asked, with requests of the server's own.

    Args:
        ctx: The call's request.
        features: What the capability asks for, and the transport offers.
        level: What the client wants to be told at least.
        patience: Seconds that an answer is waited for.
    """

    def __init__(
        self, ctx: Context, features: frozenset[CallerFeature], level: LogLevel | None, patience: float
    ) -> None:
        super().__init__(ctx, features, level)
        self._patience = patience

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        """Ask the person at the client."""
        if "elicit" not in self.features:
            return Failure(unable(self.ctx, "elicit"))
        answer = await self._ask("elicit", lambda: elicitation(message, schema), wire.ElicitResult)
        return answer if isinstance(answer, Failure) else Success(elicited(answer.unwrap()))

    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        """Ask the client's model."""
        if "sample" not in self.features:
            return Failure(unable(self.ctx, "sample"))
        asked = sampling(request)
        if isinstance(asked, CallerUnable):
            return Failure(asked)
        answer = await self._ask("sample", lambda: asked, wire.CreateMessageResult)
        return answer if isinstance(answer, Failure) else sampled(answer.unwrap())

    async def roots(self, *, key: str | None = None) -> Result[tuple[Root, ...], CallerUnable]:
        """Ask which folders the client works in."""
        if "roots" not in self.features:
            return Failure(unable(self.ctx, "roots"))
        answer = await self._ask("roots", wire.ListRootsRequest, wire.ListRootsResult)
        return answer if isinstance(answer, Failure) else Success(roots_of(answer.unwrap()))

    async def _ask(
        self, feature: CallerFeature, make: Callable[[], wire.ServerRequest], kind: type[R]
    ) -> Result[R, CallerUnable]:
        ctx = self.ctx
        send: Callable[..., Awaitable[R]] = ctx.session.send_request
        metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            return Success(await send(make(), kind, self._patience, metadata))
        except MCPError as error:
            late = error.code == wire.REQUEST_TIMEOUT
            why = "it did not answer in time" if late else "it refused, or cannot be reached"
            return Failure(CallerUnable(feature, why))
        except ValidationError:
            return Failure(CallerUnable(feature, "its answer is not what the protocol says"))


def unable(ctx: Context, feature: CallerFeature) -> CallerUnable:
    """Say why a client is not asked."""
    if feature in can_be_asked(ctx):
        return CallerUnable(feature, _UNSAID)
    return CallerUnable(feature, "it does not offer that")


def elicitation(message: str, schema: Mapping[str, JsonValue]) -> wire.ElicitRequest:
    """Make the question; its form is an object of plain members, without references."""
    whole = inline_defs(schema)
    form: dict[str, Any] = {"type": "object", "properties": whole.get("properties", {})}
    if whole.get("required"):
        form["required"] = whole["required"]
    return wire.ElicitRequest(params=wire.ElicitRequestFormParams(message=message, requested_schema=form))


def elicited(result: wire.ElicitResult) -> Elicited:
    """Read an answer."""
    content: dict[str, JsonValue] = {}
    for key, value in (result.content or {}).items():
        content[key] = [*value] if isinstance(value, list) else value
    return Elicited(result.action, content)


def roots_of(result: wire.ListRootsResult) -> tuple[Root, ...]:
    """Read which folders the client works in."""
    return tuple(Root(uri=str(each.uri), name=each.name or "") for each in result.roots)


def sampling(request: SampleRequest) -> wire.CreateMessageRequest | CallerUnable:
    """Make a request for the client's model; only texts can be sent."""
    messages: list[wire.SamplingMessage] = []
    system = [] if request.system is None else [request.system]
    for message in request.messages:
        if isinstance(message, SystemMessage):
            system.append(message.text)
            continue
        if not isinstance(message, UserMessage | AssistantMessage) or any(
            not isinstance(part, Text) for part in message.parts
        ):
            return CallerUnable("sample", "only texts of a user and an assistant can be sent")
        role: Literal["user", "assistant"] = "user" if isinstance(message, UserMessage) else "assistant"
        messages.append(wire.SamplingMessage(role=role, content=wire.TextContent(text=message.text)))
    return wire.CreateMessageRequest(
        params=wire.CreateMessageRequestParams(
            messages=messages,
            max_tokens=request.max_tokens,
            system_prompt="\n\n".join(system) or None,
            temperature=request.temperature,
            stop_sequences=[*request.stop] or None,
        )
    )


def sampled(result: wire.CreateMessageResult) -> Result[Sampled, CallerUnable]:
    """Read the model's answer."""
    if not isinstance(result.content, wire.TextContent):
        return Failure(CallerUnable("sample", "its model answered with something that is no text"))
    return Success(Sampled(text=result.content.text, model=result.model, stop_reason=result.stop_reason))
