"""What agents may do with the todo application."""

from __future__ import annotations

import attrs

from lamina.contract import Contract, Nothing, completes, pick, struct, when
from lamina.demo.todo._model import (
    FailedSubmitTodo,
    Message,
    Model,
    RequestedClearCompleted,
    RequestedCompleteTodo,
    RequestedCreateTodo,
    RequestedDeleteTodo,
    RequestedRenameTodo,
    RequestedSelectTodo,
    SubmittedTodo,
    Title,
    Todo,
)


@attrs.frozen
class NewTodo:
    """What an agent says of a new todo; the rest is the application's to decide."""

    title: Title


@attrs.frozen
class Counts:
    """How much there is, and how much of it is done."""

    todos: int
    done: int


_todos = struct(Model, tuple[Todo, ...], lambda m: m.todos, observes=("todos",))

contract = (
    Contract.of(Model, messages=Message, context=pick("todos", "selected"), name="todo")
    .variant(
        RequestedCreateTodo,
        "Create a new todo",
        name="create_todo",
        input=NewTodo,
        to_message=lambda new, at: RequestedCreateTodo(new.title, at.invocation.id),
        completion=completes(
            SubmittedTodo, failure=FailedSubmitTodo, correlate=lambda _, result, call: result.request_id == call.id
        ),
    )
    .variant(
        RequestedRenameTodo,
        "Give a todo another title",
        name="rename_todo",
        execution="idempotent",
        available=lambda m: len(m.todos) > 0,
        completion=when(
            projection=_todos,
            predicate=lambda todos, request: any(
                one.id == request.id and one.title == request.title.strip() for one in todos
            ),
            timeout=5,
        ),
    )
    .variant(
        RequestedCompleteTodo,
        "Mark a todo as done",
        name="complete_todo",
        execution="idempotent",
        available=lambda m: any(not one.done for one in m.todos),
    )
    .variant(
        RequestedSelectTodo,
        "Select a todo",
        name="select_todo",
        execution="idempotent",
        available=lambda m: len(m.todos) > 0,
    )
    .variant(
        RequestedDeleteTodo,
        "Delete the selected todo",
        name="delete_selected_todo",
        input=Nothing,
        available=lambda m: m.selected is not None,
        to_message=lambda _, at: RequestedDeleteTodo(at.model.selected or ""),
    )
    .variant(
        RequestedClearCompleted,
        "Remove every todo that is done",
        name="clear_completed",
        execution="idempotent",
        available=lambda m: any(one.done for one in m.todos),
    )
    .resource(
        "counts",
        "How many todos there are",
        Counts,
        lambda m: Counts(len(m.todos), sum(one.done for one in m.todos)),
        observes=("todos",),
    )
)
"""Six capabilities, the todos as context, and a count to be read."""
