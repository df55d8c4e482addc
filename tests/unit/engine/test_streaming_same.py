"""An observed run streams, another does not, and nothing else differs: result, history, counters, for every turn."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, ScriptedApproval
from lamina.effect import bind
from lamina.engine import TERMINAL, RunCompleted
from lamina.model import (
    ConnectionLost,
    File,
    Finish,
    Source,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolParamsDelta,
    ToolParamsEnd,
    ToolParamsStart,
    ToolResult,
    Usage,
)
from lamina.testing import call_tool, fail, give, raw, say, think
from tests.unit.engine.world import agent_with, boom, echo, look_up, must_look_up, run_turns, write

TURN = call_tool("echo", text="a")
END = Finish("stop", Usage(1, 1))


@attrs.frozen
class Verdict:
    score: int


SCRIPTS: dict[str, tuple[Any, ...]] = {
    "answer": (say("hello"),),
    "empty answer": (say(""),),
    "no parts": (raw(END),),
    "thought": (think("hm") & say("ok"),),
    "file": (give("image/png", b"x") & say("ok"),),
    "batch": (TURN & call_tool("boom", text="b") & call_tool("look_up", text="c"), say("done")),
    "text and calls": (say("let me see") & TURN, say("done")),
    "unknown tool": (call_tool("nope"), say("done")),
    "wrong arguments": (call_tool("echo", raw='{"text": NaN}'), say("done")),
    "cut arguments": (call_tool("echo", raw='{"text": "a'), say("done")),
    "truncated": (TURN.ending("length"),),
    "truncated text": (say("half").ending("length"),),
    "filtered": (say("x").ending("content-filter"),),
    "calls that say stop": (TURN.ending("stop"),),
    "no usage": (say("x").using(None),),
    "ending failure": (TURN & call_tool("must_look_up", text="x"),),
    "many turns": (*(TURN,) * 12, say("done")),
    "many calls": (TURN & TURN & TURN, *(TURN & TURN & TURN,) * 6, say("done")),
    "failure": (fail(ConnectionLost()), say("done")),
    "duplicate ids": (call_tool("echo", id="x", text="a") & call_tool("echo", id="x", text="b"),),
    "no finish": (raw(Text("a")),),
    "two finishes": (raw(Text("a"), END, END),),
    "after the finish": (raw(END, Text("a")),),
    "nothing": (raw(),),
    "unknown part": (raw("a part", END),),
    "delta of nothing": (raw(TextDelta("t", "x"), END),),
    "open text": (raw(TextStart("t"), TextDelta("t", "x"), END),),
    "streamed whole": (raw(TextStart("t"), TextDelta("t", "x"), TextEnd("t"), END),),
    "params without call": (raw(ToolParamsStart("c", "echo"), ToolParamsDelta("c", "{}"), ToolParamsEnd("c"), END),),
    "params that differ": (
        raw(ToolParamsStart("c", "echo"), ToolParamsDelta("c", "{}"), ToolParamsEnd("c"), ToolCall("c", "echo", "[]")),
    ),
    "surrogates": (raw(Text("\ud800"), END),),
    "result of nothing": (raw(ToolResult("c", "echo", 1, executor="provider"), END),),
    "provider call": (
        raw(ToolCall("p", "web", "{}", "provider"), ToolResult("p", "web", [1], executor="provider"), Text("a"), END),
    ),
    "provider call without result": (raw(ToolCall("p", "web", "{}", "provider"), Text("a"), END),),
    "source": (raw(Source("https://example.org"), Text("a"), END),),
    "odd usage": (raw(Text("a"), Finish("stop", Usage(-1, 1))),),
    "odd finish": (raw(Text("a"), Finish("sometimes", Usage(1, 1))),),  # type: ignore[arg-type]
    "file without content": (raw(File("image/png"), END),),
}


def comparable(result: Any) -> tuple[Any, ...]:
    """Everything of a result but the run's id."""
    ended = result.unwrap() if isinstance(result, Success) else result.failure()
    report = attrs.evolve(ended.report, run="")
    if isinstance(result, Failure):
        return "failed", ended.cause, report, report.history
    return "completed", ended.output, ended.exhausted, report, report.history


@pytest.mark.parametrize("output", [str, Verdict], ids=["text", "json"])
@pytest.mark.parametrize("script", list(SCRIPTS))
async def test_the_same_turns_come_to_the_same_end(script: str, output: Any) -> None:
    turns = SCRIPTS[script]
    if output is Verdict:
        turns = (*turns[:-1], say('{"score": "1"}'), say('{"score": 1}')) if len(turns) > 1 else turns
    agent = agent_with(echo | boom | look_up | must_look_up | write, output=output, model_retries=0)
    layer = bind(Approval).value(ScriptedApproval(lambda request: True))
    whole = await run_turns(None, *turns, agent=agent, layer=layer)
    streamed = await run_turns(None, *turns, agent=agent, layer=layer, observed=True)

    assert _without_run(comparable(whole.result)) == _without_run(comparable(streamed.result))
    assert whole.requests == streamed.requests
    assert streamed.history == comparable(streamed.result)[-1]
    assert [isinstance(event, TERMINAL) for event in streamed.events] == [*[False] * (len(streamed.events) - 1), True]
    assert isinstance(streamed.events[-1], RunCompleted) == isinstance(whole.result, Success)
    written = "".join(event.text for event in streamed.events if type(event).__name__ == "TextDelta")
    assert not isinstance(whole.result, Success) or output is Verdict or written.endswith(whole.result.unwrap().output)


def _without_run(compared: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take the run's id out of a cause that names a call."""
    cause = compared[1]
    if hasattr(cause, "key"):
        return (compared[0], attrs.evolve(cause, key=attrs.evolve(cause.key, run="")), *compared[2:])
    return compared
