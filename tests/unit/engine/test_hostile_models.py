"""Models that are malformed, huge, confused or hostile: typed, bounded, and told where the model can mend it."""

from __future__ import annotations

import time
from typing import Any, Never

import attrs
import pytest

from lamina.effect import Try
from lamina.engine import RunCompleted, ToolCallDeclared, ToolCallFailed, ToolCallSucceeded
from lamina.model import Finish, ModelProtocolError, Text, ToolCall, ToolResult, Usage
from lamina.schema import JsonValue
from lamina.testing import call_tool, raw, say
from lamina.tools import tool
from tests.unit.engine.world import Ran, echo, run_turns

END, CALLS = Finish("stop", Usage(1, 1)), Finish("tool-calls", Usage(1, 1))
OBSERVED = pytest.mark.parametrize("observed", [False, True])


def broken(ran: Ran) -> str:
    cause = ran.result.failure().cause
    assert isinstance(cause, ModelProtocolError), cause
    assert len(str(cause)) < 200
    assert len(ran.result.failure().report.history.messages) == 1, "nothing of the response is kept"
    assert not any(isinstance(event, ToolCallDeclared) for event in ran.events), "and no call of it is declared"
    return cause.rule


@OBSERVED
async def test_one_part_too_many(observed: bool) -> None:
    at_limit = await run_turns(None, raw(*[Text("a")] * 16_384, END), observed=observed)
    assert len(at_limit.result.unwrap().output) == 16_384

    ran = await run_turns(None, raw(*[Text("a")] * 16_385, END), observed=observed)
    assert broken(ran) == "too-many-parts"


@OBSERVED
async def test_one_byte_too_many(observed: bool) -> None:
    mebibyte = Text("é" * (512 * 1024))
    ran = await run_turns(None, raw(*[mebibyte] * 8, END), observed=observed)
    assert len(ran.result.unwrap().output) == 8 * 512 * 1024

    ran = await run_turns(None, raw(*[mebibyte] * 8, Text("a"), END), observed=observed)
    assert broken(ran) == "too-large"


@OBSERVED
async def test_two_calls_of_one_id_run_nothing(observed: bool) -> None:
    twice = call_tool("echo", id="x", text="a") & call_tool("echo", id="x", text="b")

    assert broken(await run_turns(echo, twice, observed=observed)) == "duplicate-call"


@OBSERVED
@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ((Text("\ud800"), END), "not-unicode"),
        ((ToolCall("a", "echo", "\udfff"), CALLS), "not-unicode"),
        ((ToolCall("", "echo", "{}"), CALLS), "identifier"),
        ((ToolCall("a", "", "{}"), CALLS), "identifier"),
        ((ToolCall("a" * 2_000, "echo", "{}"), CALLS), "identifier"),
        ((ToolCall("a", "echo", "{}", "somebody"), CALLS), "malformed-part"),  # type: ignore[arg-type]
        ((Text("a", {"x": float("nan")}), END), "not-json"),
        ((Text(b"a"), END), "malformed-part"),  # type: ignore[arg-type]
        ((None, END), "unknown-part"),
        ((Text("a"), END, END), "after-finish"),
        ((Text("a"),), "no-finish"),
        ((), "no-finish"),
        ((Text("a"), CALLS), "finish-reason"),
        ((ToolCall("a", "echo", "{}"), END), "finish-reason"),
        ((ToolCall("a", "echo", '{"text":'), Finish("length", Usage(1, 1))), "truncated"),
        ((Text("a"), Finish("pause", Usage(1, 1))), "finish-reason"),
        ((Text("a"), Finish("stop", Usage(True, 1))), "usage"),
    ],
)
async def test_what_breaks_a_rule_ends_the_run_by_its_name(parts: Any, rule: str, observed: bool) -> None:
    assert broken(await run_turns(echo, raw(*parts), observed=observed)) == rule


@attrs.frozen
class Anything:
    value: JsonValue


@tool(execution="readonly")
async def take(call: Anything, ok: Try[Never]) -> JsonValue:
    """Take anything."""
    return call.value


