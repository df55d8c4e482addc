"""What a parameter may be: values that stand in the request itself, so that a small model cannot invent them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lamina.providers.local._schema import Parameter
from lamina.providers.local._words import fills, words_of
from lamina.schema import JsonValue

MOST_WORDS = 8
"""The longest text that is copied, in words."""
MOST_VALUES = 96

_EDGES = " \t\r\n.,;:!?\"'()[]{}<>`"
_PATH = re.compile(r"[\w./-]*\w[./]\w[\w./-]*")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")


def values_of(
    parameter: Parameter, request: str, known: Sequence[str] = (), tool: str = "", used: Sequence[str] = ()
) -> list[JsonValue]:
    """List what a parameter may be, most often from the request's own words.

    Args:
        parameter: What is to be filled in.
        request: The words that ask for the call.
        known: Paths that earlier results named.
        tool: The tool's name and description, whose own words begin and end no value.
        used: Values that other parameters of the call have taken.

    Returns:
        The candidates; empty where none is in sight.

    Example:
        >>> values_of(Parameter("city", "Name of the city", "text", {}), "weather in New York", tool="get weather")
        ['New', 'New York', 'York']
    """
    if parameter.kind == "choice":
        said = without_paths(request)
        return [choice for choice in parameter.choices if _mentions(said, choice)] or list(parameter.choices)
    if parameter.kind == "number":
        numbers = [float(text) for text in _NUMBER.findall(request)]
        whole = [int(number) for number in numbers if number.is_integer()]
        return list(dict.fromkeys(whole)) if parameter.is_whole else list(dict.fromkeys(numbers))
    if parameter.kind == "path":
        return list(paths_in(request)) or list(known)
    if parameter.kind == "text":
        return list(_spans(request, words_of(tool), used)[:MOST_VALUES])
    return []


def paths_in(text: str) -> list[str]:
    """Find what looks like a path or a file's name.

    Example:
        >>> paths_in("Compare login.txt with old/login.txt.")
        ['login.txt', 'old/login.txt']
    """
    return list(dict.fromkeys(found.rstrip(".") for found in _PATH.findall(text)))


def without_paths(text: str) -> str:
    """Say "the file" for every path: what a file is called is not what is asked for.

    Example:
        >>> without_paths("Read crash-on-save.txt, please")
        'Read the file, please'
    """
    return _PATH.sub(lambda found: "the file." if found.group().endswith(".") else "the file", text)


def _mentions(request: str, choice: JsonValue) -> bool:
    words = re.escape(choice.replace("_", " ").lower()) if isinstance(choice, str) else ""
    return bool(words) and re.search(rf"\b{words}\b", request.replace("_", " ").lower()) is not None


def _spans(request: str, own: Sequence[str], used: Sequence[str]) -> list[str]:
    """Give every run of words that may be a value, shortest first from each place."""
    spans: dict[str, None] = {}
    whole: dict[str, None] = {}
    piece = _without(request, used)
    places = [found.span() for found in re.finditer(r"\S+", piece)]
    for first in range(len(places)):
        for last in range(first, min(len(places), first + MOST_WORDS)):
            span = piece[places[first][0] : places[last][1]].strip(_EDGES)
            if span:
                whole[span] = None
                if not _is_edge(span.split()[0], own) and not _is_edge(span.split()[-1], own):
                    spans[span] = None
    return list(spans or whole)


def _is_edge(word: str, own: Sequence[str]) -> bool:
    stems = words_of(word)
    return fills(word.strip(_EDGES)) or (len(stems) == 1 and stems[0] in own)


def _without(request: str, used: Sequence[str]) -> str:
    """Cut out what other parameters have taken, and give the last piece that still says something."""
    taken = "|".join(re.escape(value) for value in used if value)
    pieces = re.split(rf"(?<!\w)(?:{taken})(?!\w)", request) if taken else [request]
    return next((piece for piece in reversed(pieces) if words_of(piece)), request)
