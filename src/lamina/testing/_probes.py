"""What is tried in each situation: both ways of asking, cancelling, an `emit` that raises, calls at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio

from lamina.model import (
    Authentication,
    ConnectionLost,
    ContextOverflow,
    InvalidOutput,
    InvalidRequest,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    ProviderDown,
    StreamPart,
    TextDelta,
    TimedOut,
)
from lamina.testing import _outcomes as it
from lamina.testing._situations import (
    HISTORY_REQUEST,
    OUTPUT_REQUEST,
    PLAIN_REQUEST,
    TOOLS_REQUEST,
    ModelSituations,
    Prepared,
)
from lamina.testing._suite import Broken, require

Prepare: TypeAlias = Callable[[], Awaitable[Prepared]]
Probe: TypeAlias = Callable[[ModelSituations, Prepare], Awaitable[None]]

# The situations of one request and one answer: what is asked, and what is demanded of the answer.
ANSWERS: dict[str, tuple[ModelRequest, it.Judge]] = {
    "plain_text": (PLAIN_REQUEST, it.answers),
    "empty": (PLAIN_REQUEST, it.answers_empty),
    "reasoning": (PLAIN_REQUEST, it.reasons),
    "split_unicode": (PLAIN_REQUEST, it.answers),
    "usage_last": (PLAIN_REQUEST, it.answers),
    "cached_usage": (PLAIN_REQUEST, it.answers),
    "parallel_calls": (TOOLS_REQUEST, it.calls(2)),
    "text_and_call": (TOOLS_REQUEST, it.calls_after_text),
    "structured_output": (OUTPUT_REQUEST, it.answers_json),
    "malformed_arguments": (TOOLS_REQUEST, it.calls(1)),
    "cut_arguments": (TOOLS_REQUEST, it.is_cut),
    "content_filter": (PLAIN_REQUEST, it.is_filtered),
    "unauthorized": (PLAIN_REQUEST, it.fails(Authentication)),
    "rate_limited": (PLAIN_REQUEST, it.fails_limited),
    "server_error": (PLAIN_REQUEST, it.fails(ProviderDown)),
    "context_overflow": (PLAIN_REQUEST, it.fails(ContextOverflow)),
    "invalid_request": (PLAIN_REQUEST, it.fails(InvalidRequest)),
    "unreadable": (PLAIN_REQUEST, it.fails(InvalidOutput)),
    "error_midstream": (PLAIN_REQUEST, it.fails()),
    "no_connection": (PLAIN_REQUEST, it.fails(ConnectionLost)),
    "connection_lost": (PLAIN_REQUEST, it.fails(ConnectionLost)),
    "timed_out": (PLAIN_REQUEST, it.fails(TimedOut)),
}


def probes_of(name: str) -> list[tuple[str, Probe]]:
    """Give the probes of a situation, each with its name."""
    if name == "hanging":
        return [("cancelled while streaming", _cancel_stream), ("cancelled while generating", _cancel_whole)]
    request, judge = ANSWERS[name]
    probes: list[tuple[str, Probe]] = [("both ways", _both(request, judge))]
    if name == "plain_text":
        probes += [
            ("deltas", _deltas),
            ("a long history", _both(HISTORY_REQUEST, judge)),
            ("emit raises", _emit_raises),
            ("calls at once", _at_once),
        ]
    return probes


def _both(request: ModelRequest, judge: it.Judge) -> Probe:
    async def probe(_: ModelSituations, prepare: Prepare) -> None:
        prepared = await prepare()
        whole = await it.ask_whole(prepared.model, request)
        judge(prepared, whole)
        prepared = await prepare()
        parts: list[StreamPart] = []
        streamed = await it.ask_streamed(prepared.model, request, parts)
        judge(prepared, streamed)
        if prepared.repeatable and isinstance(whole, ModelResponse) and isinstance(streamed, ModelResponse):
            same = it.without_metadata(whole) == it.without_metadata(streamed)
            require(same, f"a stream and a whole answer differ:\n  {streamed!r}\n  {whole!r}")
        count = len(parts)
        await anyio.wait_all_tasks_blocked()
        require(len(parts) == count, "a part was emitted after the call had ended")

    return probe


async def _deltas(_: ModelSituations, prepare: Prepare) -> None:
    parts: list[StreamPart] = []
    await it.ask_streamed((await prepare()).model, PLAIN_REQUEST, parts)
    require(sum(isinstance(part, TextDelta) for part in parts) > 1, "the text came in fewer than two deltas")


class _Stop(BaseException):
    """Raised by `emit`, as the engine does to end a stream; an adapter knows nothing of it."""


async def _emit_raises(situations: ModelSituations, prepare: Prepare) -> None:
    parts: list[StreamPart] = []
    await it.ask_streamed((await prepare()).model, PLAIN_REQUEST, parts)
    for place in sorted({0, len(parts) // 2, len(parts) - 1}):
        stop = _Stop()
        left = place

        def emit(_: StreamPart, stop: _Stop = stop) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise stop

        prepared = await prepare()
        try:
            await prepared.model.stream(PLAIN_REQUEST, emit)
        except _Stop as passed:
            require(passed is stop, "what emit raised was replaced")
        except BaseExceptionGroup:
            raise Broken("what emit raised came out in a group") from None
        else:
            raise Broken(f"what emit raised at part {place} did not come out")
        require(left == -1, "emit was called again after it had raised")
        require(await situations.released(), "something is still held after emit had raised")
        it.answers(prepared, await it.ask_streamed(prepared.model, PLAIN_REQUEST))


async def _at_once(_: ModelSituations, prepare: Prepare) -> None:
    prepared = await prepare()
    outcomes: list[it.Outcome] = []
    raised: list[Exception] = []

    async def one(ask: Callable[[LanguageModel, ModelRequest], Awaitable[it.Outcome]]) -> None:
        # Kept aside, for a task group would wrap it.
        try:
            outcomes.append(await ask(prepared.model, PLAIN_REQUEST))
        except Exception as error:
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        for ask in (it.ask_streamed, it.ask_whole, it.ask_streamed):
            tasks.start_soon(one, ask)
    for error in raised:
        raise error
    for outcome in outcomes:
        it.answers(prepared, outcome)


async def _cancel_stream(situations: ModelSituations, prepare: Prepare) -> None:
    prepared = await prepare()
    begun = anyio.Event()
    await _cancelled(lambda: prepared.model.stream(PLAIN_REQUEST, lambda _: begun.set()), begun.wait)
    require(await situations.released(), "something is still held after the call was cancelled")
    it.answers(prepared, await it.ask_streamed(prepared.model, PLAIN_REQUEST))


async def _cancel_whole(situations: ModelSituations, prepare: Prepare) -> None:
    prepared = await prepare()
    await _cancelled(lambda: prepared.model.generate(PLAIN_REQUEST), anyio.wait_all_tasks_blocked)
    require(await situations.released(), "something is still held after the call was cancelled")
    it.answers(prepared, await it.ask_whole(prepared.model, PLAIN_REQUEST))


async def _cancelled(start: Callable[[], Awaitable[object]], begun: Callable[[], Awaitable[object]]) -> None:
    ended: list[object] = []

    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            try:
                ended.append(await start())
            except Exception as error:  # kept aside, for the task group would wrap it
                ended.append(error)
            tasks.cancel_scope.cancel()

        tasks.start_soon(run)
        await begun()
        tasks.cancel_scope.cancel()
    for end in ended:
        if isinstance(end, Exception):
            raise end
    require(not ended, "the call ended by itself, or swallowed its cancellation")
