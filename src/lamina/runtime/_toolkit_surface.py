"""A toolkit in a runtime, as callers from outside see it (design §7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from returns.result import Failure, Result, Success

from lamina.call import (
    NOBODY,
    AgentResourceError,
    Caller,
    Invocation,
    Outcome,
    PromptMessage,
    PromptRefused,
    ReadDefect,
    ResourceContent,
    Surface,
    check_available,
)
from lamina.effect import log
from lamina.engine import Given
from lamina.runtime._changes import Changes
from lamina.runtime._dispatch import dispatch
from lamina.runtime._offering import PreparedOffering
from lamina.runtime._offers import OfferedPrompt, OfferedResource, completed, messages_of
from lamina.schema import JsonValue

LARGEST_CONTENTS = 4_194_304
"""Bytes of JSON that a result which is `Contents` may have, images and sounds in base64."""


class ToolkitSurface(Surface):
    """Serves the tools of a toolkit: each call is one request of the runtime, run inline."""

    def __init__(
        self,
        prepared: PreparedOffering,
        given: Callable[[Caller], Given],
        *,
        name: str,
        version: str,
        result_bytes: int,
        changes: Changes | None,
    ) -> None:
        self._prepared = prepared
        self._given = given
        self._result_bytes = result_bytes
        self._changes = changes
        self.name = name
        self.version = version
        self.capabilities = prepared.capabilities
        infos = [offered.info for offered, _ in prepared.resources]
        self.resources = tuple(info for info in infos if "{" not in info.uri)
        self.templates = tuple(info for info in infos if "{" in info.uri)
        self.prompts = tuple(offered.info for offered, _ in prepared.prompts.values())
        self._always = frozenset(each.name for each in self.capabilities if not each.conditional)

    async def available(self) -> frozenset[str]:
        """Give the names of the tools that may be used now."""
        if len(self._always) == len(self.capabilities):
            return self._always
        given, found = self._given(NOBODY), set(self._always)
        for name, tool in self._prepared.tools.items():
            if tool.available is not None and await check_available(partial(tool.available, None, given), name) is None:
                found.add(name)
        return frozenset(found)

    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Call a tool; see `Surface.invoke`."""
        tool = self._prepared.tools.get(name)
        limit = LARGEST_CONTENTS if tool is not None and tool.tool.contents else self._result_bytes
        return await dispatch(self._prepared, name, payload, invocation, self._given(caller), limit)

    async def read(self, uri: str) -> Result[ResourceContent, AgentResourceError | ReadDefect]:
        """Read a resource; what it fails with is told as its name only."""
        for offered, read in self._prepared.resources:
            arguments = offered.match(uri)
            if arguments is None:
                continue
            try:
                content = offered.content(uri, await read(arguments, self._given(NOBODY)))
            except Exception:
                log().exception("a resource broke", resource=offered.info.name)
                return Failure(ReadDefect(offered.info.name))
            if content is None:
                break
            secrets = self._prepared.secrets
            return Success(secrets.redact_in(content) if secrets.active else content)
        return Failure(AgentResourceError(uri[:2_048]))

    async def prompt(
        self, name: str, arguments: Mapping[str, str], caller: Caller = NOBODY
    ) -> Result[tuple[PromptMessage, ...], PromptRefused]:
        """Fill a prompt; what it fails with is told as its name only."""
        found = self._prepared.prompts.get(name)
        if found is None:
            return Failure(PromptRefused(f"No such prompt: {name[:128]}"))
        offered, write = found
        known = {each.name: each for each in offered.info.arguments}
        lines = [f"it takes no {each[:128]}" for each in arguments if each not in known]
        lines += [f"{each.name} is missing" for each in known.values() if each.required and each.name not in arguments]
        lines += [
            f"{each.name} is one of {', '.join(each.values)}"
            for each in known.values()
            if each.values and arguments.get(each.name, each.values[0]) not in each.values
        ]
        if lines:
            return Failure(PromptRefused(f'Invalid arguments for prompt "{name}": {"; ".join(lines)}'))
        try:
            answer = await write(arguments, self._given(caller))
            refused = answer if isinstance(answer, PromptRefused) else None
            messages = () if refused else messages_of(answer)
        except Exception:
            log().exception("a prompt broke", prompt=name)
            return Failure(PromptRefused(f'Prompt "{name}" failed unexpectedly'))
        secrets = self._prepared.secrets
        if refused is not None:
            return Failure(secrets.redact_in(refused) if secrets.active else refused)
        return Success(secrets.redact_in(messages) if secrets.active else messages)

    async def complete(
        self, kind: Literal["prompt", "template"], of: str, argument: str, begun: str
    ) -> tuple[str, ...]:
        """Give what an argument may be; nothing where what tells it breaks."""
        offered: OfferedPrompt | OfferedResource | None = None
        if kind == "prompt":
            found = self._prepared.prompts.get(of)
            offered = None if found is None else found[0]
        else:
            offered = next((each for each, _ in self._prepared.resources if each.info.uri == of), None)
        if offered is None:
            return ()
        try:
            values = await completed(offered.completions, argument, begun)
        except Exception:
            log().exception("a completion broke", of=offered.info.name, argument=argument[:128])
            return ()
        secrets = self._prepared.secrets
        return tuple(map(secrets.redact_text, values)) if secrets.active else values

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be told when something may have changed; never, where the surface was given no `Changes`."""
        return super().subscribe(listener) if self._changes is None else self._changes.subscribe(listener)
