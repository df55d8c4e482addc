"""A small world for the engine's tests: one service, a handful of tools, and a policy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Never

import attrs

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Ask
from lamina.effect import Try, tagged
from lamina.engine import RunHandle
from lamina.model import AssistantMessage, LanguageModel, ModelRequest, ToolMessage, ToolResult
from lamina.runtime import Runtime, RuntimeBuilder, build
from lamina.testing import ScriptedModel
from lamina.tools import tool


@attrs.frozen
class Word:
    text: str


@tagged("There is no word {text}.")
class NoSuchWord:
    text: str


@tool(execution="readonly")
async def echo(call: Word, ok: Try[Never]) -> str:
    """Say it again."""
    return call.text


@tool(execution="readonly")
async def look_up(call: Word, ok: Try[NoSuchWord]) -> str:
    """Look a word up."""
    return ok.fail(NoSuchWord(call.text))


@tool(failure_mode="error")
async def must_look_up(call: Word, ok: Try[NoSuchWord]) -> str:
    """Look a word up, or end the run."""
    return ok.fail(NoSuchWord(call.text))


@tool()
async def boom(call: Word, ok: Try[Never]) -> str:
    """Break."""
    raise ValueError(f"canary {call.text}")


@tool()
async def wrong(call: Word, ok: Try[Never]) -> int:
    """Give what is not declared."""
    return "no number"  # type: ignore[return-value]


@tool(needs_approval=True, approval=Ask[Word](summary=lambda word: f"Write {word.text}", recoverable=True))
async def write(call: Word, ok: Try[Never]) -> str:
    """Write a word."""
    return call.text


@tool(needs_approval=True)
async def write_or_end(call: Word, ok: Try[Never]) -> str:
    """Write a word; a denial ends the run."""
    return call.text


def policy(**changes: Any) -> AgentPolicy:
    """Give a policy that is wide enough for a test that is about something else."""
    return AgentPolicy(
        **{"max_turns": 10, "max_tool_calls": 20, "max_duration": 600, "tool_concurrency": 8, "run_status": "off"}
        | changes
    )


def agent_with(toolkit: Any = None, output: Any = str, **changes: Any) -> Agent[Any, Any, Any]:
    """Give an agent with some tools."""
    return Agent("tester", instructions="Test.", policy=policy(**changes), toolkit=toolkit, output=output)


def told_in(request: ModelRequest, back: int = 1) -> list[ToolResult]:
    """Give the results of the request's latest tool message, or of the one `back` before it."""
    messages = [message for message in request.messages if isinstance(message, ToolMessage)]
    return list(messages[-back].results)


def outcomes_by_id(request: ModelRequest) -> dict[str, Any]:
    """Give what the model is told of each call, over the whole history."""
    return {
        result.id: result.content
        for message in request.messages
        if isinstance(message, ToolMessage)
        for result in message.results
    }


def declared_in(request: ModelRequest) -> list[str]:
    """Give the ids of all calls in a request's history."""
    return [call.id for message in request.messages if isinstance(message, AssistantMessage) for call in message.calls]


async def ended(rt: Runtime[Any], agent: Agent[Any, Any, Any], model: LanguageModel, given: Any = "go") -> Any:
    """Run an agent on a model, without an observer."""
    return await rt.run(agent.on(model), given)


async def events_of(handle: RunHandle[Any]) -> list[Any]:
    """Read all events of a run to its end."""
    return [event async for event in handle.events()]


async def after_steps(steps: int) -> None:
    """Let the loop take so many steps."""
    for _ in range(steps):
        await asyncio.sleep(0)


@attrs.frozen
class Ran:
    """What came of a run: its result, what its model was asked, and, where it was observed, its events and history."""

    result: Any
    requests: tuple[ModelRequest, ...]
    events: tuple[Any, ...] = ()
    history: Any = None

    @property
    def told(self) -> list[Any]:
        """What the model was told of the latest batch."""
        return [each.content for each in told_in(self.requests[-1])]


async def run_turns(
    toolkit: Any = None,
    *turns: Any,
    layer: Any = None,
    observed: bool = False,
    given: Any = "go",
    agent: Agent[Any, Any, Any] | None = None,
    history: Any = None,
    **changes: Any,
) -> Ran:
    """Run an agent over some scripted turns, with or without an observer."""
    model = turns[0] if len(turns) == 1 and isinstance(turns[0], ScriptedModel) else ScriptedModel(*turns)
    binding = (agent or agent_with(toolkit, **changes)).on(model)
    builder: Any = RuntimeBuilder().agent(binding)
    async with build(builder if layer is None else builder.provide(layer)) as rt:
        if not observed:
            return Ran(await rt.run(binding, given, history=history), model.requests)
        async with rt.start(binding, given, history=history) as handle:
            result = await handle.result()
            return Ran(result, model.requests, tuple(await events_of(handle)), handle.history)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until a condition holds."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("what was waited for did not happen")