@pytest.mark.parametrize(
    "arguments",
    [
        '{"value": NaN}',
        '{"value": -Infinity}',
        '{"value": 1e400}',
        '{"value": "\\ud800"}',
        '{"value": ' + "[" * 65 + "]" * 65 + "}",
        "[" * 100_000,
        '{"value": ' + "9" * 5_000 + "}",
        '{"value": 1, "value": 2}',
        '{"value": 1} {"value": 2}',
        "\ufeff{}",
        '{"value": "' + "x" * 1_100_000 + '"}',
        "'value'",
        "null",
    ],
)
async def test_arguments_that_are_no_json_are_told_and_the_model_may_mend_them(arguments: str) -> None:
    turn = call_tool("take", raw=arguments) & call_tool("take", value="sibling")
    ran = await run_turns(take, turn, call_tool("take", value="mended"), say("done"), observed=True)

    assert ran.result.unwrap().output == "done"
    refused, sibling = ran.requests[1].messages[-1].results
    assert (refused.content["_tag"], sibling.content) == ("ToolInvalidInput", "sibling")
    assert len(str(refused.content)) < 500
    assert ran.told == ["mended"]


@pytest.mark.parametrize("depth", [60, 900])
async def test_a_deep_value_passes_or_is_refused_and_breaks_nothing(depth: int) -> None:
    arguments = '{"value": ' + "[" * depth + "]" * depth + "}"
    ran = await run_turns(take, call_tool("take", raw=arguments), say("done"), observed=True)

    assert ran.result.unwrap().output == "done"
    assert isinstance(ran.told[0], list if depth == 60 else dict)
    assert [event.to_json() for event in ran.events]


async def test_a_name_of_a_megabyte_is_refused_quickly_and_not_echoed() -> None:
    begun = time.process_time()
    ran = await run_turns(
        take, *[raw(ToolCall("a", "t" * 1_000, "{}"), CALLS)] * 3, say("done"), repeated_failure_limit=0
    )

    assert ran.told[0]["reason"] == "no-such-tool"
    assert len(str(ran.told[0])) < 300
    assert time.process_time() - begun < 5


async def test_a_batch_far_beyond_the_budget_runs_nothing_and_each_call_is_answered() -> None:
    parts = [ToolCall(f"c{number}", "echo", '{"text": "x"}') for number in range(5_000)]
    ran = await run_turns(echo, raw(*parts, CALLS), say("done"), max_tool_calls=20)

    assert ran.result.unwrap().exhausted == "tool-calls"
    assert ran.result.unwrap().report.tool_calls == 0
    assert len(ran.told) == 5_000


async def test_what_the_provider_ran_is_told_as_such_and_stays_in_the_answer() -> None:
    parts = (
        ToolCall("p", "web", '{"q": 1}', "provider"),
        ToolResult("p", "web", {"hits": 2}, executor="provider"),
        ToolCall("q", "web", "{}", "provider"),
        ToolResult("q", "web", "quota", is_error=True, executor="provider"),
        Text("found"),
        END,
    )
    ran = await run_turns(echo, raw(*parts), observed=True)

    assert ran.result.unwrap().output == "found"
    assert ran.history.messages[-1].parts == parts[:-1]
    told = [event for event in ran.events if isinstance(event, ToolCallDeclared | ToolCallSucceeded | ToolCallFailed)]
    assert [(type(event).__name__, event.call, event.provider_executed) for event in told] == [
        ("ToolCallDeclared", "p", True),
        ("ToolCallSucceeded", "p", True),
        ("ToolCallDeclared", "q", True),
        ("ToolCallFailed", "q", True),
    ]
    assert "quota" not in told[-1].message
    assert isinstance(ran.events[-1], RunCompleted)


async def test_what_the_provider_ran_counts_as_calls() -> None:
    one = (ToolCall("p", "web", "{}", "provider"), ToolResult("p", "web", 1, executor="provider"))
    turn = raw(*one, ToolCall("a", "echo", '{"text": "x"}'), CALLS)
    ran = await run_turns(
        echo, turn, raw(*one, ToolCall("a", "echo", '{"text": "x"}'), CALLS), say("done"), max_tool_calls=3
    )

    assert (ran.result.unwrap().exhausted, ran.result.unwrap().report.tool_calls) == ("tool-calls", 3)
    assert ran.told[0]["reason"] == "budget"
