"""`lamina demo todo`: an agent drives an application through its contract, and nothing else."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from lamina.cli._choose import AnyBinding, on_model
from lamina.cli._execute import Alone, execute
from lamina.cli._load import AnyApp
from lamina.cli._models import ModelChoice
from lamina.cli._output import JsonLines
from lamina.cli._plain import count, printable
from lamina.cli._screen import Screen
from lamina.cli._timeline import Timeline
from lamina.demo.todo import TASK, TodoHost, app, assistant
from lamina.effect import handler
from lamina.engine import RunHandle


@handler
async def _live(_: None, host: TodoHost) -> TodoHost:
    return host


class _Driving(Alone):
    """Conducts the run, and keeps the application that it drives."""

    def __init__(self, binding: AnyBinding) -> None:
        super().__init__(binding, TASK)
        self.host: TodoHost | None = None

    async def begin(self, runtime: Any) -> tuple[RunHandle[Any], tuple[str, ...]]:  # Any: as in `Alone`
        """Start the run."""
        self.host = await runtime.run(_live, None)
        return await super().begin(runtime)


def run_todo(choice: ModelChoice, *, json: bool) -> int:
    """Let the assistant work on the todo application, and show what it then holds.

    Args:
        choice: The model.
        json: Whether events are printed in place of a timeline.

    Returns:
        The exit code of the run.
    """
    application: AnyApp = app
    binding: AnyBinding = app.agents[assistant.id]
    if choice.kind != "scripted":
        application, binding = on_model(application, binding, choice.layer())
    driving = _Driving(binding)
    if json:
        return execute(application, driving, JsonLines(), assistant.id, choice.title)
    screen = Screen()
    screen.line(Text(f"Task: {TASK}", style="dim"), hanging=6)
    with screen.shared():
        code = execute(application, driving, Timeline(screen), assistant.id, choice.title, screen.tick)
    if driving.host is not None:
        _show(screen, driving.host)
    return code


def _show(screen: Screen, host: TodoHost) -> None:
    todos = host.model().todos
    screen.line()
    screen.line(f"The application took {count(len(host.messages), 'message')} and holds {count(len(todos), 'todo')}:")
    for todo in todos:
        screen.line(f"  {todo.id}  {printable(todo.title)}{' (done)' if todo.done else ''}", hanging=4)
