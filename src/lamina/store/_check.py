"""What no database is asked: values that not all of them keep as they are, and statements about the transaction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from lamina.store.port import Statement, StatementError, Value, ValueRefused

LARGEST = 64 * 1024 * 1024
"""Characters or bytes that one value may have; what is larger belongs into a file, with its digest here."""

_OURS = frozenset({"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PRAGMA", "SET"})
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n)*([A-Za-z]*)")
_LEAST, _MOST = -(2**63), 2**63 - 1
_Why = Literal["nul", "surrogate", "range", "size"]


@lru_cache(maxsize=1024)
def first_word(sql: str) -> str:
    """Give a statement's first word in capitals.

    Raises:
        StatementError: It is about the transaction, which is the store's own.
    """
    found = _FIRST_WORD.match(sql)
    word = found[1].upper() if found is not None else ""
    if word in _OURS or not word:
        raise StatementError(f"{word or 'nothing'} is no statement for a unit, which the store begins and commits")
    return word


def check_unit(statements: Sequence[Statement]) -> ValueRefused | int:
    """Look at every value of a unit before anything is done, but for those that were looked at.

    Returns:
        What cannot be stored; or about how many bytes the unit has.

    Raises:
        StatementError: A statement is about the transaction, or a value of a type that no column holds.
    """
    size = 0
    for index, statement in enumerate(statements):
        first_word(statement.sql)
        if statement.size is not None:
            size += statement.size
            continue
        texts: list[Any] = []
        value: Any  # Any: no `cast`, which is a call for each value
        for value in statement.parameters:
            kind: object = type(value)  # pyright: ignore[reportUnknownVariableType]
            if kind is str:
                texts.append(value)
            elif kind is int:
                if not _LEAST <= value <= _MOST:
                    break
            elif value is not None:
                break
        else:  # these three are nearly all there is, and the texts are looked at all at once
            text = "".join(texts)
            if len(text) <= LARGEST and text.isascii() and "\0" not in text:
                size += len(text)
                continue
        for number, value in enumerate(statement.parameters, 1):
            if (why := _why_not(value)) is not None:
                return ValueRefused(index, number, why)
            if isinstance(value, str | bytes):
                size += len(value)
    return size


def _why_not(value: Value) -> _Why | None:
    if value is None:
        return None
    if isinstance(value, int):
        return None if _LEAST <= value <= _MOST else "range"
    if isinstance(value, float):
        return None if value == value else "range"  # only NaN differs from itself
    if not isinstance(value, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance] - what the type says may not be what came
        raise StatementError(f"a {type(value).__name__} is no parameter: a column holds str, int, float, bytes or None")
    if len(value) > LARGEST:
        return "size"
    if isinstance(value, bytes):
        return None
    if "\0" in value:
        return "nul"
    return None if _is_unicode(value) else "surrogate"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
