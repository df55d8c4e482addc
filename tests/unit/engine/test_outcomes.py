"""What happened to a call, row by row of the design's table: the outcome, what the model is told, and the run."""

from __future__ import annotations

from typing import Any, Never

import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.approval import Approval, ScriptedApproval
from lamina.call import Allowed, Authorization, AuthorizationAnswer, AuthorizationRequest, NotAllowed
from lamina.effect import Try, bind
from lamina.engine import ApprovalDenied, Completed, ToolFailed
from lamina.model import ToolResult
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.unit.engine.world import (
    NoSuchWord,
    Word,
    agent_with,
    boom,
    echo,
    ended,
    look_up,
    must_look_up,
    told_in,
    write,
    write_or_end,
    wrong,
)


async def outcome_of(toolkit: Any, turn: Any, layer: Any = None) -> tuple[Result[Any, Any], list[ToolResult]]:
    """Run one batch and then an answer, and give how the run ended and what the model was told of the batch."""
    with ScriptedModel(turn, say("done")) as model:
        binding = agent_with(toolkit).on(model)
        builder: Any = RuntimeBuilder().agent(binding)
        async with build(builder if layer is None else builder.provide(layer)) as rt:
            result = await rt.run(binding, "go")
        return result, told_in(model.requests[-1])


def completed(result: Result[Any, Any]) -> Completed[Any]:
    assert isinstance(result, Success), result
    return result.unwrap()


async def test_a_value_is_told_as_it_is_and_the_run_goes_on() -> None:
    result, told = await outcome_of(echo, call_tool("echo", text="hi"))

    assert completed(result).output == "done"
    assert told == [ToolResult("call-1", "echo", "hi", is_error=False)]


async def test_a_declared_failure_is_told_encoded_and_the_run_goes_on() -> None:
    result, told = await outcome_of(look_up, call_tool("look_up", text="hi"))

    completed(result)
    assert told == [ToolResult("call-1", "look_up", {"_tag": "NoSuchWord", "text": "hi"}, is_error=True)]


async def test_a_declared_failure_ends_the_run_where_the_tool_says_so_and_siblings_keep_their_results() -> None:
    with ScriptedModel(call_tool("echo", text="a") & call_tool("must_look_up", text="b")) as model:
        binding = agent_with(echo | must_look_up).on(model)
        async with build(RuntimeBuilder().agent(binding)) as rt:
            result = await rt.run(binding, "go")

    assert isinstance(result, Failure)
    failure = result.failure()
    assert isinstance(failure.cause, ToolFailed)
    assert failure.cause.error == NoSuchWord("b")
    results = failure.report.history.messages[-1].results
    assert [(each.content, each.is_error) for each in results] == [
        ("a", False),
        ({"_tag": "NoSuchWord", "text": "b"}, True),
    ]


async def test_an_unknown_tool_is_told_with_the_nearest_names() -> None:
    result, told = await outcome_of(echo, call_tool("ecko", text="hi"))

    completed(result)
    assert told[0].is_error
    assert told[0].content == {
        "_tag": "ToolRejected",
        "reason": "no-such-tool",
        "message": "There is no tool of that name. Nearest: echo.",
    }


class Shop:
    def __init__(self, is_open: bool = False) -> None:
        self.is_open = is_open


async def open_now(shop: Shop) -> bool:
    return shop.is_open


@tool(execution="readonly", available=open_now)
async def buy(call: Word, ok: Try[Never]) -> str:
    """Buy something."""
    return call.text


@pytest.mark.parametrize(("is_open", "tag"), [(True, None), (False, "unavailable")])
async def test_an_unavailable_tool_is_refused_before_its_arguments_are_looked_at(
    is_open: bool, tag: str | None
) -> None:
    arguments: dict[str, Any] = {"text": "tea"} if is_open else {"nonsense": 1}
    result, told = await outcome_of(buy, call_tool("buy", **arguments), bind(Shop).value(Shop(is_open)))

    completed(result)
    assert (told[0].content["reason"] if tag else told[0].content) == (tag or "tea")


async def test_wrong_arguments_are_told_with_every_problem_and_no_value() -> None:
    result, told = await outcome_of(echo, call_tool("echo", text=5, other="secret"))

    completed(result)
    assert told[0].content["_tag"] == "ToolInvalidInput"
    assert len(told[0].content["problems"]) == 2
    assert "$.text: expected string" in told[0].content["problems"]
    assert "secret" not in str(told[0].content)


@pytest.mark.parametrize(
    "raw",
    ["{", "", "[]", "null", '{"text": NaN}', '{"text": "\\ud800"}', "[" * 20_000, '{"text": ' + "9" * 5000 + "}", "﻿{}"],
)
async def test_arguments_that_are_no_object_of_the_schema_are_told_to_the_model(raw: str) -> None:
    result, told = await outcome_of(echo, call_tool("echo", raw=raw))

    completed(result)
    assert told[0].content["_tag"] == "ToolInvalidInput"


