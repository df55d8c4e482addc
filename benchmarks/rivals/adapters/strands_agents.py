"""strands-agents: an Agent keeps state and refuses two runs at once, so a run builds its own, as its docs say."""

import json

from scenario import FINAL, HITS, Runs, model_wait, plan

IMPORT = "from strands import Agent, tool"


def build(delay: float) -> Runs:
    from strands import Agent, tool
    from strands.models.model import Model

    class FakeModel(Model):
        def __init__(self, scenario):
            self.scenario = scenario

        def update_config(self, **options): ...

        def get_config(self):
            return {"model_id": "fake"}

        def structured_output(self, *arguments, **options):
            raise NotImplementedError

        async def stream(self, messages, tool_specs=None, system_prompt=None, **options):
            await model_wait(delay)
            calls = plan(self.scenario, (len(messages) - 1) // 2)
            yield {"messageStart": {"role": "assistant"}}
            if calls is None:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": FINAL}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}
            else:
                for call, given in calls:
                    yield {"contentBlockStart": {"start": {"toolUse": {"name": "add", "toolUseId": call}}}}
                    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(given)}}}}
                    yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use"}}
            usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}

    @tool
    async def add(x: int) -> int:
        """Add one."""
        HITS[0] += 1
        return x + 1

    def make(scenario):
        model = FakeModel(scenario)

        async def run():
            agent = Agent(model=model, tools=[add], callback_handler=None)
            result = await agent.invoke_async("go")
            return result.message["content"][0]["text"]

        return run

    return {scenario: make(scenario) for scenario in "abc"}
