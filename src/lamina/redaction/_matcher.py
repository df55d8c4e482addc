"""What is looked for, ready to be looked for: the forms of the values that are known, and the patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import attrs
import orjson

from lamina.effect import ConstructionError, Problem, caller_where
from lamina.redaction._blocks import Blocks

MASK = "[REDACTED:secret]"
"""What stands in place of a secret."""
_HEAD = 4
_NUMERIC = frozenset("0123456789+-.eE")
_MOST_LENGTH = 8_192


def _compiled(regex: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        pattern = re.compile(regex)
        wrong = "it matches the empty text" if pattern.search("") else None
    except re.error as error:
        raise ConstructionError([_problem(f"it is no regular expression: {error}")]) from None
    if wrong is not None:
        raise ConstructionError([_problem(wrong)])
    return pattern


def _problem(why: str) -> Problem:
    return Problem("SECRETS", "SecretPattern", (why, str(caller_where())))


@attrs.frozen
class SecretPattern:
    """A regular expression for secrets whose values nobody knows beforehand.

    What the whole expression matches is hidden; put what only leads to it into a look-behind.

    Attributes:
        regex: The expression, for `re`.
        longest: The longest match that is promised to be found where a text comes in pieces, in characters: so much of
            a stream is held back.

    Example:
        >>> SecretPattern(r"sk-[A-Za-z0-9]{20,64}", longest=67).longest
        67
    """

    regex: re.Pattern[str] = attrs.field(converter=_compiled)
    longest: int = 128

    def __attrs_post_init__(self) -> None:
        if not 0 < self.longest <= _MOST_LENGTH:
            raise ConstructionError([_problem(f"longest is a number of characters from 1 to {_MOST_LENGTH}")])


class Matcher:
    """Finds secrets in texts; it does not change.

    Attributes:
        numeric: Whether a number may be a secret.
        lag: How many characters a stream holds back for the patterns.
        patterns: Whether there are any.
        longest: The longest text that a match may have, in characters.
    """

    __slots__ = (
        "_expressions",
        "_heads",
        "_in_json",
        "_in_text",
        "_shortest",
        "_starts",
        "lag",
        "longest",
        "numeric",
        "patterns",
    )

    def __init__(self, needles: Iterable[str], patterns: Sequence[SecretPattern]) -> None:
        texts = set(needles)
        written = [text.encode() for text in texts]
        dumped = [orjson.dumps(text)[1:-1] for text in texts]
        self._in_text = Blocks(written)
        self._in_json = self._in_text if set(written) == set(dumped) else Blocks(dumped)
        self._expressions = tuple(pattern.regex for pattern in patterns)
        self.patterns = bool(patterns)
        self.numeric = self.patterns or any(_NUMERIC.issuperset(text) for text in texts)
        self.lag = max((pattern.longest for pattern in patterns), default=1) - 1
        self.longest = max(self.lag + 1, max(map(len, texts), default=0))
        self._shortest = min(map(len, texts), default=1)
        self._heads: dict[str, list[str]] = {}
        for text in texts:
            self._heads.setdefault(text[:_HEAD], []).append(text)
        self._starts = {text[:length] for text in texts for length in range(1, _HEAD)}

    def json_may_hold(self, data: bytes) -> bool:
        """Tell whether a value that is known may be in a JSON text; patterns are not looked for."""
        return self._in_json.may_hold(data)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Give where secrets are, in order; those that overlap are one, those that only touch are two."""
        found: list[tuple[int, int]] = []
        if len(text) >= self._shortest:
            data = text.encode("utf-8", "surrogatepass")
            if self._in_text.may_hold(data):
                found = self._in_text.find(data)
                if found and len(data) != len(text):
                    found = _in_characters(data, found)
        for expression in self._expressions:
            found += [match.span() for match in expression.finditer(text) if match.end() > match.start()]
        if len(found) < 2:
            return found
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def redacted(self, text: str) -> str:
        """Give the text without secrets; the same object where there is none."""
        spans = self.spans(text)
        if not spans:
            return text
        pieces: list[str] = []
        at = 0
        for start, end in spans:
            pieces += (text[at:start], MASK)
            at = end
        return "".join((*pieces, text[at:]))

    def unfinished(self, text: str, start: int) -> int:
        """Give the first place from `start` on at which a known value may have begun that the text does not end."""
        for place in range(max(start, len(text) - self.longest + 1), len(text)):
            rest = text[place:]
            if len(rest) < _HEAD:
                if rest in self._starts:
                    return place
            elif any(len(one) > len(rest) and one.startswith(rest) for one in self._heads.get(rest[:_HEAD], ())):
                return place
        return len(text)


def _in_characters(data: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Turn places in UTF-8 into places in the text; a needle begins and ends between two characters."""
    places = sorted({place for span in spans for place in span})
    characters: dict[int, int] = {}
    before = count = 0
    for place in places:
        count += len(data[before:place].decode("utf-8", "surrogatepass"))
        characters[place] = count
        before = place
    return [(characters[start], characters[end]) for start, end in spans]
