"""A surface as one server shows it: what is listed, in the protocol's own types, and its changes."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable

import attrs
import mcp_types as wire
from mcp.server.subscriptions import ListenHandler

from lamina.adapters.mcp._callers import Context
from lamina.adapters.mcp._options import Identity, McpLimits, SurfaceFactory
from lamina.adapters.mcp._shapes import prompt_of, resource_of, template_of, tool_of
from lamina.adapters.mcp._watch import Watcher
from lamina.call import CallerFeature, Capability, Surface
from lamina.effect import ConstructionError, Problem

ADAPTER = "the MCP adapter"
IDENTITY = "lamina.identity"
"""Where a request's scope holds who calls."""


@attrs.frozen(eq=False)
class View:
    """What one caller sees.

    Attributes:
        key: Whose it is.
        surface: The surface.
        capabilities: By name.
        tools: The same, as they are listed.
        watcher: Looks for changes.
        listening: Serves streams of changes.
        scheme: The one that all its resources have, if there is one.
    """

    key: bytes
    surface: Surface
    capabilities: dict[str, Capability]
    tools: dict[str, wire.Tool]
    resources: list[wire.Resource]
    templates: list[wire.ResourceTemplate]
    prompts: list[wire.Prompt]
    watcher: Watcher
    listening: ListenHandler
    scheme: str | None


def view_of(surface: Surface, key: bytes, limits: McpLimits, offered: frozenset[CallerFeature]) -> View:
    """Look at a surface.

    Raises:
        ConstructionError: Its capabilities ask for more than the adapter offers.
    """
    refuse_what_asks_more(surface, offered)
    watcher = Watcher(surface, limits.debounce)
    infos = (*surface.resources, *surface.templates)
    schemes = {info.uri.partition("://")[0] for info in infos}
    return View(
        key=key,
        surface=surface,
        capabilities={each.name: each for each in surface.capabilities},
        tools={each.name: tool_of(each) for each in surface.capabilities},
        resources=[resource_of(info) for info in surface.resources],
        templates=[template_of(info) for info in surface.templates],
        prompts=[prompt_of(each) for each in surface.prompts],
        watcher=watcher,
        listening=ListenHandler(watcher.bus, max_subscriptions=limits.listeners),
        scheme=schemes.pop() if len(schemes) == 1 else None,
    )


def refuse_what_asks_more(surface: Surface, offered: frozenset[CallerFeature]) -> None:
    """Hold a surface to what the adapter can ask a caller for.

    Raises:
        ConstructionError: It asks for more; each capability, and the adapter, is named.
    """
    problems = [
        Problem(
            "CALLER",
            f"{kind} {each.name}",
            (
                f'of surface "{surface.name}" asks its caller for {", ".join(sorted(each.asks - offered))}',
                f"{ADAPTER} offers {', '.join(sorted(offered)) or 'nothing'} here",
            ),
            f"json_response=False, or another asks= of the {kind}",
        )
        for kind, found in (("capability", surface.capabilities), ("prompt", surface.prompts))
        for each in found
        if each.asks - offered
    ]
    if problems:
        raise ConstructionError(problems)


class Views:
    """The surfaces of a server's callers: one for all, or one for each, made when it is asked for.

    Args:
        source: The surface, or what makes one for a caller.
        limits: How many are kept.
        offered: What callers can be asked for.
    """

    def __init__(self, source: Surface | SurfaceFactory, limits: McpLimits, offered: frozenset[CallerFeature]) -> None:
        self._limits = limits
        self._offered = offered
        self._factory = None if isinstance(source, Surface) else source
        self.only = view_of(source, b"", limits, offered) if isinstance(source, Surface) else None
        self._views: OrderedDict[bytes, View] = OrderedDict()

    async def of(self, identity: Identity | None) -> View:
        """Give what a caller sees; one whose claims change gets a new surface."""
        factory = self._factory
        key = b"" if identity is None else identity.key
        if factory is None:
            assert self.only is not None
            return self.only if identity is None else attrs.evolve(self.only, key=key)
        found = self._views.get(key)
        if found is None:
            made: Surface | Awaitable[Surface] = factory(identity)
            surface = await made if inspect.isawaitable(made) else made
            found = self._views.setdefault(key, view_of(surface, key, self._limits, self._offered))
            while len(self._views) > self._limits.callers:
                self._views.popitem(last=False)  # whoever still listens to it holds it
        self._views.move_to_end(key)
        return found

    async def behind(self, ctx: Context) -> View:
        """Give what the caller of a request sees."""
        request = ctx.request
        identity: Identity | None = None if request is None else request.scope.get(IDENTITY)
        return await self.of(identity)

    def close(self) -> None:
        """End all streams, and tell nobody anything any more."""
        for view in (*self._views.values(), *([] if self.only is None else [self.only])):
            view.listening.close()
            view.watcher.close()