class Guard(Authorization):
    def __init__(self) -> None:
        self.asked: list[AuthorizationRequest] = []

    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        self.asked.append(request)
        if request.input == Word("crash"):
            raise RuntimeError("canary")
        return Allowed() if request.input == Word("ok") else NotAllowed("Only ok is allowed.")


async def test_an_unauthorized_call_is_told_the_hosts_reason_and_decisions_come_in_declaration_order() -> None:
    guard = Guard()
    turn = call_tool("echo", text="no") & call_tool("echo", text="ok") & call_tool("echo", text="crash")
    result, told = await outcome_of(echo, turn, bind(Authorization).value(guard))

    completed(result)
    assert [request.input for request in guard.asked] == [Word("no"), Word("ok"), Word("crash")]
    assert told[0].content["message"] == "Only ok is allowed."
    assert told[1].content == "ok"
    assert told[2].content == {
        "_tag": "ToolRejected",
        "reason": "unauthorized",
        "message": "The call is not authorized.",
    }


async def test_a_recoverable_denial_is_told_and_the_run_goes_on() -> None:
    approval = ScriptedApproval([False])
    result, told = await outcome_of(write, call_tool("write", text="x"), bind(Approval).value(approval))

    completed(result)
    assert told[0].content["reason"] == "denied"
    assert approval.requests[0].summary == "Write x"


async def test_a_terminal_denial_ends_the_run_and_nothing_of_its_batch_starts() -> None:
    approval = ScriptedApproval([False])
    with ScriptedModel(call_tool("echo", text="a") & call_tool("write_or_end", text="x")) as model:
        binding = agent_with(echo | write_or_end).on(model)
        async with build(RuntimeBuilder().provide(bind(Approval).value(approval)).agent(binding)) as rt:
            result = await rt.run(binding, "go")

    failure = result.failure()
    assert isinstance(failure.cause, ApprovalDenied)
    reasons = [each.content["reason"] for each in failure.report.history.messages[-1].results]
    assert reasons == ["not-started", "denied"]


async def test_an_approved_call_runs() -> None:
    result, told = await outcome_of(write, call_tool("write", text="x"), bind(Approval).value(ScriptedApproval([True])))

    completed(result)
    assert told[0].content == "x"


@pytest.mark.parametrize("broken", [boom, wrong])
async def test_a_defect_is_told_in_one_fixed_sentence_and_siblings_keep_their_results(broken: Any) -> None:
    turn = call_tool("echo", text="a") & call_tool(broken.name, text="canary") & call_tool("echo", text="b")
    result, told = await outcome_of(echo | broken, turn)

    completed(result)
    assert [each.content for each in (told[0], told[2])] == ["a", "b"]
    assert told[1].content["_tag"] == "ToolDefect"
    assert "canary" not in str(told[1].content)


async def test_results_come_in_declaration_order_whatever_finishes_first() -> None:
    import asyncio

    gates = {"a": asyncio.Event(), "b": asyncio.Event()}

    @tool()
    async def wait(call: Word, ok: Try[Never]) -> str:
        """Wait for the one after."""
        if call.text in gates:
            await gates[call.text].wait()
        for gate in gates.values():
            gate.set()
        return call.text

    result, told = await outcome_of(
        wait, call_tool("wait", text="a") & call_tool("wait", text="b") & call_tool("wait", text="c")
    )

    completed(result)
    assert [each.content for each in told] == ["a", "b", "c"]


async def test_a_large_result_is_cut_and_says_so() -> None:
    result, told = await outcome_of(echo, call_tool("echo", text="x" * 60_000))

    completed(result)
    assert told[0].content["truncatedToolResult"] is True
    assert told[0].content["originalBytes"] == 60_002


@attrs.frozen
class Nothing:
    pass


async def test_a_handler_may_return_a_result_itself() -> None:
    @tool()
    async def fetch(call: Word) -> Result[int, NoSuchWord]:
        """Fetch."""
        return Success(1) if call.text == "one" else Failure(NoSuchWord(call.text))

    _, told = await outcome_of(fetch, call_tool("fetch", text="one") & call_tool("fetch", text="two"))

    assert [(each.content, each.is_error) for each in told] == [
        (1, False),
        ({"_tag": "NoSuchWord", "text": "two"}, True),
    ]


async def test_ended_gives_the_answer() -> None:
    model = ScriptedModel(say("hello"))
    async with build(RuntimeBuilder()) as rt:
        assert completed(await ended(rt, agent_with(), model)).output == "hello"
