"""The floor and what a typed framework cannot skip: validated arguments, message objects, a task group."""

import asyncio
import json
from dataclasses import dataclass, field
from functools import partial

from pydantic import BaseModel, TypeAdapter

from scenario import FINAL, HITS, Runs, model_wait, plan

IMPORT = "import asyncio, json, pydantic"


class AddArguments(BaseModel):
    x: int


ARGUMENTS = TypeAdapter(AddArguments)
OUTPUT = TypeAdapter(int)


async def add(x: int) -> int:
    HITS[0] += 1
    return x + 1


@dataclass(slots=True)
class Call:
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Message:
    role: str
    content: str = ""
    calls: list[Call] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)


def build(delay: float) -> Runs:
    async def model(scenario, messages):
        await model_wait(delay)
        calls = plan(scenario, (len(messages) - 1) // 2)
        if calls is None:
            return Message("assistant", FINAL)
        return Message("assistant", calls=[Call(call, "add", json.dumps(given)) for call, given in calls])

    async def one(call):
        arguments = ARGUMENTS.validate_json(call.arguments)
        output = await add(arguments.x)
        return (call.id, OUTPUT.dump_json(output).decode())

    async def run(scenario):
        messages = [Message("user", "go")]
        while True:
            response = await model(scenario, messages)
            messages.append(response)
            if not response.calls:
                return response.content
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(call)) for call in response.calls]
            messages.append(Message("tool", results=[task.result() for task in tasks]))

    return {scenario: partial(run, scenario) for scenario in "abc"}
