"""The words that a request shares with a tool: what the model does not have to guess."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_FILLING = re.compile(
    "a|an|and|are|at|be|can|could|do|does|for|from|i|in|is|it|me|must|my|not|of|on|or|please|so|that|the|this|to|we"
    "|what|with|would|you|your"
)
_ENDINGS = ("ing", "ies", "es", "s", "ed")


def words_of(text: str) -> list[str]:
    """Give a text's words, in lower case and without the endings of grammar; what fills sentences is left out.

    Example:
        >>> words_of("Please search the reports for timeouts")
        ['search', 'report', 'timeout']
    """
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return [_stem(word) for word in re.findall(r"[^\W_]+", split) if not fills(word)]


def overlaps(request: str, descriptions: Sequence[str]) -> list[float]:
    """Say for each description how much it shares with the request; a word that few of them have counts more.

    Example:
        >>> [round(score, 1) for score in overlaps("read the file", ["read one file", "list all files", "add"])]
        [2.8, 0.0, 0.0]
    """
    asked = frozenset(words_of(request))
    described = [frozenset(words_of(description)) for description in descriptions]
    frequency = Counter(word for words in described for word in words)
    count = len(described)
    weights = [[math.log(1 + count / frequency[word]) for word in sorted(asked & words)] for words in described]
    return [math.fsum(one) for one in weights]


def fills(word: str) -> bool:
    """Whether a word only fills a sentence."""
    return _FILLING.fullmatch(word.lower()) is not None


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
