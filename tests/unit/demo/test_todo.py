"""The todo application: what its contract promises, and an agent that works on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from returns.result import Failure, Result

from lamina.call import Invocation
from lamina.contract import AgentCapabilityUnavailableError, BoundContract, Nothing, Settled
from lamina.demo.todo import (
    Backend,
    FailedSubmitTodo,
    ListFull,
    MemoryBackend,
    Model,
    NewTodo,
    RequestedClearCompleted,
    RequestedCompleteTodo,
    RequestedDeleteTodo,
    RequestedRenameTodo,
    RequestedSelectTodo,
    SubmittedTodo,
    Todo,
    TodoHost,
    app,
    assistant,
    contract,
    todo_host,
    updating,
)
from lamina.effect import bind, handler
from lamina.model import LanguageModel
from lamina.runtime import build
from lamina.testing import ScriptedModel, call_tool, say


@asynccontextmanager
async def todo(backend: Backend | None = None) -> AsyncIterator[tuple[TodoHost, BoundContract[Any, Any]]]:
    async with TodoHost(Model(), updating(backend or MemoryBackend())) as host:
        yield host, contract.bind(host)


async def test_case_126_contextual_delete_acts_on_the_selection_and_is_gone_after_it() -> None:
    async with todo() as (host, bound):
        await bound.dispatch(NewTodo("milk"))
        before = await bound.available()
        await bound.dispatch(RequestedSelectTodo("todo-1"))
        (delete,) = [one for one in bound.capabilities if one.name == "delete_selected_todo"]
        selected = await bound.available()
        sent = (await bound.dispatch(Nothing())).unwrap()

        assert delete.input_schema["properties"] == {}
        assert "delete_selected_todo" in selected - before
        assert sent.message == RequestedDeleteTodo("todo-1")
        assert host.model() == Model()
        assert "delete_selected_todo" not in await bound.available()
        assert (await bound.dispatch_unknown("delete_selected_todo", {})).failure() == AgentCapabilityUnavailableError(
            "delete_selected_todo", "RequestedDeleteTodo"
        )


class Full(Backend):
    async def save(self, title: str) -> Result[str, ListFull]:
        return Failure(ListFull(0))


async def test_case_127_the_last_error_is_not_projected() -> None:
    async with todo(Full()) as (host, bound):
        sent = (await bound.dispatch(NewTodo("milk"), Invocation(id="call-1"))).unwrap()

        assert sent.completion == Settled("failed", FailedSubmitTodo("The list is full: 0 todos are kept.", "call-1"))
        assert host.model().last_error is not None
        assert bound.context().unwrap() == {"todos": [], "selected": None}
        assert "last_error" not in contract.manifest_json()


async def test_case_129_a_creation_completes_by_its_request_and_a_rename_by_the_trimmed_title() -> None:
    async with todo() as (host, bound):
        first, second = await asyncio.gather(
            bound.dispatch(NewTodo("milk"), Invocation(id="one")),
            bound.dispatch(NewTodo("milk"), Invocation(id="two")),
        )
        renamed = (await bound.dispatch(RequestedRenameTodo("todo-1", "  oat milk "))).unwrap()

        assert first.unwrap().completion == Settled("completed", SubmittedTodo("todo-1", "milk", "one"))
        assert second.unwrap().completion == Settled("completed", SubmittedTodo("todo-2", "milk", "two"))
        assert renamed.completion == Settled("completed")
        assert host.model().todos == (Todo("todo-1", "oat milk"), Todo("todo-2", "milk"))
        assert host.listeners == 0


async def test_clearing_appears_when_something_is_done() -> None:
    async with todo() as (host, bound):
        await bound.dispatch(NewTodo("milk"))
        assert "clear_completed" not in await bound.available()
        await bound.dispatch(RequestedCompleteTodo("todo-1"))
        assert "clear_completed" in await bound.available()
        await bound.dispatch(RequestedClearCompleted())
        assert bound.resource("counts").unwrap() == {"todos": 0, "done": 0}


def test_the_manifest_is_the_same_twice() -> None:
    assert contract.manifest_json() == contract.manifest_json()
    assert [one.name for one in contract.messages] == [
        "create_todo",
        "rename_todo",
        "complete_todo",
        "select_todo",
        "delete_selected_todo",
        "clear_completed",
    ]


@handler
async def live(_: None, host: TodoHost) -> TodoHost:
    return host


async def test_a_scripted_agent_drives_the_application_through_its_contract() -> None:
    model = ScriptedModel(
        call_tool("create_todo", title="milk"),
        call_tool("create_todo", title="bread"),
        call_tool("delete_selected_todo"),
        call_tool("select_todo", raw='{"id": "todo-1"}'),
        call_tool("delete_selected_todo"),
        call_tool("rename_todo", raw='{"id": "todo-2", "title": "rye bread"}'),
        say("Only bread is left."),
    )
    async with build(todo_host()) as rt:
        completed = (await rt.run(assistant.on(bind(LanguageModel).value(model)), "Tidy up.")).unwrap()
        host = await rt.run(live, None)

        assert completed.output == "Only bread is left."
        assert host.model().todos == (Todo("todo-2", "rye bread"),)
        assert host.replayed() == host.model()
        assert [type(one).__name__ for one in host.messages] == [
            "RequestedCreateTodo",
            "SubmittedTodo",
            "RequestedCreateTodo",
            "SubmittedTodo",
            "RequestedSelectTodo",
            "RequestedDeleteTodo",
            "RequestedRenameTodo",
        ]
    model.assert_exhausted()


async def test_the_demo_runs_to_its_end() -> None:
    async with build(app) as rt:
        completed = (await rt.run(app.agents["todo-assistant"], "Write down what I need.")).unwrap()
        host = await rt.run(live, None)

        assert "three todos" in completed.output
        assert host.model() == Model(todos=(Todo("todo-1", "Buy oat milk"),))
        assert RequestedDeleteTodo("todo-3") in host.messages
        assert host.replayed() == host.model()
