"""An agent that works on the todo application, through its contract and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never

import attrs
from returns.result import Result

from lamina.agent import Agent, AgentPolicy
from lamina.demo.todo._contract import contract
from lamina.demo.todo._update import TodoHost, todo_host
from lamina.effect import bind
from lamina.model import (
    AssistantMessage,
    Emit,
    LanguageModel,
    ModelError,
    ModelRequest,
    ResponsePart,
)
from lamina.runtime import RuntimeBuilder
from lamina.testing import ScriptedModel, call_tool, say

assistant = Agent(
    "todo-assistant",
    instructions="You keep a list of todos. Do what you are asked for, with the tools, and say what you did.",
    policy=AgentPolicy(max_turns=8, max_tool_calls=16, max_duration=300, tool_concurrency=4),
    toolkit=contract.toolkit(TodoHost),
)
"""Does what it is asked for; its answer is plain text."""

TASK = (
    "Write down: buy milk, water the plants, call the bank. It is oat milk, the plants are done, "
    "and the bank has called me: tidy up."
)
"""What the demo asks of it."""

_PLAN = (
    (
        call_tool("create_todo", title="Buy milk"),
        call_tool("create_todo", title="Water the plants"),
        call_tool("create_todo", title="Call the bank"),
    ),
    (
        call_tool("delete_selected_todo"),  # nothing is selected yet, so there is no such capability yet
        call_tool("rename_todo", raw='{"id": "todo-1", "title": "Buy oat milk"}'),
        call_tool("complete_todo", raw='{"id": "todo-2"}'),
    ),
    (call_tool("clear_completed"), call_tool("select_todo", raw='{"id": "todo-3"}')),
    (call_tool("delete_selected_todo"),),
    (
        say(
            "I wrote down three todos, renamed the first one to Buy oat milk, cleared the one that was done, "
            "and deleted the last one once it was selected."
        ),
    ),
)


class TodoModel(LanguageModel):
    """Plays one plan, turn by turn; what it does next follows from the request alone."""

    provider = "lamina"
    model = "scripted"

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Answer with the plan's next turn."""
        return await _turn(request).generate(request)

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Answer with the plan's next turn, in deltas."""
        return await _turn(request).stream(request, emit)


def _turn(request: ModelRequest) -> ScriptedModel:
    done = sum(isinstance(message, AssistantMessage) for message in request.messages)
    turns = _PLAN[min(done, len(_PLAN) - 1)]
    parts = tuple(part for turn in turns for part in turn.parts)
    return ScriptedModel(attrs.evolve(turns[0], parts=parts), check_requests=False)


def todo_app() -> RuntimeBuilder[TodoHost, TodoHost, Never]:
    """Put the application and its agent together."""
    return RuntimeBuilder().provide(todo_host()).agent(assistant.on(bind(LanguageModel).to(TodoModel)))
