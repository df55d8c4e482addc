"""Text for a terminal: whatever a model or a file says, no control character and no markup of it gets through."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lamina.schema import JsonValue


def printable(text: str) -> str:
    """Replace what could move the cursor, change colours or reorder the line; a line break becomes a space.

    Example:
        >>> printable("a\\x1b[2Jb\\nc")
        'a�[2Jb c'
    """
    spaced = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
    return "".join(
        character if character.isprintable() else " " if character in "\t\xa0" else "\N{REPLACEMENT CHARACTER}"
        for character in spaced
    )


def printable_lines(text: str) -> list[str]:
    """Give the lines of a text, each printable.

    Example:
        >>> printable_lines("a\\nb\\x07")
        ['a', 'b�']
    """
    return [printable(line) for line in text.splitlines()]


def escaped(line: str) -> str:
    """Write what cannot be printed of a line of JSON as escapes, which read back as the same.

    Example:
        >>> escaped('{"a":"\u202eb"}')
        '{"a":"\\\\u202eb"}'
    """
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)


def cut(text: str, width: int) -> str:
    """Shorten a text to a number of characters, and show that it was.

    Example:
        >>> cut("abcdef", 4)
        'abc…'
    """
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def compact(value: JsonValue) -> str:
    """Give JSON in one line, the way one tells it and not the way one parses it; of a list, only how long it is.

    Example:
        >>> compact({"folder": "/tmp", "files": ["a.md", "b.md"], "complete": True})
        'folder: /tmp, files: 2, complete: true'
        >>> compact(7)
        '7'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{printable(key)}: {_inner(one)}" for key, one in value.items())
    return _inner(value)


def arguments(value: JsonValue) -> str:
    """Give a call's arguments as one writes them in a call: the values alone.

    Example:
        >>> arguments({"name": "a.md", "label": "crash"})
        'a.md, crash'
    """
    if isinstance(value, Mapping):
        return ", ".join(map(_inner, value.values()))
    return _inner(value) if value else ""


def _inner(value: JsonValue) -> str:
    if isinstance(value, str):
        return printable(value)
    return str(len(value)) if isinstance(value, list) else printable(json.dumps(value, ensure_ascii=False))


def pretty(value: JsonValue, width: int) -> list[str]:
    """Give JSON over as few lines as fit into a width; what fits into one line stays in one.

    Example:
        >>> pretty({"a": [1, 2], "b": "x"}, 15)
        ['{', '  "a": [1, 2],', '  "b": "x"', '}']
    """
    return [printable(line) for line in _layout(value, width, "")]


def _layout(value: JsonValue, width: int, start: str) -> list[str]:
    whole = json.dumps(value, ensure_ascii=False)
    if len(start) + len(whole) <= width or not value:
        return [start + whole]
    indent = " " * (len(start) - len(start.lstrip(" ")))
    if isinstance(value, Mapping):
        entries = [(f"{indent}  {json.dumps(key, ensure_ascii=False)}: ", one) for key, one in value.items()]
        opening, closing = "{", "}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        entries = [(f"{indent}  ", one) for one in value]
        opening, closing = "[", "]"
    else:
        return [start + whole]
    lines = [start + opening]
    for at, (head, one) in enumerate(entries, start=1):
        laid = _layout(one, width - 1, head)
        lines += laid if at == len(entries) else [*laid[:-1], f"{laid[-1]},"]
    return [*lines, indent + closing]


def count(number: int, noun: str) -> str:
    """Give a number with its noun.

    Example:
        >>> count(1, "turn"), count(1200, "token")
        ('1 turn', '1,200 tokens')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seconds(duration: float) -> str:
    """Give a time as one says it.

    Example:
        >>> seconds(0.0042), seconds(3.21), seconds(75)
        ('4 ms', '3.2 s', '1 min 15 s')
    """
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    return f"{duration:.1f} s" if duration < 60 else f"{int(duration) // 60} min {int(duration) % 60} s"
