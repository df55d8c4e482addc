"""A surface as a particular kind of host needs to see it."""

from __future__ import annotations

import re
from urllib.parse import quote

import attrs
import orjson
from returns.result import Failure, Result

from lamina.call._bound import bound
from lamina.call._caller import Caller
from lamina.call._forwarding import ForwardingSurface
from lamina.call._invocation import Invocation
from lamina.call._outcome import Outcome, ToolDefect, ToolFailure, ToolInvalidInput, ToolRejected, ToolSuccess
from lamina.call._surface import AgentResourceError, Capability, ReadDefect, ResourceContent, ResourceInfo, Surface
from lamina.schema import JsonValue
from lamina.schema import inline_defs as inlined

_AT_TIMES = "It is not available at every time; a call that comes at another time is refused."
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_BRACES = re.compile(r"\{(\w+)\}")


def presented(
    surface: Surface, *, list_all: bool = False, read_tools: bool = False, inline_defs: bool = False
) -> Surface:
    """Show a surface to hosts that see less than it offers.

    Args:
        surface: The surface, which is what it was.
        list_all: For hosts that list once: everything is listed, and what is not always there says so. A call of what
            is unavailable is refused as before.
        read_tools: For hosts that read no resources: each is also a readonly capability, `read_` and its name.
        inline_defs: For hosts that do not follow references: schemas have their `$defs` written out.

    Raises:
        ConstructionError: A resource's capability would have the name of another one.
    """
    return _Presented(surface, list_all=list_all, read_tools=read_tools, inline_defs=inline_defs)


class _Presented(ForwardingSurface):
    def __init__(self, inner: Surface, *, list_all: bool, read_tools: bool, inline_defs: bool) -> None:
        super().__init__(inner)
        self._list_all = list_all
        self._reads: dict[str, ResourceInfo] = {}
        shown = list(inner.capabilities)
        if read_tools:
            for info in (*inner.resources, *inner.templates):
                capability = _reading(info)
                self._reads[capability.name] = info
                shown.append(capability)
        if list_all:
            shown = [_always_listed(each) for each in shown]
        if inline_defs:
            shown = [_written_out(each) for each in shown]
        self.capabilities = _distinct(shown)

    async def available(self) -> frozenset[str]:
        """Give what is listed: all of it, where the host lists once."""
        if self._list_all:
            return frozenset(each.name for each in self.capabilities)
        return await self._inner.available() | self._reads.keys()

    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Read a resource, or pass the call on."""
        info = self._reads.get(name)
        if info is None:
            return await self._inner.invoke(name, payload, invocation, caller)
        if invocation.signal is not None and invocation.signal.aborted:
            return ToolRejected("not-started")
        uri = _filled(info.uri, {} if payload is None else payload)
        return bound(_outcome(await self._inner.read(uri))) if isinstance(uri, str) else uri

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        """Pass on what the surface says."""
        return None if name in self._reads else self._inner.summary(name, outcome)


def _reading(info: ResourceInfo) -> Capability:
    names = _BRACES.findall(info.uri)
    return Capability(
        name=f"read_{_NO_NAME.sub('_', info.name)}"[:128],
        description=info.description or f"Read {info.name}.",
        input_schema={
            "type": "object",
            "properties": {name: {"type": "string"} for name in names},
            "required": [*names],
            "additionalProperties": False,
        },
        title=info.title,
        execution="readonly",
    )


def _always_listed(capability: Capability) -> Capability:
    if not capability.conditional:
        return capability
    return attrs.evolve(capability, description=f"{capability.description} {_AT_TIMES}".lstrip())


def _written_out(capability: Capability) -> Capability:
    output = capability.output_schema
    return attrs.evolve(
        capability,
        input_schema=inlined(capability.input_schema),
        output_schema=None if output is None else inlined(output),
    )


def _distinct(capabilities: list[Capability]) -> tuple[Capability, ...]:
    from lamina.effect import ConstructionError, Problem  # only for a mistake

    names = [each.name for each in capabilities]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConstructionError(
            Problem("DUPLICATE", f"capability {name}", ("reading a resource has the name of a capability",))
            for name in twice
        )
    return tuple(capabilities)


def _filled(uri: str, payload: JsonValue) -> str | ToolInvalidInput:
    names = _BRACES.findall(uri)
    if not isinstance(payload, dict):
        return ToolInvalidInput(("$: expected object",))
    problems = [f"$.{key[:128]}: an undeclared key" for key in payload if key not in names]
    problems += [f"$.{name}: expected string" for name in names if not isinstance(payload.get(name), str)]
    if problems:
        return ToolInvalidInput(tuple(problems))
    return _BRACES.sub(lambda found: quote(str(payload[found[1]]), safe=""), uri)


def _outcome(read: Result[ResourceContent, AgentResourceError | ReadDefect]) -> Outcome:
    if isinstance(read, Failure):
        error = read.failure()
        if isinstance(error, ReadDefect):
            return ToolDefect("raised")
        return ToolFailure(error, {"_tag": "AgentResourceError", "resource": error.resource})
    content = read.unwrap()
    if content.text is None:
        return ToolSuccess({"media_type": content.media_type, "blob": content.blob})
    if "json" in content.media_type:
        try:
            return ToolSuccess(orjson.loads(content.text))
        except ValueError:
            pass
    return ToolSuccess(content.text)
