"""The only thing that changes the model, and the backend that gives todos their ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Never, TypeAlias

import attrs
from returns.result import Failure, Result, Success

from lamina.contract import Command, MemoryHost, command
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
    Todo,
)
from lamina.effect import Layer, bind, scoped, tagged

MOST_TODOS = 200

Step: TypeAlias = tuple[Model, Sequence[Command[Message]]]


@tagged("The list is full: {most} todos are kept.")
class ListFull:
    """There are as many todos as the backend keeps."""

    most: int


class Backend(ABC):
    """Where todos are saved."""

    @abstractmethod
    async def save(self, title: str) -> Result[str, ListFull]:
        """Save a todo, and give its id."""


class MemoryBackend(Backend):
    """Counts, and keeps nothing."""

    def __init__(self) -> None:
        self._saved = 0

    async def save(self, title: str) -> Result[str, ListFull]:
        """Give the next id."""
        if self._saved >= MOST_TODOS:
            return Failure(ListFull(MOST_TODOS))
        self._saved += 1
        return Success(f"todo-{self._saved}")


def updating(backend: Backend) -> Callable[[Model, Message], Step]:
    """Give the application's update over a backend."""

    def update(model: Model, message: Message) -> Step:
        match message:
            case RequestedCreateTodo():
                return model, (_save(backend, message),)
            case SubmittedTodo(id, title, _):
                return attrs.evolve(model, todos=(*model.todos, Todo(id, title)), last_error=None), ()
            case FailedSubmitTodo(why, _):
                return attrs.evolve(model, last_error=why), ()
            case RequestedRenameTodo(id, title):
                return _changed(model, id, lambda todo: attrs.evolve(todo, title=title.strip())), ()
            case RequestedCompleteTodo(id):
                return _changed(model, id, lambda todo: attrs.evolve(todo, done=True)), ()
            case RequestedSelectTodo(id):
                return attrs.evolve(model, selected=id if model.todo(id) else model.selected), ()
            case RequestedDeleteTodo(id):
                return _without(model, lambda todo: todo.id == id), ()
            case RequestedClearCompleted():
                return _without(model, lambda todo: todo.done), ()

    return update


class TodoHost(MemoryHost[Model, Message]):
    """The todo application, alive."""


async def run_todo(backend: Backend) -> AsyncIterator[TodoHost]:
    """Run the application as long as the runtime lives."""
    async with TodoHost(Model(), updating(backend)) as host:
        yield host


def todo_host(backend: Layer[Never, Backend, Never] | None = None) -> Layer[Never, TodoHost, Never]:
    """Offer the application; over a backend in memory, unless another one is given."""
    return scoped(run_todo).provide(backend or bind(Backend).to(MemoryBackend))


def _save(backend: Backend, asked: RequestedCreateTodo) -> Command[Message]:
    async def save() -> Result[Message, ListFull]:
        saved = await backend.save(asked.title)
        return saved.map(lambda made: SubmittedTodo(made, asked.title, asked.request_id))

    return command(save, failed=lambda refused: FailedSubmitTodo(str(refused), asked.request_id), name="save a todo")


def _changed(model: Model, id: str, change: Callable[[Todo], Todo]) -> Model:  # noqa: A002 - what a todo calls it
    todos = tuple(change(one) if one.id == id else one for one in model.todos)
    return model if todos == model.todos else attrs.evolve(model, todos=todos)


def _without(model: Model, gone: Callable[[Todo], bool]) -> Model:
    todos = tuple(one for one in model.todos if not gone(one))
    if len(todos) == len(model.todos):
        return model
    still = any(one.id == model.selected for one in todos)
    return attrs.evolve(model, todos=todos, selected=model.selected if still else None)
