"""Expected failures: frozen values with a tag and one sentence, no exceptions (design §2.1)."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Protocol, TypeVar, cast, dataclass_transform

import attrs

from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._names import name_of
from lamina.effect._value import Value
from lamina.effect._where import caller_where

T = TypeVar("T")


class _Tagged(Protocol):
    __tag__: str
    __template__: str


@dataclass_transform(frozen_default=True, field_specifiers=(attrs.field,))
def tagged(template: str) -> Callable[[type[T]], type[T]]:
    """Make a class an expected failure: frozen, comparable, with a tag and a one-sentence message.

    Use it for everything that a handler may answer instead of its value. The tag is the class's name, and the `_tag`
    of its JSON form; the message is the template filled with the fields.

    Args:
        template: The message, with fields and properties in braces.

    Returns:
        A decorator that gives an attrs class with slots.

    Raises:
        ConstructionError: There is no template, or it names a field that the class does not have.

    Example:
        >>> @tagged("Issue {number} was not found in {repo}.")
        ... class IssueNotFound:
        ...     repo: str
        ...     number: int
        >>> error = IssueNotFound("lamina", 7)
        >>> error, str(error)
        (IssueNotFound(repo='lamina', number=7), 'Issue 7 was not found in lamina.')
    """

    if not isinstance(template, str):  # pyright: ignore[reportUnnecessaryIsInstance] - `@tagged` above a class
        line = f"the message is missing  {caller_where()}"
        raise ConstructionError([Problem("TEMPLATE", name_of(template), (line,), '@tagged("...")')])

    def decorate(cls: type[T]) -> type[T]:
        for name, method in _METHODS.items():
            if name not in cls.__dict__:
                setattr(cls, name, method)
        # Programs hold many errors and compare few: methods that all share are not compiled for each class anew.
        made = attrs.frozen(cls, eq=False, repr=False)
        marked = cast("_Tagged", made)
        marked.__tag__ = cls.__name__
        marked.__template__ = template
        known = {field.name for field in attrs.fields(cast("type[attrs.AttrsInstance]", made))}
        known |= {name for each in made.__mro__ for name, member in vars(each).items() if isinstance(member, property)}
        if why := _why_not(template, known):
            fields = f"one of: {', '.join(sorted(known)) or 'no field at all'}"
            raise ConstructionError([Problem("TEMPLATE", cls.__name__, (f"{why}  {caller_where()}",), fields)])
        return made

    return decorate


def _why_not(template: str, known: set[str]) -> str | None:
    """Say what keeps a template from being filled."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        return f"the message is no format: {error}"
    asked = {name.split(".")[0].split("[")[0] for name in names}
    if "" in asked:
        return "the message has braces without a name"
    unknown = ", ".join(sorted(asked - known))
    return f"the message names {unknown}, which is no field or property" if unknown else None


class _Named(dict[str, object]):
    """Gives the template what it names, and computes nothing else."""

    def __init__(self, error: object) -> None:
        self._error = error

    def __missing__(self, name: str) -> object:
        return getattr(self._error, name)


def _message(self: _Tagged) -> str:
    return self.__template__.format_map(_Named(self))


_METHODS = {
    "__str__": _message,
    "__eq__": Value.__eq__,
    "__hash__": Value.__hash__,
    "__repr__": Value.__repr__,
}


def tag_of(error: object) -> str:
    """Give an error's tag: the class name, for a tagged error and for any other value.

    Example:
        >>> tag_of(ValueError("secret"))
        'ValueError'
    """
    return cast("str", getattr(type(error), "__tag__", type(error).__name__))


def message_of(error: object) -> str:
    """Give an error's one sentence; for a value that has none, a fixed one that quotes nothing.

    Example:
        >>> message_of(ValueError("secret"))
        'ValueError'
        >>> message_of("not there")
        'not there'
    """
    if isinstance(error, str):
        return error
    return str(error) if hasattr(type(error), "__template__") else tag_of(error)
