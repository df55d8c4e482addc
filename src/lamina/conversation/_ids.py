"""Which ids and principals there can be: what is stored, shown and put into file names has to be plain."""

from __future__ import annotations

from typing import get_args

from lamina.approval import Approved, Covers, Denied
from lamina.conversation._errors import InvalidId
from lamina.redaction import Secrets

LONGEST_ID = 128
LONGEST_PRINCIPAL = 256


def check_id(what: str, given: object) -> InvalidId | None:
    """Say why something cannot be an id: 1 to 128 printable characters, without `/` and `\\`, and not `.` or `..`.

    Example:
        >>> check_id("conversation", "support-7"), check_id("conversation", "../etc").why
        (None, 'it holds a path separator')
    """
    why = _why(given, LONGEST_ID)
    if why is None and isinstance(given, str):
        if "/" in given or "\\" in given:
            why = "it holds a path separator"
        elif given in (".", ".."):
            why = "it names a folder"
    return None if why is None else InvalidId(what, why)


def check_principal(given: object) -> InvalidId | None:
    """Say why something cannot be a principal: None, or 1 to 256 printable characters.

    Example:
        >>> check_principal("ada@example.org"), check_principal("").why
        (None, 'it is empty')
    """
    why = None if given is None else _why(given, LONGEST_PRINCIPAL)
    return None if why is None else InvalidId("principal", why)


def check_approver(given: object) -> InvalidId | None:
    """Say why something cannot name who decided: 1 to 256 printable characters."""
    why = _why(given, LONGEST_PRINCIPAL)
    return None if why is None else InvalidId("approver", why)


def check_decision(given: object) -> InvalidId | None:
    """Say why something cannot be a decision: a type checker does not see what comes from outside.

    Example:
        >>> check_decision(Approved("ada")), check_decision("yes").why
        (None, 'it is neither Approved nor Denied')
    """
    if not isinstance(given, Approved | Denied):
        return InvalidId("decision", "it is neither Approved nor Denied")
    if given.covers not in get_args(Covers):
        return InvalidId("decision", "it covers neither the call nor the tool")
    if isinstance(given, Denied) and (why := _no_reason(given.reason)) is not None:
        return InvalidId("decision", why)
    return check_approver(given.by)


def _no_reason(given: object) -> str | None:
    if type(given) is not str:
        return "its reason is no text"
    try:
        given.encode()
    except UnicodeEncodeError:
        return "its reason holds half of a character"
    return None


def check_clean(what: str, given: object, secrets: Secrets) -> InvalidId | None:
    """Say whether an id or a principal holds a secret: it is in every record, so it cannot be hidden."""
    held = isinstance(given, str) and secrets.active and secrets.redact_text(given) != given
    return InvalidId(what, "it holds a secret") if held else None


def _why(given: object, longest: int) -> str | None:
    if type(given) is not str:
        return "it is no text"
    if not given:
        return "it is empty"
    if len(given) > longest:
        return f"it has more than {longest} characters"
    if not given.isprintable():  # control characters, NUL, line ends, lone surrogates
        return "it holds a character that cannot be printed"
    return "it begins or ends with a space" if given.strip() != given else None


def stored_id(record_id: str) -> str:
    """Give the form of a record id that every database keeps: a model's call ids may hold anything, NUL too.

    Example:
        >>> stored_id("started:run-1/1/a\\0")
        'started:run-1/1/a\\\\0'
    """
    if "\0" in record_id or "\\" in record_id:
        return record_id.replace("\\", "\\\\").replace("\0", "\\0")
    return record_id
