"""The agent as data, and its binding: what is refused, and what it declares."""

from __future__ import annotations

from typing import Any, Never

import attrs
import pytest

from lamina.agent import Agent, Binding
from lamina.approval import Approval
from lamina.audit import Audit
from lamina.call import Authorization
from lamina.conversation import Conversations, Journal
from lamina.effect import Clock, ConstructionError, Ids, Try
from lamina.model import LanguageModel
from lamina.redaction import Secrets
from lamina.steering import Steering
from lamina.telemetry import Telemetry
from lamina.testing import ScriptedModel
from lamina.tools import tool
from tests.unit.engine.world import Word, echo, policy, write


class Shop:
    pass


@attrs.frozen
class Odd:
    shop: Shop


def agent(name: str = "tester", **changes: Any) -> Agent[Any, Any, Any]:
    return Agent(name, **{"instructions": "Test.", "policy": policy(), **changes})


def test_an_agent_has_neither_model_nor_tools_unless_it_is_given_them() -> None:
    made = agent()

    assert made.toolkit.tools == ()
    assert (made.plain_input, made.plain_output) == (True, True)
    assert made.where.file == __file__
    assert agent(toolkit=echo).toolkit.tools == (echo,)


def test_json_inputs_and_outputs_have_a_codec() -> None:
    made = agent(input=Word, output=list[int])

    assert (made.input.type, made.output.type) == (Word, list[int])
    assert (made.plain_input, made.plain_output) == (False, False)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 129])
def test_an_id_is_short_and_printable(name: str) -> None:
    with pytest.raises(ConstructionError, match=r"an id has 1 to 128 printable characters  .*test_agent.py:\d+"):
        agent(name)


@pytest.mark.parametrize("role", ["input", "output"])
def test_an_input_or_output_that_cannot_be_described_is_refused_at_its_place(role: str) -> None:
    with pytest.raises(ConstructionError) as refused:
        agent(**{role: Odd})

    (problem,) = refused.value.problems
    assert problem.subject == f'the {role} of agent "tester" cannot be described'
    assert "test_agent.py:" in problem.lines[0]
    assert "Odd.shop" in str(problem)


def test_everything_that_is_wrong_with_an_agent_comes_at_once() -> None:
    async def instruct(given: str) -> str:
        return given

    with pytest.raises(ConstructionError) as refused:
        agent("", input=Odd, output=Odd, instructions=instruct)

    assert [problem.kind for problem in refused.value.problems] == ["AGENT", "AGENT", "SCHEMA", "SCHEMA"]


@pytest.mark.parametrize("toolkit", [[echo], (echo, write), len, "echo"])
def test_what_is_no_toolkit_is_refused_with_the_way_to_write_one(toolkit: object) -> None:
    with pytest.raises(
        ConstructionError, match=r"(?s)AGENT agent \"tester\".*no \w+  .*test_agent.py:.*toolkit=first \|"
    ):
        agent(toolkit=toolkit)


def test_what_is_no_tool_cannot_be_put_to_one() -> None:
    undecorated: Any = len
    with pytest.raises(TypeError, match=r"len.* is no tool; write @tool"):
        echo | undecorated


@pytest.mark.parametrize("model", ["gpt-5", None, ScriptedModel])
def test_what_is_no_model_is_refused_at_its_place(model: Any) -> None:
    with pytest.raises(ConstructionError, match=r"(?s)AGENT agent \"tester\".*offers LanguageModel.*test_agent.py:"):
        agent().on(model)


def test_agents_and_bindings_are_known_by_identity() -> None:
    one, model = agent(), ScriptedModel()

    assert agent() != agent()
    assert one.on(model) != one.on(model)
    assert len({one, agent(), one.on(model)}) == 3


def test_a_binding_declares_all_that_a_run_needs() -> None:
    def open_now(shop: Shop) -> bool:
        return True

    @tool(available=open_now)
    async def buy(call: Word, ok: Try[Never], shop: Shop) -> str:
        return call.text

    binding = agent(toolkit=buy | write).on(ScriptedModel())
    declared = binding.declare()

    assert isinstance(binding, Binding)
    assert (declared.name, declared.where, declared.problems) == ('agent "tester"', binding.agent.where, ())
    assert [(each.key, each.who, each.optional) for each in declared.requirements] == [
        (LanguageModel, "its model", False),
        (Shop, "tool buy(shop)", False),
        (Shop, "tool buy (available: shop)", False),
        (Approval, "tool write (needs_approval)", False),
        (Clock, "its runs", True),
        (Ids, "its runs", True),
        (Authorization, "its runs", True),
        (Journal, "its runs", True),
        (Conversations, "its runs", True),
        (Secrets, "its runs", True),
        (Telemetry, "its runs", True),
        (Audit, "its runs", True),
        (Steering, 'agent "tester" (steering)', True),
    ]
    assert declared.private is binding.model
