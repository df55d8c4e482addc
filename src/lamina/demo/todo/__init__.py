"""The todo application of the demo: an Elm-like application that lets agents send some of its messages.

`contract` is what agents may do, for `lamina contract lamina.demo.todo:contract`; `app` is the application with an
agent that works on it.
"""

from lamina.demo.todo._agent import TASK, assistant, todo_app
from lamina.demo.todo._contract import Counts, NewTodo, contract
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
from lamina.demo.todo._update import Backend, ListFull, MemoryBackend, TodoHost, todo_host, updating

app = todo_app()
"""The todo application, and an agent that works on it with a deterministic model."""

__all__ = [
    "TASK",
    "Backend",
    "Counts",
    "FailedSubmitTodo",
    "ListFull",
    "MemoryBackend",
    "Message",
    "Model",
    "NewTodo",
    "RequestedClearCompleted",
    "RequestedCompleteTodo",
    "RequestedCreateTodo",
    "RequestedDeleteTodo",
    "RequestedRenameTodo",
    "RequestedSelectTodo",
    "SubmittedTodo",
    "Title",
    "Todo",
    "TodoHost",
    "app",
    "assistant",
    "contract",
    "todo_app",
    "todo_host",
    "updating",
]
