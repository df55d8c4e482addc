"""What the protocol asks, one function each: translated for the surface, and its answer back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar, cast

import attrs
import mcp_types as wire
from mcp.server.connection import Connection
from mcp.server.subscriptions import ServerEvent
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from returns.result import Failure, Result

from lamina.adapters.mcp._callers import AskingCaller, Context, TellingCaller, can_be_asked, is_modern
from lamina.adapters.mcp._held import HeldCalls, binding_of
from lamina.adapters.mcp._options import Identity, McpLimits
from lamina.adapters.mcp._shapes import error_result, message_of, read_of, required_of, result_of
from lamina.adapters.mcp._view import View, Views
from lamina.call import (
    AgentResourceError,
    Caller,
    CallerFeature,
    Invocation,
    LogLevel,
    Outcome,
    PromptMessage,
    PromptRefused,
    ReadDefect,
    Signal,
    ToolDefect,
)
from lamina.effect import is_cancelled, log

P = TypeVar("P")
R = TypeVar("R")
IDENTITY = "lamina.identity"
"""Where a request's scope holds who calls."""
POLL_AFTER = "lamina.poll_after"
"""Where it holds after how many seconds the stream of a call ends."""
_RESOURCE_NOT_FOUND = -32002
_TOO_MANY = "Too many resources are watched"
_ASKS: frozenset[CallerFeature] = frozenset(("elicit", "sample", "roots"))


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


