"""What an application is refused for before anything starts: each row of the design's table, with its exact report."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Never

import pytest

from lamina.agent import Binding
from lamina.approval import Approval, ScriptedApproval
from lamina.conversation import Journal, MemoryJournal
from lamina.effect import Clock, ConstructionError, Ids, SystemClock, SystemIds, Try, Where, bind, layer, scoped
from lamina.model import LanguageModel
from lamina.runtime import RuntimeBuilder, build
from lamina.steering import memory_steering
from lamina.testing import ScriptedModel, say
from lamina.tools import ConcurrencyGroup, tool
from tests.unit.engine.world import Word, agent_with, echo, write


class Shop:
    opened = 0

    def __init__(self) -> None:
        Shop.opened += 1


@tool()
async def buy(call: Word, ok: Try[Never], shop: Shop) -> str:
    """Buy."""
    return call.text


def scripted() -> ScriptedModel:
    return ScriptedModel(say("done"))


def bound(toolkit: Any = None, **changes: Any) -> Binding[Any, Any, Any]:
    return agent_with(toolkit, **changes).on(scripted())


def reports(builder: Any) -> list[str]:
    """Give the problems of a builder, which are those of its plan, of `build`, and of layers with programs."""
    told = [str(problem) for problem in builder.plan().problems]
    for refuse in (lambda: build(builder), lambda: build(builder.layer, programs=builder.programs)):
        if told:
            with pytest.raises(ConstructionError) as refused:
                refuse()
            assert [str(problem) for problem in refused.value.problems] == told
        else:
            refuse()
    return told


def at(program: Any) -> Where:
    return program.agent.where if isinstance(program, Binding) else program.where


def test_a_tool_that_needs_approval_needs_the_service() -> None:
    binding = bound(write)

    assert reports(RuntimeBuilder().agent(binding)) == [
        "MISSING Approval\n"
        f'  tool write (needs_approval)   {write.where}, in agent "tester"  {at(binding)}\n'
        "  write: | bind(Approval).to(TerminalApproval)"
    ]
    offered: Any = RuntimeBuilder().provide(bind(Approval).value(ScriptedApproval(()))).agent(binding)
    assert reports(offered) == []


@pytest.mark.parametrize(
    ("field", "value", "service"),
    [
        ("context_token_limit", 1, "Compaction"),
        ("cost_budget", 5, "PriceBook"),
        ("cost_budget", 0, "PriceBook"),
    ],
)
def test_a_policy_that_asks_for_what_is_not_there_yet_is_refused_by_name(field: str, value: Any, service: str) -> None:
    binding = bound(**{field: value})

    assert reports(RuntimeBuilder().agent(binding)) == [
        f"MISSING {service}\n"
        f'  agent "tester" ({field})  {at(binding)}\n'
        f"  this version has no {service}\n"
        f"  write: leave {field} out"
    ]


def test_a_policy_with_steering_needs_what_keeps_it() -> None:
    binding = bound(steering=True)

    assert reports(RuntimeBuilder().agent(binding)) == [
        "MISSING Steering\n"
        f'  agent "tester" (steering)  {at(binding)}\n'
        '  write: | memory_steering(), or | stored_steering() | sqlite_store("lamina.db")'
    ]
    assert reports(RuntimeBuilder().provide(memory_steering()).agent(binding)) == []


def test_a_policy_that_asks_for_nothing_more_is_not_refused() -> None:
    assert reports(RuntimeBuilder().agent(bound(steering=False, cost_budget=None, context_token_limit=None))) == []


def test_a_tools_service_is_named_with_the_tool_and_its_parameter() -> None:
    binding = bound(buy)

    assert reports(RuntimeBuilder().agent(binding)) == [
        f'MISSING Shop\n  tool buy(shop)   {buy.where}, in agent "tester"  {at(binding)}\n  write: | layer(Shop)'
    ]


def test_an_availabilitys_service_is_a_need_as_well() -> None:
    def is_open(shop: Shop) -> bool:
        return True

    @tool(available=is_open)
    async def look(call: Word, ok: Try[Never]) -> str:
        return call.text

    (report,) = reports(RuntimeBuilder().agent(bound(look)))
    assert f"tool look (available: shop)   {look.where}, in agent" in report


def test_everything_that_is_missing_is_in_one_report() -> None:
    told = reports(RuntimeBuilder().agent(bound(write | buy, cost_budget=1, steering=True, context_token_limit=9)))

    assert sorted(report.split("\n")[0] for report in told) == [
        "MISSING Approval",
        "MISSING Compaction",
        "MISSING PriceBook",
        "MISSING Shop",
        "MISSING Steering",
    ]


def test_two_agents_of_one_id_are_refused_with_both_places() -> None:
    first, second = bound(), bound(echo)
    report = (
        'DUPLICATE agent "tester"\n'
        f'  agent "tester"  {at(first)}\n'
        f'  agent "tester"  {at(second)}\n'
        "  write: another id for one"
    )
    with pytest.raises(ConstructionError) as refused:
        RuntimeBuilder().agent(first).agent(second)
    assert [str(problem) for problem in refused.value.problems] == [report]
    assert reports(RuntimeBuilder().program(first).program(second)) == [report]
    assert reports(RuntimeBuilder().program(first).program(first)) == []


async def test_an_agent_without_its_model_is_refused_with_the_line_to_write() -> None:
    unbound: Any = agent_with(echo)
    with pytest.raises(ConstructionError, match=r"(?s)AGENT Agent.*test_assemble.py:.*\.agent\(agent\.on\(model\)\)"):
        RuntimeBuilder().agent(unbound)
    async with build(RuntimeBuilder()) as rt:
        with pytest.raises(ConstructionError, match=r"(?s)PROGRAM Agent.*test_assemble.py:.*agent\.on\(model\)"):
            await rt.run(unbound, "x")


def test_two_groups_of_one_name_are_refused() -> None:
    made = [
        tool(name=name, groups=(ConcurrencyGroup("net", 1),))(_say)  # type: ignore[call-overload]
        for name in ("one", "two")
    ]
    (report,) = reports(RuntimeBuilder().agent(bound(made[0] | made[1])))

    assert report.startswith("DUPLICATE ConcurrencyGroup net\n  tool two  ")


async def _say(call: Word, ok: Try[Never]) -> str:
    return call.text


async def opened() -> AsyncIterator[ScriptedModel]:
    yield scripted()


@pytest.mark.parametrize(
    ("key", "private", "offered"),
    [
        (LanguageModel, bind(LanguageModel).to(scripted, life="request"), None),
        (Clock, None, bind(Clock).to(SystemClock, life="request")),
        (Ids, None, bind(Ids).to(SystemIds, life="request")),
        (Journal, None, bind(Journal).to(MemoryJournal, life="request")),
    ],
)
async def test_what_a_run_needs_for_the_app_is_refused_for_a_request(key: Any, private: Any, offered: Any) -> None:
    binding = agent_with().on(private or scripted())
    builder: Any = RuntimeBuilder() if offered is None else RuntimeBuilder().provide(offered)
    report = (
        f"LIFETIME {key.__name__}\n"
        f'  agent "tester"  {at(binding)}, whose runs are no requests\n'
        f'  write: life="app" for {key.__name__}'
    )

    assert reports(builder.agent(binding)) == [report]
    # One that the plan has not seen is refused when it is run, and asks no model.
    async with build(builder) as rt:
        with pytest.raises(ConstructionError) as refused:
            await rt.run(binding, "go")
    assert [str(problem) for problem in refused.value.problems] == [report]


def test_a_models_layer_has_needs_of_its_own() -> None:
    class Key: ...

    def model(key: Key) -> ScriptedModel:
        return scripted()

    model.__annotations__ = {"key": Key, "return": ScriptedModel}
    binding: Any = agent_with().on(bind(LanguageModel).to(model))
    (report,) = reports(RuntimeBuilder().agent(binding))
    assert report.startswith("MISSING ")
    assert "Key" in report.split("\n")[0]


async def test_nothing_is_acquired_for_an_application_that_is_refused() -> None:
    before = Shop.opened
    with pytest.raises(ConstructionError):
        async with build(RuntimeBuilder().provide(layer(Shop)).agent(bound(write | buy))):
            pass
    assert Shop.opened == before


@pytest.mark.parametrize("observed", [False, True])
async def test_a_conversation_is_refused_at_preflight_and_no_model_is_asked(observed: bool) -> None:
    model = scripted()
    binding = agent_with().on(model)
    async with build(RuntimeBuilder().agent(binding)) as rt:
        handle = rt.start(binding, "go", conversation="c")
        with pytest.raises(ConstructionError) as refused:
            await (handle.__aenter__() if observed else rt.run(binding, "go", conversation="c"))

    (problem,) = refused.value.problems
    assert (problem.kind, problem.subject, problem.write) == (
        "MISSING",
        "Conversations",
        '| stored_conversations() | sqlite_store("lamina.db")',
    )
    assert problem.lines[0].startswith('agent "tester" (conversation=)  ')
    assert "test_assemble.py:" in problem.lines[0]
    assert model.requests == ()


@pytest.mark.parametrize("registered", [True, False])
async def test_an_agent_that_was_not_registered_is_planned_when_it_is_run(registered: bool) -> None:
    model = scripted()
    binding: Any = agent_with(buy).on(model)
    if registered:
        assert len(reports(RuntimeBuilder().agent(binding))) == 1
        return
    async with build(RuntimeBuilder()) as rt:
        with pytest.raises(ConstructionError, match="MISSING Shop"):
            await rt.run(binding, "go")
    async with build(layer(Shop)) as shop:
        assert (await shop.run(binding, "go")).unwrap().output == "done"


def test_a_private_model_may_offer_what_the_agents_tools_need() -> None:
    private: Any = bind(LanguageModel).value(scripted()) | layer(Shop)
    builder: Callable[..., Any] = RuntimeBuilder().agent

    assert reports(builder(agent_with(buy).on(private))) == []


def test_a_scoped_model_for_the_app_is_fine() -> None:
    assert reports(RuntimeBuilder().agent(agent_with().on(bind(LanguageModel).to(opened)))) == []
    assert scoped(opened) is not None
