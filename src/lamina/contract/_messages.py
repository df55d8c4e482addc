"""Messages: a tagged union of attrs classes, and the public names that are made of their tags (behaviour §1.1)."""

from __future__ import annotations

import re
from types import UnionType
from typing import Union, cast, get_args, get_origin

import attrs

from lamina.effect import ConstructionError, Problem, caller_where, name_of

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def members_of(messages: object) -> tuple[type, ...]:
    """Give the classes of a union of messages.

    Raises:
        ConstructionError: A member is no attrs class, or two have one tag.

    Example:
        >>> @attrs.frozen
        ... class Opened: ...
        >>> @attrs.frozen
        ... class Closed: ...
        >>> members_of(Opened | Closed) == (Opened, Closed)
        True
    """
    is_union = get_origin(messages) in (UnionType, Union)
    members: tuple[object, ...] = get_args(messages) if is_union else (messages,)
    lines = [_why_not(one) for one in members if not (isinstance(one, type) and attrs.has(one))]
    tags = [name_of(one) for one in members]
    lines += [f"two messages have the tag {tag!r}" for tag in dict.fromkeys(tags) if tags.count(tag) > 1]
    if lines:
        raise ConstructionError([Problem("MESSAGES", "the Message union", (*lines, str(caller_where())))])
    return cast("tuple[type, ...]", members)


def _why_not(message: object) -> str:
    origin = get_origin(message)
    if isinstance(origin, type) and attrs.has(origin):
        # Its instances are of the generic class, so that none would tell which of its messages it is.
        whole, arguments = name_of(message), get_args(message)
        named = "".join(name_of(one).capitalize() for one in arguments if isinstance(one, type))
        return f"{whole} is no class of its own; write: @attrs.frozen class {origin.__name__}{named}({whole}): ..."
    return f"{name_of(message)} is no attrs class{how_else(message)}"


def how_else(given: object) -> str:
    """Say what makes an attrs class of something, or where it goes, for the end of a sentence."""
    if isinstance(given, type):
        return "; write @attrs.frozen above it"
    if attrs.has(type(given)):
        return "; give its class, and not one of them"
    return "; a union of classes is written A | B" if isinstance(given, list | tuple | set | frozenset) else ""


def default_name(tag: str) -> str:
    """Give the public name of a tag: every capital begins a word.

    Example:
        >>> default_name("RequestedDeleteTodo"), default_name("Load2Todos"), default_name("LoadedHTTPCache")
        ('requested_delete_todo', 'load2_todos', 'loaded_h_t_t_p_cache')
    """
    return _CAPITAL.sub("_", tag).lower()
