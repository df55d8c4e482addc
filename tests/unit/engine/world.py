"""A small world for the engine's tests: one service, a handful of tools, and a policy."""

from __future__ import annotations

import asyncio
from typing import Any, Never

import attrs

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Ask
from lamina.effect import Try, tagged
from lamina.engine import RunHandle
from lamina.model import AssistantMessage, LanguageModel, ModelRequest, ToolMessage, ToolResult
from lamina.runtime import Runtime
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
