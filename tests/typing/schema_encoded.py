"""A codec of the user's own: both functions must agree with the encoded type."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

import attrs
from annotated_types import MinLen
from returns.result import Result, Success

from lamina.schema import Encoded, codec


def parse(text: str) -> Result[PurePosixPath, str]:
    return Success(PurePosixPath(text))


def length(number: int) -> PurePosixPath:
    return PurePosixPath("a" * number)


plain = Encoded(str, decode=PurePosixPath, encode=str)
bounded = Encoded(str, decode=parse, encode=str, limits=(MinLen(1),))
checked = Encoded(str, decode=parse, encode=str, expected="a path")
Encoded(str, decode=length, encode=str)  # ERR
Encoded(str, decode=parse, encode=len)  # ERR
Encoded(str, parse, str)  # ERR
Encoded(str, decode=parse)  # ERR


@attrs.frozen
class Page:
    path: Annotated[PurePosixPath, checked]


codec(Page).encode(Page(PurePosixPath("a")))
Page("a")  # ERR
