"""A surface before another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from returns.result import Result

from lamina.call._caller import NOBODY, Caller
from lamina.call._invocation import Invocation
from lamina.call._outcome import Outcome, ToolSuccess
from lamina.call._surface import AgentResourceError, PromptMessage, PromptRefused, ReadDefect, ResourceContent, Surface
from lamina.schema import JsonValue


class ForwardingSurface(Surface):
    """Passes everything on to another surface.

    When to use: to change one thing about a surface, or to look on; override that alone.

    Args:
        inner: The surface.

    Example:
        >>> class Quiet(ForwardingSurface):
        ...     def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        ...         return None
    """

    def __init__(self, inner: Surface) -> None:
        self._inner = inner
        self.name = inner.name
        self.version = inner.version
        self.capabilities = inner.capabilities
        self.resources = inner.resources
        self.templates = inner.templates
        self.prompts = inner.prompts

    async def available(self) -> frozenset[str]:
        """Pass it on."""
        return await self._inner.available()

    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Pass it on."""
        return await self._inner.invoke(name, payload, invocation, caller)

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        """Pass it on."""
        return self._inner.summary(name, outcome)

    async def read(self, uri: str) -> Result[ResourceContent, AgentResourceError | ReadDefect]:
        """Pass it on."""
        return await self._inner.read(uri)

    async def prompt(
        self, name: str, arguments: Mapping[str, str], caller: Caller = NOBODY
    ) -> Result[tuple[PromptMessage, ...], PromptRefused]:
        """Pass it on."""
        return await self._inner.prompt(name, arguments, caller)

    async def complete(
        self, kind: Literal["prompt", "template"], of: str, argument: str, begun: str
    ) -> tuple[str, ...]:
        """Pass it on."""
        return await self._inner.complete(kind, of, argument, begun)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Pass it on."""
        return self._inner.subscribe(listener)
