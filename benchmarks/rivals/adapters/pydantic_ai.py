"""pydantic-ai: an Agent over a FunctionModel."""

from scenario import FINAL, HITS, Runs, model_wait, plan

IMPORT = "from pydantic_ai import Agent, RunContext"


def build(delay: float) -> Runs:
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    unlimited = UsageLimits(request_limit=None)

    def make(scenario):
        async def model(messages, info):
            await model_wait(delay)
            calls = plan(scenario, (len(messages) - 1) // 2)
            if calls is None:
                return ModelResponse(parts=[TextPart(FINAL)])
            return ModelResponse(parts=[ToolCallPart("add", given, tool_call_id=call) for call, given in calls])

        agent = Agent(FunctionModel(model))

        @agent.tool_plain
        async def add(x: int) -> int:
            HITS[0] += 1
            return x + 1

        async def run():
            result = await agent.run("go", usage_limits=unlimited)
            return result.output

        return run

    return {scenario: make(scenario) for scenario in "abc"}
