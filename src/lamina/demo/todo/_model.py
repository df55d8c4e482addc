"""What the todo application is: its model, and everything that can happen to it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import attrs
from annotated_types import Len

Title: TypeAlias = Annotated[str, Len(1, 120)]


@attrs.frozen
class Todo:
    """Something to be done."""

    id: str
    title: str
    done: bool = False


@attrs.frozen
class Model:
    """The whole state of the application; `last_error` is for its own screen, and no agent's business.

    Attributes:
        todos: In the order in which they were made.
        selected: The id of the todo that is selected; None where none is.
        last_error: What went wrong last.
    """

    todos: tuple[Todo, ...] = ()
    selected: str | None = None
    last_error: str | None = None

    def todo(self, id: str | None) -> Todo | None:  # noqa: A002 - what a todo calls it
        """Give a todo by its id."""
        return next((one for one in self.todos if one.id == id), None)


@attrs.frozen
class RequestedCreateTodo:
    """Somebody wants a todo; the backend is to give it its id."""

    title: str
    request_id: str = ""


@attrs.frozen
class SubmittedTodo:
    """The backend has taken a todo."""

    id: str
    title: str
    request_id: str


@attrs.frozen
class FailedSubmitTodo:
    """The backend has not taken a todo."""

    why: str
    request_id: str


@attrs.frozen
class RequestedRenameTodo:
    """Somebody wants a todo to have another title."""

    id: str
    title: Title


@attrs.frozen
class RequestedCompleteTodo:
    """Somebody says that a todo is done."""

    id: str


@attrs.frozen
class RequestedSelectTodo:
    """Somebody selects a todo."""

    id: str


@attrs.frozen
class RequestedDeleteTodo:
    """Somebody wants a todo to be gone."""

    id: str


@attrs.frozen
class RequestedClearCompleted:
    """Somebody wants all that is done to be gone."""


Message: TypeAlias = (
    RequestedCreateTodo
    | SubmittedTodo
    | FailedSubmitTodo
    | RequestedRenameTodo
    | RequestedCompleteTodo
    | RequestedSelectTodo
    | RequestedDeleteTodo
    | RequestedClearCompleted
)
"""Everything that can happen."""
