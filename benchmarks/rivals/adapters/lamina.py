"""lamina as its documentation shows it: one runtime, one agent a scenario, a tool by signature, default settings."""

import json
from functools import partial
from typing import Never

import attrs
from returns.result import Success

from lamina.agent import Agent, AgentPolicy
from lamina.effect import Try
from lamina.model import Finish, LanguageModel, Text, ToolCall, Usage
from lamina.runtime import RuntimeBuilder
from lamina.runtime import build as build_runtime
from lamina.tools import tool
from scenario import FINAL, HITS, TURNS, Runs, model_wait, plan

IMPORT = "import lamina"

USAGE = Usage(10, 5)


@attrs.frozen
class Add:
    x: int


@tool()
async def add(call: Add, ok: Try[Never]) -> int:
    """Add one."""
    HITS[0] += 1
    return call.x + 1


class Fake(LanguageModel):
    def __init__(self, scenario, delay):
        self.scenario = scenario
        self.delay = delay

    async def generate(self, request):
        await model_wait(self.delay)
        turn = (len(request.messages) - 3) // 2  # without instructions, input and run status
        calls = plan(self.scenario, turn)
        if calls is None:
            return Success((Text(FINAL), Finish("stop", USAGE)))
        declared = [ToolCall(call, "add", json.dumps(given)) for call, given in calls]
        return Success((*declared, Finish("tool-calls", USAGE)))

    async def stream(self, request, emit):
        raise AssertionError("nobody observes these runs")


def build(delay: float) -> Runs:
    policy = AgentPolicy(max_turns=TURNS + 2, max_tool_calls=TURNS + 8, max_duration=600, tool_concurrency=8)
    agents = {
        scenario: Agent(scenario, instructions="Add.", policy=policy, toolkit=add).on(Fake(scenario, delay))
        for scenario in "abc"
    }
    builder = RuntimeBuilder()
    for binding in agents.values():
        builder = builder.agent(binding)
    opening = build_runtime(builder)
    opened = []

    async def run(scenario):
        if not opened:
            opened.append(await opening.__aenter__())  # it lives as long as the process that measures it
        result = await opened[0].run(agents[scenario], "go")
        return result.unwrap().output

    return {scenario: partial(run, scenario) for scenario in "abc"}
