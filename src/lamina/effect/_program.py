"""What may be run: a value that declares what it needs, before anything is acquired."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from lamina.effect._construction import Problem
from lamina.effect._value import Value
from lamina.effect._where import Where

if TYPE_CHECKING:
    from lamina.effect._layer import Layer

In_co = TypeVar("In_co", covariant=True)


@attrs.frozen(eq=False, repr=False)
class Requirement(Value):
    """One service that a program asks of the runtime.

    Attributes:
        key: The service's class.
        who: Who asks, as a report prints it: `tool label_issue (needs_approval)`.
        where: Where that was written.
        optional: Whether the program runs without it.
        write: The line that mends its absence, where the program can tell.
    """

    key: object
    who: str
    where: Where
    optional: bool = False
    write: str | None = None


@attrs.frozen(eq=False)
class Declaration:
    """All that a plan has to know of a program.

    Requirements are looked for in the private layer first, whose own needs come from the app, and then in the app.

    Attributes:
        name: The program, as a report prints it: `agent "triage"`.
        where: Where it was written.
        requirements: What it asks for.
        problems: What the program itself found wrong; they join the plan's one report.
        private: A layer that only this program sees.
    """

    name: str
    where: Where
    requirements: tuple[Requirement, ...] = ()
    problems: tuple[Problem, ...] = ()
    private: Layer[Any, Any, Any] | None = None  # Any: the program has checked its own layer's types


class Program(ABC, Generic[In_co]):
    """A value that a runtime can run: a handler, an agent with its model, a contract (design §1)."""

    __slots__ = ()

    @abstractmethod
    def declare(self) -> Declaration:
        """Say what the program needs; pure, and called once a plan."""
