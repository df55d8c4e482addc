"""Stage 4: arguments become the handler's own type, or the call goes no further (CAP-004, RUN-003)."""

from __future__ import annotations

from typing import TypeVar

from returns.result import Failure

from lamina.call._outcome import ToolInvalidInput
from lamina.schema import Codec

I = TypeVar("I")  # noqa: E741 - the input


def decode(codec: Codec[I], arguments: str) -> I | ToolInvalidInput:
    """Decode the JSON text of a call's arguments, strictly.

    An empty text counts as `{}`: several providers send nothing for a tool without parameters.

    Returns:
        The input, or every problem at once as `$.path: why`.
    """
    decoded = codec.decode_json(arguments or "{}")
    if isinstance(decoded, Failure):
        return ToolInvalidInput(decoded.failure().problems)
    return decoded.unwrap()
