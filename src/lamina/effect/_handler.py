"""A handler: a function of one command whose further parameters are the services it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction, signature
from typing import Any, Generic, TypeVar, get_origin

import attrs

from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._names import name_of
from lamina.effect._program import Declaration, In_co, Program, Requirement
from lamina.effect._signature import Need, read_needs, resolved_hints
from lamina.effect._try import Try, run_fallible
from lamina.effect._where import Where, where_of

Command_contra = TypeVar("Command_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)
_AsyncFunction = Callable[..., Awaitable[Any]]


@attrs.frozen(eq=False)
class Handler(Program[In_co], Generic[In_co, Command_contra, Answer_co]):
    """A program that answers one command; made by `fallible` or `handler`.

    Attributes:
        name: The function's name.
        where: Where the function was written.
        needs: The services it takes after the command.
        fn: `fn(command, *services)`, to be called with hand-made services in a test.
    """

    name: str
    where: Where
    needs: tuple[Need, ...]
    fn: Callable[..., Awaitable[Answer_co]]

    def declare(self) -> Declaration:
        """Ask for one service a parameter."""
        asked = (Requirement(need.key, f"handler {self.name}({need.name})", self.where) for need in self.needs)
        return Declaration(f"handler {self.name}", self.where, tuple(asked))


def plain_handler(fn: _AsyncFunction) -> Handler[Any, Any, Any]:  # Any: the overloads in `_handlers` give the types
    """Make a handler of `fn(command, *services)`."""
    _refuse_without(fn, 1, "the command")
    return Handler(name_of(fn), where_of(fn), read_needs(fn, skip=1), fn)


def fallible_handler(fn: _AsyncFunction) -> Handler[Any, Any, Any]:  # Any: as above
    """Make a handler of `fn(command, ok, *services)`."""
    token = _refuse_without(fn, 2, "the command and `ok: Try[...]`")
    hint: object = resolved_hints(fn).get(token)
    if hint is not Try and get_origin(hint) is not Try:
        raise _refused(fn, f"parameter {token!r} has to be annotated with Try[...], the errors it may end with")
    return Handler(name_of(fn), where_of(fn), read_needs(fn, skip=2), run_fallible(fn))


def _refuse_without(fn: _AsyncFunction, count: int, what: str) -> str:
    """Check that a coroutine function has its leading parameters, and give the last one's name."""
    if not iscoroutinefunction(fn):
        raise _refused(fn, "has to be an `async def` function")
    names = list(signature(fn).parameters)
    if len(names) < count:
        raise _refused(fn, f"takes {what} first")
    return names[count - 1]


def _refused(fn: _AsyncFunction, reason: str) -> ConstructionError:
    return ConstructionError([Problem("SIGNATURE", name_of(fn), (f"{reason}  {where_of(fn)}",))])
