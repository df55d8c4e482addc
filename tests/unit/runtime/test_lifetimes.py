"""How long things live: agents while their owner holds them, runs until they end, runtimes apart from each other."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from typing import Any, Never

import pytest

from lamina.effect import Try, bind, handler, layer
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import ConcurrencyGroup, tool
from tests.unit.engine.world import Word, agent_with, boom, echo, told_in, until


def turns() -> ScriptedModel:
    return ScriptedModel(call_tool("echo", text="x"), say("done"))


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("fails", [False, True])
async def test_an_agent_is_gone_when_its_owner_drops_it(
    observed: bool, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "lamina")  # a record that is kept keeps the frames of its traceback
    group = ConcurrencyGroup("net", 1)

    def make() -> Any:
        @tool(name="mine", max_concurrency=1, groups=(group,))
        async def mine(call: Word, ok: Try[Never]) -> str:
            return call.text

        model = ScriptedModel(call_tool("boom" if fails else "mine", text="x"), say("done"))
        return agent_with(mine | boom).on(model), weakref.ref(mine)

    async with build(RuntimeBuilder()) as rt:
        binding, own_tool = make()
        if observed:
            async with rt.start(binding, "go") as run:
                await run.result()
            del run
        else:
            await rt.run(binding, "go")
        dead = [weakref.ref(binding), weakref.ref(binding.agent), own_tool]
        del binding
        gc.collect()
        assert [each() for each in dead] == [None, None, None]


async def test_an_agent_of_a_closed_runtime_is_gone_too() -> None:
    binding = agent_with(echo).on(turns())
    async with build(RuntimeBuilder().agent(binding)) as rt:
        await rt.run(binding, "go")
    dead = weakref.ref(binding.agent)
    del binding, rt
    gc.collect()
    assert dead() is None


async def test_a_thousand_runs_leave_no_task_and_no_event() -> None:
    turns = [call_tool("echo", text="x") & call_tool("echo", text="y"), say("d")]
    binding = agent_with(echo).on(ScriptedModel(*turns * 1_000))
    async with build(RuntimeBuilder().agent(binding)) as rt:
        before = asyncio.all_tasks()
        for number in range(1_000):
            if number % 2:
                await rt.run(binding, "go")
            else:
                async with rt.start(binding, "go") as run:
                    await run.result()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before


async def test_runs_at_once_do_not_meet() -> None:
    async with build(RuntimeBuilder()) as rt:
        models = [ScriptedModel(call_tool("echo", text=str(n)), say(str(n))) for n in range(50)]
        results = await asyncio.gather(*(rt.run(agent_with(echo).on(model), "go") for model in models))

    assert [result.unwrap().output for result in results] == [str(n) for n in range(50)]
    assert [told_in(model.requests[-1])[0].content for model in models] == [str(n) for n in range(50)]
    assert len({result.unwrap().report.run for result in results}) == 50


async def test_one_agent_in_two_runtimes_uses_the_services_of_each() -> None:
    class Shop:
        def __init__(self, name: str = "") -> None:
            self.name = name

    @tool()
    async def where(call: Word, ok: Try[Never], shop: Shop) -> str:
        return shop.name

    model = ScriptedModel(call_tool("where", text="x"), say("a"), call_tool("where", text="x"), say("b"))
    binding = agent_with(where).on(model)
    first = RuntimeBuilder().provide(bind(Shop).value(Shop("first"))).agent(binding)
    second = RuntimeBuilder().provide(bind(Shop).value(Shop("second"))).agent(binding)
    async with build(first) as one, build(second) as other:
        await one.run(binding, "go")
        await other.run(binding, "go")

    assert [told_in(request)[0].content for request in model.requests[1::2]] == ["first", "second"]


async def test_two_runtimes_have_limits_of_their_own() -> None:
    inside, gate = 0, asyncio.Event()

    @tool(max_concurrency=1)
    async def wait(call: Word, ok: Try[Never]) -> str:
        nonlocal inside
        inside += 1
        await gate.wait()
        return call.text

    bindings = [agent_with(wait).on(ScriptedModel(call_tool("wait", text="x"), say("d"))) for _ in range(3)]
    async with build(RuntimeBuilder()) as one, build(RuntimeBuilder()) as other:
        running = [
            asyncio.create_task(rt.run(binding, "go")) for rt, binding in zip((one, one, other), bindings, strict=True)
        ]
        await until(lambda: inside == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert inside == 2, "one in each runtime"
        gate.set()
        await asyncio.gather(*running)


async def test_two_models_of_one_agent_do_not_meet() -> None:
    agent = agent_with(echo)
    first, second = turns(), turns()
    async with build(RuntimeBuilder()) as rt:
        await rt.run(agent.on(first), "one")
        await rt.run(agent.on(second), "two")

    assert [model.requests[0].messages[-1].text for model in (first, second)] == ["one", "two"]


@pytest.mark.parametrize("observed", [False, True])
async def test_after_the_runtime_is_closed_nothing_runs_and_no_model_is_asked(observed: bool) -> None:
    model = turns()
    binding = agent_with(echo).on(model)
    async with build(RuntimeBuilder().agent(binding)) as rt:
        await rt.run(binding, "go")
    asked = len(model.requests)

    with pytest.raises(RuntimeError, match="the runtime is closed"):
        await (rt.start(binding, "go").__aenter__() if observed else rt.run(binding, "go"))
    assert len(model.requests) == asked


async def test_a_runtime_runs_handlers_and_agents_side_by_side() -> None:
    class Count:
        def __init__(self) -> None:
            self.n = 0

    @handler
    async def total(command: int, count: Count) -> int:
        return count.n + command

    @tool()
    async def add(call: Word, ok: Try[Never], count: Count) -> int:
        count.n += 1
        return count.n

    binding = agent_with(add).on(ScriptedModel(call_tool("add", text="x") & call_tool("add", text="y"), say("d")))
    async with build(RuntimeBuilder().provide(layer(Count)).program(total).agent(binding)) as rt:
        await rt.run(binding, "go")
        assert await rt.run(total, 10) == 12
