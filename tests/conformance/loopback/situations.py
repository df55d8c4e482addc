"""The situations of the models' suite, over a server of the test's own."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import attrs

from lamina.effect import handler
from lamina.model import LanguageModel, ModelRequest, Usage, UserMessage, reduce
from lamina.testing import ModelSituations, Prepared
from tests.conformance.loopback.server import Loopback, Scenario

TEXT = "Hello, world"


@handler
async def ask(text: str, model: LanguageModel) -> tuple[LanguageModel, str]:
    """Give a runtime's model, and what it answers."""
    answered = await model.generate(ModelRequest((UserMessage.of(text),)))
    return model, reduce(answered.unwrap()).unwrap().text


class OverLoopback(ModelSituations):
    """An adapter, with a server that answers as each situation asks.

    Args:
        scenes: What the server says, a module of this folder.
        server: The server.
        model: Asks it.
        hasty: Asks it, and does not wait for long.
        alone: Asks where nobody is.
        parallel: Two calls at once.
        cached: What an answer costs whose prompt was cached.
    """

    def __init__(
        self,
        scenes: ModuleType,
        server: Loopback,
        model: LanguageModel,
        hasty: LanguageModel,
        alone: LanguageModel,
        *,
        parallel: Scenario,
        cached: Usage,
    ) -> None:
        self.scenes = scenes
        self.parallel = parallel
        self.cached = cached
        self.server = server
        self.model = model
        self.hasty = hasty
        self.alone = alone

    def _given(self, scenario: Scenario, **known: Any) -> Prepared:
        self.server.scenario = scenario
        self.server.next.clear()
        return Prepared(self.model, **known)

    async def plain_text(self) -> Prepared:
        return self._given(self.scenes.PLAIN, text=TEXT)

    async def empty(self) -> Prepared:
        return self._given(self.scenes.EMPTY)

    async def reasoning(self) -> Prepared:
        return self._given(self.scenes.REASONING)

    async def split_unicode(self) -> Prepared:
        return self._given(self.scenes.UNICODE, text="é€ 漢🙂")

    async def usage_last(self) -> Prepared:
        return self._given(self.scenes.PLAIN, usage=Usage(10, 5))

    async def cached_usage(self) -> Prepared:
        return self._given(self.scenes.CACHED_USAGE, usage=self.cached)

    async def parallel_calls(self) -> Prepared:
        calls = (("add", '{"x": 1, "y": 2}'), ("lookup", '{"key": "abc"}'))
        return self._given(self.parallel, calls=calls)

    async def text_and_call(self) -> Prepared:
        return self._given(self.scenes.TEXT_AND_CALL, calls=(("lookup", '{"key": "abc"}'),))

    async def structured_output(self) -> Prepared:
        return self._given(self.scenes.STRUCTURED, text='{"hello": "world"}')

    async def malformed_arguments(self) -> Prepared:
        return self._given(self.scenes.MALFORMED_ARGUMENTS, calls=(("add", '{"x": 1, "y": '),))

    async def cut_arguments(self) -> Prepared:
        return self._given(self.scenes.CUT_ARGUMENTS)

    async def content_filter(self) -> Prepared:
        return self._given(self.scenes.CONTENT_FILTER)

    async def unauthorized(self) -> Prepared:
        return self._given(self.scenes.UNAUTHORIZED)

    async def rate_limited(self) -> Prepared:
        return self._given(self.scenes.RATE_LIMITED)

    async def server_error(self) -> Prepared:
        return self._given(self.scenes.SERVER_ERROR)

    async def context_overflow(self) -> Prepared:
        return self._given(self.scenes.CONTEXT_OVERFLOW)

    async def invalid_request(self) -> Prepared:
        return self._given(self.scenes.INVALID_REQUEST)

    async def unreadable(self) -> Prepared:
        return self._given(self.scenes.UNREADABLE)

    async def error_midstream(self) -> Prepared:
        return self._given(self.scenes.ERROR_MIDSTREAM)

    async def no_connection(self) -> Prepared:
        return Prepared(self.alone)

    async def connection_lost(self) -> Prepared:
        return self._given(self.scenes.LOST)

    async def timed_out(self) -> Prepared:
        return attrs.evolve(self._given(self.scenes.HANGING), model=self.hasty)

    async def hanging(self) -> Prepared:
        prepared = self._given(self.scenes.PLAIN, text=TEXT)
        self.server.next.append(self.scenes.HANGING)
        return prepared

    async def released(self) -> bool:
        return await self.server.released()
