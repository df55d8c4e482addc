"""What can be a command: the same on every implementation."""

from __future__ import annotations

from typing import TypeAlias, get_args

from lamina.conversation import InvalidId, check_clean, check_id, check_principal
from lamina.effect import ConstructionError, Problem, caller_where
from lamina.redaction import Secrets
from lamina.steering.port import LONGEST_TEXT, CommandKind, CommandRefused

Refused: TypeAlias = InvalidId | CommandRefused


def check_command(
    command: object, text: object, author: object = None, kind: object = "steering", *, secrets: Secrets | None = None
) -> Refused | None:
    """Say why something cannot be said to a run.

    An id is as that of a conversation, and holds no colon: what a run itself is given has ids with one. Neither an id
    nor an author holds a secret: both are in records and events, where a name cannot be hidden.

    Example:
        >>> check_command("c-1", "Use euros.")
        >>> str(check_command("c-1", " "))
        'The command is refused: it is empty.'
        >>> str(check_command("run-1:0", "Use euros."))
        'The command id is refused: it holds a colon.'
    """
    if (refused := check_id("command", command)) is not None:
        return refused
    if ":" in str(command):
        return InvalidId("command", "it holds a colon")
    if (refused := check_principal(author)) is not None:
        return InvalidId("author", refused.why)
    if secrets is not None and secrets.active:
        named = check_clean("command", command, secrets) or check_clean("author", author, secrets)
        if named is not None:
            return named
    if kind not in get_args(CommandKind):
        return CommandRefused("it is neither steering nor a follow-up")
    why = _why(text)
    return None if why is None else CommandRefused(why)


def check_limit(limit: object) -> None:
    """Refuse a bound that is none.

    Raises:
        ConstructionError: It is no whole number from 1 to 1,024.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 1_024:
        line = f"limit is a whole number from 1 to 1,024  {caller_where()}"
        raise ConstructionError([Problem("STEERING", "limit", (line,))])


def _why(text: object) -> str | None:
    if type(text) is not str:
        return "it is no text"
    if len(text) > LONGEST_TEXT:
        return f"it has more than {LONGEST_TEXT:,} characters"
    if not text.strip():
        return "it is empty"
    if "\0" in text:
        return "it holds a NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "it holds half of a character"
    return None