class Handlers:
    """The handlers of one server.

    Args:
        views: What each caller sees.
        limits: How far it goes.
        offered: What callers can be asked for.
    """

    def __init__(self, views: Views, limits: McpLimits, offered: frozenset[CallerFeature]) -> None:
        self._views = views
        self._limits = limits
        self._offered = offered
        self._calls = 0
        self.held = HeldCalls(limits.held, limits.patience)

    async def list_tools(self, ctx: Context, params: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
        """List what is available now."""
        _no_cursor(params)
        view = await self._view(ctx)
        available = await view.surface.available()
        return wire.ListToolsResult(tools=[tool for name, tool in view.tools.items() if name in available])

    async def call_tool(
        self, ctx: Context, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        """Call a capability; a client that cancels aborts it."""
        view = await self._view(ctx)
        _poll_later(ctx)
        if self._calls >= self._limits.calls:
            return error_result("Too many calls are running; try again later.")
        self._calls += 1
        try:
            return await self._call(ctx, view, params)
        finally:
            self._calls -= 1

    async def _call(
        self, ctx: Context, view: View, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        name, capability = params.name, view.capabilities.get(params.name)
        arguments: dict[str, Any] = params.arguments or {}
        signal = Signal()

        async def invoke(caller: Caller) -> Outcome:
            return await _invoke(view, name, arguments, ctx, signal, caller)

        asks = frozenset[CallerFeature]() if capability is None else capability.asks
        ended = await self._ask(ctx, view, params, (f"tool {name}", arguments), asks, signal, invoke)
        if isinstance(ended, wire.InputRequiredResult):
            return ended
        outcome = cast("Outcome", ended)
        self._refuse_unable(ctx, outcome)
        return result_of(view.surface, capability, name, outcome)

    async def _ask(
        self,
        ctx: Context,
        view: View,
        params: wire.InputResponseRequestParams,
        what: tuple[str, object],
        asks: frozenset[CallerFeature],
        signal: Signal,
        invoke: Callable[[Caller], Awaitable[object]],
    ) -> object:
        """Do something that may ask its caller, the way that the request's era has for it."""
        features = self._offered & {*asks, "progress", "log"}
        try:
            if not is_modern(ctx):
                return await invoke(AskingCaller(ctx, features, self._session(ctx).level, self._limits.patience))
            given = params.input_responses or {}
            if params.request_state is not None:
                return await self.held.resume(ctx, binding_of(view.key, *what), params.request_state, given)
            if asks & _ASKS:
                return await self.held.begin(ctx, features, binding_of(view.key, *what), signal, given, invoke)
            return await invoke(TellingCaller(ctx, features))
        except asyncio.CancelledError:
            signal.abort()  # whatever the surface has handed it to
            raise

    def _refuse_unable(self, ctx: Context, outcome: Outcome) -> None:
        """Tell a client of the newer era which of its capabilities it would have had to declare.

        Raises:
            MCPError: A handler passed on that its caller cannot be asked, and the client had not declared that it can.
        """
        required = required_of(outcome) if is_modern(ctx) else None
        if required is None:
            return
        able = can_be_asked(ctx)
        if required.elicitation is not None and "elicit" in able:
            return
        if required.sampling is not None and "sample" in able:
            return
        if required.roots is not None and "roots" in able:
            return
        data = wire.MissingRequiredClientCapabilityErrorData(required_capabilities=required)
        raise MCPError(
            wire.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "The client has not declared a capability that this call needs",
            data.model_dump(by_alias=True, mode="json", exclude_none=True),
        )

    async def list_resources(
        self, ctx: Context, params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourcesResult:
        """List the resources."""
        _no_cursor(params)
        return wire.ListResourcesResult(resources=(await self._view(ctx)).resources)

    async def list_templates(
        self, ctx: Context, params: wire.PaginatedRequestParams | None
    ) -> wire.ListResourceTemplatesResult:
        """List the templates."""
        _no_cursor(params)
        return wire.ListResourceTemplatesResult(resource_templates=(await self._view(ctx)).templates)

    async def read_resource(self, ctx: Context, params: wire.ReadResourceRequestParams) -> wire.ReadResourceResult:
        """Read a resource."""
        view = await self._view(ctx)
        scheme = view.scheme
        if scheme == "app" and not params.uri.startswith("app://"):
            raise MCPError(wire.INVALID_PARAMS, "resources/read requires an app:// uri")
        read = await view.surface.read(params.uri)
        if not isinstance(read, Failure):
            return read_of(read.unwrap())
        error = read.failure()
        if isinstance(error, ReadDefect):
            raise MCPError(wire.INTERNAL_ERROR, str(error))
        # The newer era has retired the number that the older one has for it.
        code = wire.INVALID_PARAMS if is_modern(ctx) else _RESOURCE_NOT_FOUND
        raise MCPError(code, str(error), {"uri": params.uri})

    async def list_prompts(self, ctx: Context, params: wire.PaginatedRequestParams | None) -> wire.ListPromptsResult:
        """List the prompts."""
        _no_cursor(params)
        return wire.ListPromptsResult(prompts=(await self._view(ctx)).prompts)

    async def get_prompt(
        self, ctx: Context, params: wire.GetPromptRequestParams
    ) -> wire.GetPromptResult | wire.InputRequiredResult:
        """Fill a prompt."""
        view, arguments = await self._view(ctx), params.arguments or {}
        prompt = next((each for each in view.surface.prompts if each.name == params.name), None)
        asks = frozenset[CallerFeature]() if prompt is None else prompt.asks

        async def fill(caller: Caller) -> object:
            return await view.surface.prompt(params.name, arguments, caller)

        ended = await self._ask(ctx, view, params, (f"prompt {params.name}", arguments), asks, Signal(), fill)
        if isinstance(ended, wire.InputRequiredResult):
            return ended
        filled = cast("Result[tuple[PromptMessage, ...], PromptRefused]", ended)
        if isinstance(filled, Failure):
            raise MCPError(wire.INVALID_PARAMS, str(filled.failure()))
        about = next((each.description for each in view.prompts if each.name == params.name), None)
        return wire.GetPromptResult(description=about, messages=[message_of(each) for each in filled.unwrap()])

    async def complete(self, ctx: Context, params: wire.CompleteRequestParams) -> wire.CompleteResult:
        """Complete an argument of a prompt or a template."""
        view, ref, argument = await self._view(ctx), params.ref, params.argument
        if isinstance(ref, wire.PromptReference):
            values = await view.surface.complete("prompt", ref.name, argument.name, argument.value)
        else:
            values = await view.surface.complete("template", ref.uri, argument.name, argument.value)
        shown = [*values[:100]]
        more = len(values) > len(shown)
        return wire.CompleteResult(
            completion=wire.Completion(values=shown, total=None if more else len(values), has_more=more)
        )

    # Changes.

    async def listen(
        self, ctx: Context, params: wire.SubscriptionsListenRequestParams
    ) -> wire.SubscriptionsListenResult:
        """Serve a stream of changes, in the newer era."""
        view, uris = await self._view(ctx), params.notifications.resource_subscriptions or ()
        if len(uris) > self._limits.watched:
            raise MCPError(wire.INVALID_PARAMS, _TOO_MANY)
        stop = await view.watcher.listen(_nobody, uris)
        try:
            return await view.listening(ctx, params)
        finally:
            stop()

    async def subscribe(self, ctx: Context, params: wire.SubscribeRequestParams) -> wire.EmptyResult:
        """Watch a resource for a session, in the older era."""
        session, view = await self._begun(ctx)
        if params.uri in session.uris:
            return wire.EmptyResult()
        if len(session.uris) >= self._limits.watched:
            raise MCPError(wire.INVALID_PARAMS, _TOO_MANY)
        read = await view.surface.read(params.uri)
        if isinstance(read, Failure) and isinstance(error := read.failure(), AgentResourceError):
            raise MCPError(_RESOURCE_NOT_FOUND, str(error), {"uri": params.uri})
        if params.uri not in session.uris:
            session.uris.add(params.uri)
            await view.watcher.watch(params.uri)
        return wire.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: wire.UnsubscribeRequestParams) -> wire.EmptyResult:
        """Watch it no more."""
        session, view = await self._begun(ctx)
        if params.uri in session.uris:
            session.uris.discard(params.uri)
            view.watcher.forget((params.uri,))
        return wire.EmptyResult()

    async def set_level(self, ctx: Context, params: wire.SetLevelRequestParams) -> wire.EmptyResult:
        """Remember which messages a session's client wants."""
        self._session(ctx).level = params.level
        return wire.EmptyResult()

    async def initialized(self, ctx: Context, params: wire.NotificationParams | None) -> None:
        """Begin to tell a session of changes."""
        session, view = await self._begun(ctx)
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

    # What all of them need.

    def _session(self, ctx: Context) -> Session:
        return cast("Session", _connection(ctx).state.setdefault("lamina", Session()))

    async def _begun(self, ctx: Context) -> tuple[Session, View]:
        """Give a session with its view; what it watches ends with its connection."""
        session = self._session(ctx)
        if session.view is None:
            view = await self._view(ctx)
            if session.view is None:  # nobody was faster
                session.view = view
                _connection(ctx).exit_stack.callback(_leave, session, view)
        return session, session.view

    async def _view(self, ctx: Context) -> View:
        request = ctx.request
        identity: Identity | None = None if request is None else request.scope.get(IDENTITY)
        return await self._views.of(identity)


def _leave(session: Session, view: View) -> None:
    if session.stop is not None:
        session.stop()
    view.watcher.forget(session.uris)
    session.uris.clear()


def contained(method: str, handler: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """Let nothing out of a handler but what it says itself: no text of an exception reaches a client, in any era."""

    @wraps(handler)
    async def handle(ctx: Context, params: P) -> R:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # The SDK would take it for an end of the whole session, and tell nobody.
            log().warning("handling a request was cancelled by something of its own", method=method)
            raise MCPError(wire.INTERNAL_ERROR, f"Handling {method} failed unexpectedly") from None
        except Exception:
            log().exception("handling a request broke", method=method)
            raise MCPError(wire.INTERNAL_ERROR, f"Handling {method} failed unexpectedly") from None

    return handle


async def _invoke(
    view: View, name: str, arguments: dict[str, Any], ctx: Context, signal: Signal, caller: Caller
) -> Outcome:
    invocation = Invocation.new("mcp", signal=signal, request=ctx.request_id)
    try:
        return await view.surface.invoke(name, arguments, invocation, caller)
    except Exception:
        log().exception("a surface broke", capability=name[:128])
        return ToolDefect("raised")


def _poll_later(ctx: Context) -> None:
    """Let a call's stream end before its answer, where the client can take it up again and was to do so."""
    seconds = None if ctx.request is None else ctx.request.scope.get(POLL_AFTER)
    close = ctx.close_sse_stream
    if seconds is not None and close is not None:

        async def later() -> None:
            await asyncio.sleep(seconds)
            await close()

        task = asyncio.create_task(later(), name="lamina mcp poll")
        current = asyncio.current_task()
        if current is not None:
            current.add_done_callback(lambda _: task.cancel())


def _connection(ctx: Context) -> Connection:
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage] - the SDK has no public handle on it


def _no_cursor(params: wire.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(wire.INVALID_PARAMS, "Unknown cursor")


def _nobody(event: ServerEvent) -> None: ...
