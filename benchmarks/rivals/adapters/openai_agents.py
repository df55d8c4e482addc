"""openai-agents: an Agent with a model of its own, tracing off."""

import json

from scenario import FINAL, HITS, Runs, model_wait, plan

IMPORT = "from agents import Agent, Runner, function_tool"


def fake_model(scenario, delay):
    from agents import Usage, set_tracing_disabled
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)

    class FakeModel(Model):
        def __init__(self, scenario):
            self.scenario = scenario
            # A turn adds a call and its output for each call.
            self.items_a_turn = 2 if scenario == "c" else 16

        async def get_response(
            self,
            system_instructions,
            input,  # noqa: A002 - the framework passes it by this name
            model_settings,
            tools,
            output_schema,
            handoffs,
            tracing,
            **options,
        ):
            await model_wait(delay)
            seen = 1 if isinstance(input, str) else len(input)
            calls = plan(self.scenario, (seen - 1) // self.items_a_turn)
            if calls is None:
                text = ResponseOutputText(text=FINAL, type="output_text", annotations=[])
                output = [
                    ResponseOutputMessage(
                        id="m", type="message", role="assistant", status="completed", content=[text]
                    )
                ]  # fmt: skip
            else:
                output = [
                    ResponseFunctionToolCall(
                        call_id=call, name="add", arguments=json.dumps(given), type="function_call", id=call
                    )
                    for call, given in calls
                ]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *arguments, **options):
            raise NotImplementedError

    return FakeModel(scenario)


def add_tool():
    from agents import function_tool

    @function_tool
    async def add(x: int) -> int:
        HITS[0] += 1
        return x + 1

    return add


def build(delay: float) -> Runs:
    from agents import Agent, Runner

    def make(scenario):
        agent = Agent(name="a", instructions="", model=fake_model(scenario, delay), tools=[add_tool()])

        async def run():
            result = await Runner.run(agent, "go", max_turns=10_000)
            return result.final_output

        return run

    return {scenario: make(scenario) for scenario in "abc"}
