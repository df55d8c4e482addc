"""The forms in which a secret is looked for: as it is, escaped in JSON, percent-encoded, and inside base64."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_UPPER = re.compile(r"%[0-9A-F]{2}")
_UNICODE = re.compile(r"\\u[0-9a-f]{4}")
# The characters that JavaScript's encodeURIComponent leaves alone, beside letters, digits and "-_.".
_COMPONENT = "!'()*~"


def forms_of(value: str) -> frozenset[str]:
    """Give every text that counts as the secret.

    Found are: the value itself, with either kind of line end; the value in a JSON text, and in a JSON text that stands
    in another one, with and without `\\uXXXX` and with escaped slashes; percent-encoded as Python and JavaScript do it,
    in either case, and with `+` for a space; and in base64, in both alphabets, wherever the value stands in what was
    encoded. Other encodings (hexadecimal, compression, base64 in lines, a mixture) are not found.

    Example:
        >>> sorted(forms_of("pass word"))
        ['Bhc3Mgd29yZ', 'cGFzcyB3b3Jk', 'pass word', 'pass%20word', 'pass+word', 'wYXNzIHdvcm']
    """
    found: set[str] = set()
    for text in {value, value.replace("\n", "\r\n")}:
        found.add(text)
        for once in _escaped(text):
            found.add(once)
            found.update(_escaped(once))
        found.update(_percent(text))
        found.update(_base64(text.encode()))
    return frozenset(found)


def _escaped(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        written = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for one in {written, _UNICODE.sub(lambda match: "\\u" + match[0][2:].upper(), written)}:
            yield one
            yield one.replace("/", "\\/")


def _percent(text: str) -> Iterator[str]:
    for one in (quote(text), quote(text, safe=""), quote(text, safe=_COMPONENT), quote_plus(text)):
        yield one
        yield _UPPER.sub(lambda match: match[0].lower(), one)


def _base64(data: bytes) -> Iterator[str]:
    """Give what is always there: the characters all of whose six bits are the secret's own, for each alignment."""
    for before in range(3):
        whole = b64encode(bytes(before) + data).decode().rstrip("=")
        bits = 8 * (before + len(data))
        sure = whole[-(-8 * before // 6) : bits // 6]
        yield sure
        yield sure.replace("+", "-").replace("/", "_")
