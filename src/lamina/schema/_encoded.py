"""Codecs of the user's own, whose JSON side is another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs
from returns.result import Failure, Result, Success

from lamina.effect import Value
from lamina.schema._describe import Definitions
from lamina.schema._mismatch import bad
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema

E = TypeVar("E")
T = TypeVar("T")
_FAILURE: Any = Failure  # what they hold is not known here
_SUCCESS: Any = Success


@attrs.frozen(eq=False, repr=False)
class Encoded(Value, Generic[E, T]):
    """Says, in `Annotated`, that a type travels as another one (design §1, "custom codecs").

    Use it for a class that is no attrs class (a path, a colour, a URL) or whose JSON is not its fields. The schema is
    the encoded side's, with its limits.

    Args:
        encoded: The type of the JSON side.
        decode: From the encoded side to the value. It may return the value or a `Result`; a `Failure` or an exception
            is a problem at that path, and its text is not quoted.
        encode: From the value to the encoded side.
        limits: Limits of the JSON side, of `annotated_types`: `(MaxLen(200),)`.
        expected: What the problem says, after "expected"; the type's name otherwise.

    Example:
        >>> from pathlib import PurePosixPath
        >>> from typing import Annotated
        >>> from lamina.schema import codec
        >>> Route = Annotated[PurePosixPath, Encoded(str, decode=PurePosixPath, encode=str)]
        >>> codec(Route).decode("a/b").unwrap()
        PurePosixPath('a/b')
        >>> codec(Route).json_schema["type"]
        'string'
    """

    encoded: type[E]
    decode: Callable[[E], T | Result[T, Any]] = attrs.field(kw_only=True)  # any error: its text is not read
    encode: Callable[[T], E] = attrs.field(kw_only=True)
    limits: tuple[object, ...] = attrs.field(default=(), kw_only=True)
    expected: str | None = attrs.field(default=None, kw_only=True)


class Converted(Shape):
    """The shape of a type with an `Encoded`."""

    def __init__(self, inner: Shape, codec: Encoded[Any, Any], target: object) -> None:
        self.inner = inner
        self.codec = codec
        self.target = target if isinstance(target, type) else None
        self.why = f"expected {codec.expected or getattr(target, '__name__', 'another value')}"

    def kinds(self) -> frozenset[Kind]:
        return self.inner.kinds()

    def hashable(self) -> bool:
        return self.target is None or self.target.__hash__ is not None

    def describe(self, defs: Definitions) -> Schema:
        return self.inner.describe(defs)

    def reader(self, detail: bool) -> Hook:
        inner, decode, why = self.inner.reader(detail), self.codec.decode, self.why

        def read(value: Any, _: object = None) -> Any:
            made = inner(value, None)
            try:
                given: Any = decode(made)
            except Exception:  # whatever it says may quote the value
                raise bad(why) from None
            if isinstance(given, _FAILURE):
                raise bad(why)
            return given.unwrap() if isinstance(given, _SUCCESS) else given

        return read

    def writer(self, detail: bool) -> Hook:
        inner, encode, target, why = self.inner.writer(detail), self.codec.encode, self.target, self.why

        def write(value: Any) -> Any:
            if target is not None and not isinstance(value, target):
                raise bad(why)
            try:
                made = encode(value)
            except Exception:  # whatever it says may quote the value
                raise bad(why) from None
            return inner(made)

        return write
