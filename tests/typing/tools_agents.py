"""What the type checkers must accept and reject of tools, agents and runtimes; marked lines must be rejected."""

from __future__ import annotations

from typing import Never, assert_type

import attrs
from returns.result import Failure, Result, Success

from lamina import (
    Agent,
    AgentPolicy,
    Approval,
    Ask,
    Completed,
    RunFailure,
    RuntimeBuilder,
    Tool,
    Toolkit,
    Try,
    attempt,
    bind,
    build,
    fallible,
    layer,
    seed,
    tagged,
    tool,
    try_build,
)
from lamina.agent import Binding
from lamina.approval import TerminalApproval
from lamina.engine import AgentOutputError, PolicyExceeded
from lamina.model import LanguageModel
from lamina.testing import ScriptedModel, say


class Github:
    async def title(self, number: int) -> str:
        return str(number)


class Wiki: ...


class Principal: ...


@attrs.frozen
class Inspect:
    number: int


@attrs.frozen
class Label:
    name: str


@tagged("{number} is not there")
class NotFound:
    number: int


@tagged("no access")
class NoAccess: ...


@tool(execution="readonly")
async def inspect(call: Inspect, ok: Try[NotFound], github: Github) -> str:
    return await github.title(call.number)


@tool(needs_approval=True, approval=Ask[Label](summary=lambda label: label.name))
async def write(call: Label, ok: Try[NotFound], wiki: Wiki) -> int:
    return 1


@tool()
async def by_result(call: Inspect, github: Github, wiki: Wiki) -> Result[int, NoAccess]:
    return Failure(NoAccess()) if call.number else Success(1)


@tool.simple
async def add(a: int, b: int) -> int:
    return a + b


@tool.simple(execution="readonly")
async def shout(text: str) -> str:
    return text.upper()


assert_type(inspect, Tool[Github, Inspect, Result[str, NotFound]])
assert_type(write, Tool[Approval | Wiki, Label, Result[int, NotFound]])
assert_type(by_result, Tool[Github | Wiki, Inspect, Result[int, NoAccess]])
assert_type(inspect | write, Toolkit[Github | Approval | Wiki])
assert_type(inspect | write | add, Toolkit[Github | Approval | Wiki])

policy = AgentPolicy(max_turns=1, max_tool_calls=1, max_duration=1, tool_concurrency=1)
AgentPolicy(max_turns=1, max_tool_calls=1, max_duration=1)  # ERR


@attrs.frozen
class Question:
    text: str


@attrs.frozen
class Answer:
    number: int


agent = Agent("a", instructions="…", policy=policy, toolkit=inspect | write)
assert_type(agent, Agent[Github | Approval | Wiki, str, str])
typed = Agent("t", instructions=lambda q: q.text, policy=policy, input=Question, output=Answer)
assert_type(typed, Agent[Never, Question, Answer])
Agent("x", instructions=lambda q: q.nothing, policy=policy, input=Question)  # ERR
Agent("x", instructions="…")  # ERR

model = ScriptedModel(say("x"))
binding = agent.on(model)
assert_type(binding, Binding[Github | Approval | Wiki, str, str])


class Key: ...


class Hosted(LanguageModel):
    def __init__(self, key: Key) -> None: ...


with_needs = typed.on(bind(LanguageModel).to(Hosted))
assert_type(with_needs, Binding[Key, Question, Answer])
typed.on(layer(Github))  # ERR

services = layer(Github) | layer(Wiki) | bind(Approval).to(TerminalApproval)
app = RuntimeBuilder().provide(services).agent(binding)
build(app)
build(RuntimeBuilder().provide(layer(Github)).agent(binding))  # ERR
build(services, programs=[binding])
build(layer(Github), programs=[binding])  # ERR


@fallible
async def title(number: int, ok: Try[NotFound], github: Github) -> str:
    return await github.title(number)


@fallible
async def mine(number: int, ok: Try[NotFound], principal: Principal) -> str:
    return str(number)


@attempt
async def unsafe() -> Result[Wiki, NoAccess]:
    return Success(Wiki())


build(unsafe)  # ERR
try_build(unsafe)


async def main() -> None:
    async with build(app) as rt:
        result = await rt.run(binding, "go")
        assert_type(result, Result[Completed[str], RunFailure])
        assert_type(await rt.run(title, 1), Result[str, NotFound])
        await rt.run(title, "1")  # ERR
        await rt.run(binding, 1)  # ERR
        await rt.run(mine, 1)  # ERR
        await rt.run(with_needs, Question("?"))  # ERR
        async with rt.start(binding, "go") as run:
            assert_type(await run.result(), Result[Completed[str], RunFailure])
        if isinstance(result, Failure):
            cause = result.failure().cause
            match cause:
                case AgentOutputError():
                    assert_type(cause.problems, tuple[str, ...])
                case PolicyExceeded():
                    print(cause.limit)
                case _:
                    pass
    async with try_build(unsafe) as built:
        if not isinstance(built, Failure):
            await built.unwrap().run(title, 1)  # ERR
    async with build(layer(Github), seeds=seed(Principal)) as opened:
        await opened.given(bind(Principal).value(Principal())).run(mine, 1)
        opened.given(bind(Wiki).value(Wiki()))  # ERR
        await opened.run(title, 1)  # ERR


@tool()
async def bare(call: Inspect, github: Github) -> str:  # ERR
    return "x"


@tool()
async def undeclared(call: Inspect, ok: Try[NotFound], github: Github) -> int:
    return ok(Failure(NoAccess()))  # ERR


@tool(executing="readonly")  # ERR
async def misspelt(call: Label, ok: Try[Never]) -> str:
    return call.name


@tool(max_concurrency="2")  # ERR
async def of_another_type(call: Label, ok: Try[Never]) -> str:
    return call.name


@tool(approval=Ask[Label]())  # ERR
async def forgotten(call: Label, ok: Try[Never]) -> int:
    return 1


@tool(needs_approval=True, approval=Ask[Label]())
async def mixed(call: Inspect, ok: Try[Never]) -> int:  # ERR
    return 1
