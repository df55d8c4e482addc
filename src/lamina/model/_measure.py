"""How large a piece of a response is, in UTF-8 bytes, and whether it is text or JSON at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from lamina.model._protocol import Violation

DEEPEST = 64
LONGEST_IDENTIFIER = 1024


def size_of_text(text: str) -> int:
    """Give a text's size in bytes; lone surrogates cannot be stored or sent, and are refused.

    Example:
        >>> size_of_text("é")
        2
    """
    if type(text) is not str:
        raise Violation("malformed-part", "a text is no string")
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise Violation("not-unicode", "a text holds half of a surrogate pair") from None


def size_of_identifier(text: str) -> int:
    """Give the size of an id or a name, which is neither empty nor longer than 1 024 bytes.

    Example:
        >>> size_of_identifier("call-1")
        6
    """
    size = size_of_text(text)
    if not 0 < size <= LONGEST_IDENTIFIER:
        raise Violation("identifier", "an id or a name is empty or too long")
    return size


def size_of_json(value: object) -> int:
    """Give about the size of a JSON value, walking it without recursion, however deep it is.

    Example:
        >>> size_of_json({"a": [1, "bc"]})
        14
    """
    size = 0
    todo: list[tuple[object, int]] = [(value, 1)]
    while todo:
        item, depth = todo.pop()
        if depth > DEEPEST:
            raise Violation("not-json", "a value is nested too deeply")
        if item is None or item is True or item is False:
            size += 4
        elif type(item) is str:
            size += size_of_text(item) + 2
        elif type(item) is int:
            size += item.bit_length() // 3 + 1
        elif type(item) is float:
            if not math.isfinite(item):
                raise Violation("not-json", "a number is not finite")
            size += 8
        elif isinstance(item, list | tuple):
            members = cast("list[object]", item)
            size += len(members) + 2
            todo += [(member, depth + 1) for member in members]
        elif isinstance(item, Mapping):
            fields = cast("Mapping[object, object]", item)
            for key, member in fields.items():
                if type(key) is not str:
                    raise Violation("not-json", "a key is no string")
                size += size_of_text(key) + 4
                todo.append((member, depth + 1))
        else:
            raise Violation("not-json", "a value is no JSON")
    return size
