"""The scripted model: every ending, every assertion, and the same state both ways (TEST-002)."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import attrs
import pytest
from returns.result import Failure, Success

from lamina.model import (
    Authentication,
    Finish,
    ModelError,
    ModelRequest,
    ModelResponse,
    ProviderDown,
    RateLimited,
    Reasoning,
    StreamPart,
    Text,
    TextDelta,
    TextStart,
    ToolCall,
    ToolSpec,
    Usage,
    UserMessage,
    reduce,
)
from lamina.testing import (
    HISTORY_REQUEST,
    PLAIN_REQUEST,
    SCRIPTED_USAGE,
    ScriptedModel,
    ScriptMismatch,
    Turn,
    call_tool,
    fail,
    give,
    hang,
    raw,
    say,
    think,
)

BOTH = say("Let me see. ") & call_tool("add", x=1, y=2) & call_tool("add", x=3, y=4)


async def whole(model: ScriptedModel, request: ModelRequest = PLAIN_REQUEST) -> ModelResponse:
    return reduce((await model.generate(request)).unwrap()).unwrap()


async def streamed(model: ScriptedModel, request: ModelRequest = PLAIN_REQUEST) -> ModelResponse:
    parts: list[StreamPart] = []
    assert await model.stream(request, parts.append) == Success(None)
    return reduce(parts).unwrap()


@pytest.mark.parametrize(
    "turn",
    [
        say("Hello, world: a text of some length"),
        say(""),
        BOTH,
        think("hm, hm, hm") & say("so"),
        call_tool("add", raw='{"x": 1'),
        call_tool("now"),
        give("image/png", b"\x00") & say("there"),
        say("cut").ending("length"),
        say("dear").using(Usage(1000, 100, cache_read_tokens=900)),
        say("free").using(None),
        Turn(()),
    ],
)
async def test_both_ways_give_the_same(turn: Turn) -> None:
    assert await whole(ScriptedModel(turn)) == await streamed(ScriptedModel(turn))


async def test_turns_are_put_together() -> None:
    response = await whole(ScriptedModel(think("hm") & BOTH))

    assert response.message.parts == (
        Reasoning("hm"),
        Text("Let me see. "),
        ToolCall("call-1", "add", '{"x":1,"y":2}'),
        ToolCall("call-2", "add", '{"x":3,"y":4}'),
    )
    assert (response.finish, response.usage) == ("tool-calls", SCRIPTED_USAGE)


async def test_put_together_keeps_what_either_said() -> None:
    usage = Usage(1, 1)
    seen: list[str] = []
    one = say("a").using(usage).ending("length").expecting(lambda _: seen.append("one"))
    two = say("b").expecting(lambda _: seen.append("two"))

    response = await whole(ScriptedModel(one & two))

    assert (response.text, response.usage, response.finish, seen) == ("ab", usage, "length", ["one", "two"])
    assert await ScriptedModel(say("a") & fail(Authentication())).generate(PLAIN_REQUEST) == Failure(
        ModelError(Authentication())
    )


async def test_calls_are_numbered_over_the_script_unless_they_are_named() -> None:
    model = ScriptedModel(call_tool("a") & call_tool("b", id="mine"), call_tool("c"))

    first, second = await whole(model), await whole(model)

    assert [call.id for call in (*first.calls, *second.calls)] == ["call-1", "mine", "call-3"]


async def test_a_stream_is_cut_the_same_way_each_time() -> None:
    parts: list[StreamPart] = []
    await ScriptedModel(say("abcdefg"), delta=3).stream(PLAIN_REQUEST, parts.append)

    assert [part.text for part in parts if isinstance(part, TextDelta)] == ["abc", "def", "g"]
    assert parts[0] == TextStart("part-0")


@pytest.mark.parametrize(
    ("turn", "kinds"),
    [
        (fail(RateLimited(2.0)), []),
        (say("abcdefghij").failing(RateLimited(2.0), after=0), []),
        (say("abcdefghij").failing(RateLimited(2.0), after=2), ["TextStart", "TextDelta"]),
        (say("abc").failing(RateLimited(2.0)), ["TextStart", "TextDelta", "TextEnd"]),
        (say("abc").failing(RateLimited(2.0), finished=True), ["TextStart", "TextDelta", "TextEnd", "Finish"]),
    ],
)
async def test_failing_before_during_and_after(turn: Turn, kinds: list[str]) -> None:
    parts: list[StreamPart] = []
    failure = Failure(ModelError(RateLimited(2.0)))

    assert await ScriptedModel(turn).stream(PLAIN_REQUEST, parts.append) == failure
    assert [type(part).__name__ for part in parts] == kinds
    assert await ScriptedModel(turn).generate(PLAIN_REQUEST) == failure


async def test_an_error_may_be_given_whole() -> None:
    error = ModelError(ProviderDown(503), "overloaded")

    assert await ScriptedModel(fail(error)).generate(PLAIN_REQUEST) == Failure(error)


@pytest.mark.parametrize(("turn", "before"), [(hang(), 0), (say("abcdefghij").hanging(after=2), 2)])
async def test_hanging_until_it_is_cancelled(turn: Turn, before: int) -> None:
    model = ScriptedModel(turn, turn)
    parts: list[StreamPart] = []
    tasks = (asyncio.create_task(model.stream(PLAIN_REQUEST, parts.append)), asyncio.create_task(whole(model)))
    await anyio.wait_all_tasks_blocked()
    assert (len(parts), model.open_calls, model.remaining) == (before, 2, 0)

    for task in tasks:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert model.open_calls == 0


async def test_raw_parts_are_served_as_they_are() -> None:
    hostile: tuple[Any, ...] = (TextDelta("never", "x"), "no part", Finish("stop"), Finish("stop"))
    parts: list[Any] = []
    model = ScriptedModel(raw(*hostile), raw(*hostile))

    await model.stream(PLAIN_REQUEST, parts.append)

    assert tuple(parts) == hostile
    assert tuple((await model.generate(PLAIN_REQUEST)).unwrap()) == hostile


async def test_what_was_asked_can_be_looked_at() -> None:
    model = ScriptedModel(say("a"), say("b"))
    await model.generate(PLAIN_REQUEST)

    assert (model.requests, model.remaining, model.open_calls) == ((PLAIN_REQUEST,), 1, 0)
    with pytest.raises(ScriptMismatch, match="1 of 2 scripted turns were not asked for"):
        model.assert_exhausted()

    await model.generate(HISTORY_REQUEST)

    model.assert_exhausted()
    assert model.requests == (PLAIN_REQUEST, HISTORY_REQUEST)


async def test_a_request_beyond_the_script_stays_a_mismatch() -> None:
    model = ScriptedModel(say("only"))
    await whole(model)

    for ask in (whole, streamed):
        with pytest.raises(ScriptMismatch, match="beyond the script, which has 1 turn"):
            await ask(model)
    with pytest.raises(ScriptMismatch, match="request 2 is beyond"):
        model.assert_exhausted()


def _has_tools(request: ModelRequest) -> None:
    assert request.tools, "no tools were offered"


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (lambda request: len(request.messages) == 1, "request 1 is not what its turn expected"),
        (_has_tools, "no tools were offered"),
    ],
)
async def test_a_request_is_held_to_its_turn(check: Any, why: str) -> None:
    for ask in (whole, streamed):
        model = ScriptedModel(say("x").expecting(check))
        with pytest.raises(ScriptMismatch, match=why):
            await ask(model)
        assert model.open_calls == 0
        # Contained or not on its way, it comes out at the end.
        with pytest.raises(ScriptMismatch, match=why):
            model.assert_exhausted()


async def test_a_request_that_was_expected_passes() -> None:
    tools = (ToolSpec("add", "", {}),)
    model = ScriptedModel(say("x").expecting(_has_tools).expecting(lambda request: request.tool_choice == "auto"))

    assert (await whole(model, attrs.evolve(PLAIN_REQUEST, tools=tools))).text == "x"
    model.assert_exhausted()


async def test_a_request_that_no_provider_would_take_is_a_mismatch() -> None:
    lost = ModelRequest((UserMessage.of("x"), (await whole(ScriptedModel(BOTH))).message))

    with pytest.raises(ScriptMismatch, match="the calls of the last message have no results"):
        await ScriptedModel(say("x")).generate(lost)
    assert (await whole(ScriptedModel(say("x"), check_requests=False), lost)).text == "x"


async def test_as_a_context_manager_it_checks_at_the_end() -> None:
    with pytest.raises(ScriptMismatch), ScriptedModel(say("x")):
        pass
    with pytest.raises(KeyError), ScriptedModel(say("x")):
        raise KeyError  # the test's own error is not hidden
    with ScriptedModel(say("x")) as model:
        await model.generate(PLAIN_REQUEST)


async def test_what_emit_raises_passes_and_nothing_stays_open() -> None:
    class Stop(BaseException):
        pass

    def emit(_: StreamPart) -> None:
        raise stop

    stop = Stop()
    model = ScriptedModel(say("x"))

    with pytest.raises(Stop) as raised:
        await model.stream(PLAIN_REQUEST, emit)

    assert raised.value is stop
    assert model.open_calls == 0
