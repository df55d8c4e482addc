"""The short form, and tools whose schema is known only at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from annotated_types import Ge
from returns.result import Failure, Result, Success

from lamina.approval import Ask
from lamina.call import ToolInvalidInput, decode
from lamina.effect import ConstructionError
from lamina.schema import JsonValue
from lamina.tools import DynamicToolFailure, Tool, tool


@tool.simple
async def add(a: int, b: Annotated[int, Ge(0)] = 1) -> int:
    """Add two numbers."""
    return a + b


async def test_plain_parameters_are_the_input() -> None:
    decoded = decode(add.input, '{"a": 2}')
    assert not isinstance(decoded, ToolInvalidInput)
    assert await add.handler(decoded) == Success(3)
    assert (add.name, add.description, add.needs, add.failure) == ("add", "Add two numbers.", (), None)
    assert add.spec.input_schema["required"] == ["a"]


def test_plain_parameters_are_held_to_their_annotations() -> None:
    wrong = decode(add.input, '{"a": "2", "b": -1}')
    assert isinstance(wrong, ToolInvalidInput)
    assert [problem.split(":")[0] for problem in wrong.problems] == ["$.a", "$.b"]
    assert isinstance(decode(add.input, '{"a": 2, "c": 1}'), ToolInvalidInput)


async def test_the_short_form_takes_a_name_and_an_execution_class() -> None:
    @tool.simple(name="stamp", execution="readonly")
    async def now() -> str:
        return "now"

    decoded: Any = decode(now.input, "")
    assert (now.name, now.execution, now.where.file) == ("stamp", "readonly", __file__)
    assert await now.handler(decoded) == Success("now")


async def test_keyword_only_parameters_work_too() -> None:
    @tool.simple
    async def minus(a: int, *, b: int) -> int:
        return a - b

    decoded: Any = decode(minus.input, '{"a": 5, "b": 2}')
    assert await minus.handler(decoded) == Success(3)


def test_every_problem_of_a_plain_function_is_told() -> None:
    def odd(a, b: int, /, *rest: int):  # type: ignore[no-untyped-def]
        return 1

    with pytest.raises(ConstructionError) as refused:
        tool.simple(odd)

    (problem,) = refused.value.problems
    assert problem.lines[0].endswith(f"test_simple_and_dynamic.py:{odd.__code__.co_firstlineno}")
    assert problem.lines[1:] == (
        "parameter a has no annotation",
        "parameter rest is variadic",
        "parameter a is positional-only",
        "parameter b is positional-only",
        "a handler is `async def`; blocking work goes through anyio.to_thread.run_sync",
        "the return annotation is missing",
    )


def test_a_plain_function_returns_no_result() -> None:
    async def odd(a: int) -> Result[int, str]:
        return Success(1)

    with pytest.raises(ConstructionError, match=r"is made with `@tool\(\)`"):
        tool.simple(odd)


SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
    "additionalProperties": False,
}


async def ping(arguments: Mapping[str, JsonValue]) -> Result[JsonValue, DynamicToolFailure]:
    return Success({"pong": arguments["n"]}) if arguments["n"] != 13 else Failure(DynamicToolFailure("unlucky", [1]))


async def test_a_dynamic_tool_is_held_to_its_schema() -> None:
    made = Tool.dynamic("ping", SCHEMA, ping, description="Ping.", execution="readonly")

    assert (made.description, made.execution, made.spec.input_schema) == ("Ping.", "readonly", SCHEMA)
    assert decode(made.input, '{"n": 1}') == {"n": 1}
    refused = decode(made.input, '{"n": 0, "secret": "canary"}')
    assert isinstance(refused, ToolInvalidInput)
    assert sorted(refused.problems) == [
        "$.n: does not fit the schema's minimum",
        "$: does not fit the schema's additionalProperties",
    ]
    assert "canary" not in refused.message


@pytest.mark.parametrize("arguments", ["", "[]", "{", '{"n": NaN}', '{"n": 1, "n": 2}', "[" * 5_000])
def test_a_dynamic_tool_refuses_what_is_no_object_of_its_schema(arguments: str) -> None:
    assert isinstance(decode(Tool.dynamic("ping", SCHEMA, ping).input, arguments), ToolInvalidInput)


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "array"}, 'its "type" is not "object"'),
        ({"type": "object", "required": 1}, "at $.required it is no valid JSON Schema"),
        ({}, 'its "type" is not "object"'),
    ],
)
def test_a_schema_that_is_none_is_refused_at_its_place(schema: dict[str, JsonValue], line: str) -> None:
    with pytest.raises(ConstructionError) as refused:
        Tool.dynamic("ping", schema, ping)

    assert line in refused.value.problems[0].lines
    assert "test_simple_and_dynamic.py:" in str(refused.value)


def test_a_schema_that_refers_elsewhere_refuses_every_call_and_fetches_nothing() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "$ref": "http://127.0.0.1:9/schema.json"}
    made = Tool.dynamic("ping", schema, ping)

    assert decode(made.input, "{}") == ToolInvalidInput(("$: the tool's schema cannot be applied",))


def test_a_dynamic_tool_may_need_approval() -> None:
    assert Tool.dynamic("ping", SCHEMA, ping, needs_approval=True).ask == Ask()
    assert Tool.dynamic("ping", SCHEMA, ping, needs_approval=True, approval=Ask(risk="low")).ask == Ask(risk="low")
