"""Stage 2: find what the call names (design §4)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from lamina.call._outcome import ToolRejected

C = TypeVar("C")
_LONGEST_NAME = 128


def resolve(catalog: Mapping[str, C], name: str) -> C | ToolRejected:
    """Look a capability up by the name that a model or a client gave.

    Returns:
        The capability, or `ToolRejected("no-such-tool")` with up to three names that come near.

    Example:
        >>> resolve({"read_file": 1}, "readfile")
        ToolRejected(reason='no-such-tool', detail='', nearest=('read_file',))
    """
    found = catalog.get(name)
    if found is not None:
        return found
    near = get_close_matches(name[:_LONGEST_NAME], catalog, n=3, cutoff=0.5)
    return ToolRejected("no-such-tool", nearest=tuple(near))
