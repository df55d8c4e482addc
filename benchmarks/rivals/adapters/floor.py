"""A hand-written loop: history list, decoded JSON, gather, ordered commit. Nothing can do less."""

import asyncio
import json
from functools import partial

from scenario import FINAL, HITS, Runs, model_wait, plan

IMPORT = "import asyncio, json"


async def add(x: int) -> int:
    HITS[0] += 1
    return x + 1


TOOLS = {"add": add}


def build(delay: float) -> Runs:
    async def model(scenario, messages):
        await model_wait(delay)
        calls = plan(scenario, (len(messages) - 1) // 2)
        if calls is None:
            return {"role": "assistant", "content": FINAL}
        return {
            "role": "assistant",
            "tool_calls": [{"id": call, "name": "add", "arguments": json.dumps(given)} for call, given in calls],
        }

    async def one(call):
        output = await TOOLS[call["name"]](**json.loads(call["arguments"]))
        return {"id": call["id"], "content": json.dumps(output)}

    async def run(scenario):
        messages = [{"role": "user", "content": "go"}]
        while True:
            response = await model(scenario, messages)
            messages.append(response)
            calls = response.get("tool_calls")
            if not calls:
                return response["content"]
            results = await asyncio.gather(*[asyncio.create_task(one(call)) for call in calls])
            messages.append({"role": "tool", "results": results})

    return {scenario: partial(run, scenario) for scenario in "abc"}
