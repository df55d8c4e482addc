"""A model that knows only its request notices whatever was dropped from it (TEST-016)."""

from __future__ import annotations

import attrs
import orjson
import pytest
from returns.result import Failure, Success

from lamina.model import (
    AssistantMessage,
    ContextOverflow,
    InvalidRequest,
    ModelError,
    ModelRequest,
    ModelResponse,
    OutputSpec,
    StreamPart,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
    reduce,
)
from lamina.schema import JsonValue
from lamina.testing import LiveShapedModel, Seen, Step, request_problem, see

ORDER = ToolSpec("order", "Find an order.", {"type": "object"})
PRICE = ToolSpec("price", "Price of an item.", {"type": "object"})
REFUND = ToolSpec("refund", "Refund an order.", {"type": "object"})
TASK = UserMessage.of("refund order 7 please")


def item(seen: Seen) -> JsonValue:
    order = seen.content("order")
    assert isinstance(order, dict)
    return order["item"]


MODEL = LiveShapedModel(
    [
        Step("order", lambda seen: {"number": int(seen.task.split()[2])}),
        Step("price", lambda seen: {"item": item(seen)}),
        Step("refund", lambda seen: {"amount": seen.content("price")}, when=lambda seen: "refund" in seen.task),
    ],
    answer=lambda seen: f"Refunded {seen.content('price')} for {item(seen)}.",
)


async def ask(request: ModelRequest, model: LiveShapedModel = MODEL) -> ModelResponse:
    answer = await model.generate(request)
    parts: list[StreamPart] = []
    assert await model.stream(request, parts.append) == Success(None)
    response = reduce(answer.unwrap()).unwrap()
    assert reduce(parts).unwrap() == response
    return response


def run(*results: JsonValue) -> ModelRequest:
    """The request after so many results, put together as an engine would."""
    names = ("order", "price", "refund")
    messages: list[UserMessage | AssistantMessage | ToolMessage] = [TASK]
    for name, content in zip(names, results, strict=False):
        key = f"call-{len(messages)}-1"
        messages += [
            AssistantMessage((ToolCall(key, name, "{}"),)),
            ToolMessage((ToolResult(key, name, content),)),
        ]
    return ModelRequest(tuple(messages), (ORDER, PRICE, REFUND))


ITEM: JsonValue = {"item": "lamp"}


async def test_it_goes_step_by_step_from_what_it_was_told() -> None:
    first = await ask(run())
    second = await ask(run(ITEM))
    third = await ask(run(ITEM, 25))
    last = await ask(run(ITEM, 25, "ok"))

    asked = [(call.name, orjson.loads(call.arguments)) for turn in (first, second, third) for call in turn.calls]
    assert asked == [("order", {"number": 7}), ("price", {"item": "lamp"}), ("refund", {"amount": 25})]
    assert (last.text, last.calls, last.finish) == ("Refunded 25 for lamp.", (), "stop")


async def test_ids_differ_from_turn_to_turn() -> None:
    ids = [call.id for request in (run(), run(ITEM), run(ITEM, 25)) for call in (await ask(request)).calls]

    assert len(set(ids)) == 3


async def test_steps_that_need_nothing_are_called_at_once() -> None:
    model = LiveShapedModel([Step("order", lambda _: {}), Step("price", lambda _: {})], answer=lambda _: "done")

    assert [call.name for call in (await ask(run(), model)).calls] == ["order", "price"]


async def test_a_dropped_tool_is_missed() -> None:
    request = attrs.evolve(run(ITEM), tools=(ORDER, REFUND))

    assert (await ask(request)).text == "I miss price."


async def test_a_dropped_result_is_refused() -> None:
    request = attrs.evolve(run(ITEM, 25), messages=run(ITEM, 25).messages[:-1])

    answer = await MODEL.generate(request)

    assert answer == await MODEL.stream(request, lambda _: None)
    assert answer == Failure(ModelError(InvalidRequest(), "the calls of the last message have no results"))


async def test_a_result_that_is_an_error_is_no_content() -> None:
    messages = (
        TASK,
        AssistantMessage((ToolCall("1", "order", "{}"),)),
        ToolMessage((ToolResult("1", "order", {"item": "lamp"}, is_error=True),)),
    )

    assert (await ask(ModelRequest(messages, (ORDER, PRICE)))).text == "I miss price."


async def test_no_tool_is_called_when_none_may_be() -> None:
    response = await ask(attrs.evolve(run(ITEM, 25), tool_choice="none"))

    assert (response.text, response.calls) == ("Refunded 25 for lamp.", ())


async def test_a_new_task_starts_anew_and_a_status_is_no_task() -> None:
    done = (*run(ITEM, 25, "ok").messages, AssistantMessage((Text("Refunded."),)))
    status = UserMessage.of("<run-status>turn 2/8</run-status>")

    assert see(ModelRequest((*done, UserMessage.of("price of order 8")))).results == {}
    assert (await ask(attrs.evolve(run(), messages=(*done[:-1], status)))).text == "Refunded 25 for lamp."


async def test_an_output_contract_is_answered_in_json() -> None:
    contract = OutputSpec("answer", {"type": "string"})

    assert (await ask(attrs.evolve(run(ITEM, 25, "ok"), output=contract))).text == '"Refunded 25 for lamp."'


async def test_its_context_overflows() -> None:
    small = LiveShapedModel([], answer=lambda _: "hi", context=20)
    long = ModelRequest((SystemMessage("x" * 400), UserMessage.of("y")))

    assert await small.generate(long) == Failure(ModelError(ContextOverflow()))
    assert (await ask(ModelRequest((UserMessage.of("y"),)), small)).text == "hi"


async def test_usage_grows_with_the_request() -> None:
    first, second = await ask(run()), await ask(run(ITEM, 25))

    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.input_tokens < second.usage.input_tokens


CALL, OTHER = ToolCall("1", "add", "{}"), ToolCall("2", "sub", "{}")
TWO = AssistantMessage((CALL, OTHER))


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (ModelRequest(()), "the request has no message"),
        (ModelRequest((TASK,), (ORDER, ORDER)), "two tools have the same name"),
        (ModelRequest((TASK,), (), "required"), "a tool is required, but there is none"),
        (ModelRequest((TASK, ToolMessage(()))), "message 1 holds results without calls before it"),
        (ModelRequest((TASK, TWO, TASK)), "the calls of message 1 have no results after them"),
        (ModelRequest((TASK, TWO)), "the calls of the last message have no results"),
        (
            ModelRequest((TASK, TWO, ToolMessage((ToolResult("2", "sub", 1), ToolResult("1", "add", 1))))),
            "the results of message 2 are not those of the calls before it, in their order",
        ),
        (
            ModelRequest((TASK, TWO, ToolMessage((ToolResult("1", "add", 1),)))),
            "the results of message 2 are not those of the calls before it, in their order",
        ),
        (ModelRequest((TASK, AssistantMessage((CALL, CALL)))), "two calls of message 1 have the same id"),
        (ModelRequest((TASK, AssistantMessage((Text("x"),)), TASK)), None),
        (ModelRequest((TASK, TWO, ToolMessage((ToolResult("1", "add", 1), ToolResult("2", "sub", 1))), TASK)), None),
        (ModelRequest((TASK, AssistantMessage((attrs.evolve(CALL, executor="provider"),)), TASK)), None),
    ],
)
def test_what_a_provider_would_refuse(request_: ModelRequest, problem: str | None) -> None:
    assert request_problem(request_) == problem
