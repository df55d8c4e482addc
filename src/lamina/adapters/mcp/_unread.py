"""A line that is no message: why, and whose answer it would have been, as far as its two ends show that."""

from __future__ import annotations

import re
from typing import Any, Final, cast

import mcp_types as wire
import orjson

NO_MESSAGE: Final = "Not a JSON-RPC 2.0 message"
MARGIN: Final = 512
"""Bytes of each end that are looked at."""
_ID: Final = rb'(-?\d{1,18}|"[^"\\\x00-\x1f]{1,128}")'
_FIRST: Final = re.compile(rb'\s{0,8}\{\s?"jsonrpc"\s?:\s?"2\.0"\s?,\s?"id"\s?:\s?' + _ID + rb'\s?,\s?"method"\s?:')
"""The order in which Python, Go and Rust write a request."""
_METHOD: Final = re.compile(rb'\s{0,8}\{\s?"method"\s?:')
_LAST: Final = re.compile(rb'"id"\s?:\s?' + _ID + rb"\s?\}\s{0,8}\Z")
"""That of TypeScript, where `method` comes first. Only the brace that closes the message can be the line's last."""


def begins_with_its_method(line: bytes | bytearray) -> bool:
    """Tell whether a line looks like a request whose id stands at its end."""
    return _METHOD.match(line[:MARGIN]) is not None


def asked_in(line: bytes) -> str | int | None:
    """Give the id of a request that cannot be read, or is not to be; None where none is seen.

    A line that may be an answer has none: its id is one of ours, and not of the peer's.

    Example:
        >>> asked_in(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"...')
        7
        >>> asked_in(b'{"method":"tools/call","params":{"id":1},"jsonrpc":"2.0","id":"a"}')
        'a'
        >>> asked_in(b'{"jsonrpc":"2.0","id":7,"result":{"a":"...')
    """
    found = _FIRST.match(line[:MARGIN])
    if found is None and begins_with_its_method(line):
        found = _LAST.search(line[-MARGIN:])
    if found is None:
        return None
    try:
        return cast("str | int", orjson.loads(found[1]))
    except ValueError:  # 007, or what is no UTF-8
        return None


def why_unread(line: bytes) -> tuple[int, str, str | int | None]:
    """Say why a line is no message, in the words of behaviour §3, and to whom."""
    try:
        value: Any = orjson.loads(line)
    except ValueError:
        return wire.PARSE_ERROR, "Parse error", asked_in(line)
    if isinstance(value, list):
        return wire.INVALID_REQUEST, "Batched requests are not supported", None
    members = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    request = members.get("id") if "method" in members else None
    known = isinstance(request, str | int) and not isinstance(request, bool)
    return wire.INVALID_REQUEST, NO_MESSAGE, cast("str | int", request) if known else None


def is_misnamed(line: bytes) -> bool:
    """Tell whether what was read as a notification has an id, which can only be no id: null, 1.5, true."""
    if b'"id"' not in line:
        return False
    try:
        return "id" in orjson.loads(line)
    except ValueError:  # not a number, which has no JSON, and which pydantic reads
        return True
