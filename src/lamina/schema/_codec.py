"""The codec of a type: what everything above this floor uses."""

from __future__ import annotations

from functools import cached_property, lru_cache
from threading import RLock
from typing import Any, Generic, TypeVar, cast, overload

from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError
from lamina.schema._describe import Definitions
from lamina.schema._json import DEFAULT_LIMITS, JsonLimits, JsonValue, check_depth, dump, parse
from lamina.schema._mismatch import Bad, Mismatch, bad, mismatch_of
from lamina.schema._objects import Object
from lamina.schema._shape import Shape
from lamina.schema._shapes import Shapes
from lamina.schema._terms import Hook, Schema
from lamina.schema._types import type_name
from lamina.schema._wrapped import Described, bare

T = TypeVar("T")
_COMPILING = RLock()  # a recursive shape that is half compiled must be seen by the compiling thread only


class Codec(Generic[T]):
    """Reads and writes one type as JSON, and describes it. Make one with `codec`.

    Reading is strict: nothing is coerced, undeclared keys are refused, limits are enforced. Both ways first take a fast
    road that stops at the first problem; only then a slow one collects every problem, so validators, converters and
    `Encoded` functions may run twice on a value that does not fit.

    Attributes:
        type: The type as it was given.
        name: The type as a person writes it.
    """

    def __init__(self, described: object, name: str, shape: Shape, endless: bool) -> None:
        self.type = described
        self.name = name
        self._shape = shape
        self._endless = endless

    def __repr__(self) -> str:
        return f"codec({self.name})"

    def decode(self, value: object, *, limits: JsonLimits = DEFAULT_LIMITS) -> Result[T, Mismatch]:
        """Read a JSON value that is in Python's own types already (`dict`, `list`, `str`, …).

        Args:
            value: What may be the value's JSON form; anything at all is taken, and refused if it is not.
            limits: How deep it may be nested. It matters where a type may hold itself, or any JSON.

        Returns:
            The value, or every problem at once.

        Example:
            >>> codec(dict[str, int]).decode({"a": 1, "b": "2"})
            <Failure: $[key 2]: expected integer>
        """
        try:
            if self._endless:
                check_depth(value, limits.max_depth)
            return Success(cast("T", self._read(value, None)))
        except Exception:  # told in full by the slow reader
            return self._slowly(self._slow_read, value, limits)

    def decode_json(self, text: str | bytes, *, limits: JsonLimits = DEFAULT_LIMITS) -> Result[T, Mismatch]:
        """Read a JSON text.

        Args:
            text: The text, or its UTF-8.
            limits: How long it may be, in bytes, and how deeply nested.

        Returns:
            The value, or every problem at once; what is no JSON is one problem at `$`.

        Example:
            >>> codec(int).decode_json("NaN")
            <Failure: $: not JSON: NaN and Infinity are no JSON numbers, at line 1 column 1>
        """
        try:
            value = parse(text, limits)
        except Bad as wrong:
            return Failure(mismatch_of(wrong))
        return self.decode(value, limits=limits)

    def encode(self, value: T) -> Result[JsonValue, Mismatch]:
        """Give a value's JSON form in plain Python values, after checking the value against the type.

        A subclass of an attrs class is another class, and `True` is no `int`. So `decode` of the answer gives an equal
        value back.

        Example:
            >>> codec(list[int]).encode([1, 2])
            <Success: [1, 2]>
        """
        try:
            made = cast("JsonValue", self._write(value))
            if self._endless:
                check_depth(made, DEFAULT_LIMITS.max_depth)
            return Success(made)
        except Exception:  # told in full by the slow writer
            return self._slowly(self._slow_write, value, DEFAULT_LIMITS)

    def encode_json(self, value: T) -> Result[bytes, Mismatch]:
        """Give a value's JSON text as UTF-8.

        Example:
            >>> codec(list[int]).encode_json([1, 2])
            <Success: b'[1,2]'>
        """
        made = self.encode(value)
        if isinstance(made, Failure):
            return made
        return Success(dump(made.unwrap()))

    @cached_property
    def json_schema(self) -> Schema:
        """The JSON Schema (2020-12) of what `decode` takes; one object for all, so do not change it.

        Example:
            >>> codec(list[int]).json_schema["items"]
            {'type': 'integer'}
        """
        defs = Definitions()
        top = bare(self._shape)
        if isinstance(top, Object):  # written out: whoever reads a tool's schema wants "type": "object" at the top
            about: Schema = {"description": self._shape.text} if isinstance(self._shape, Described) else {}
            return defs.whole({**top.body(defs), **about})
        return defs.whole(self._shape.describe(defs))

    # Compiling is most of what a codec costs, and many codecs go one way only, so each way waits for its first use.

    @cached_property
    def _read(self) -> Hook:
        with _COMPILING:
            return self._shape.reader(False)

    @cached_property
    def _write(self) -> Hook:
        with _COMPILING:
            return self._shape.writer(False)

    @cached_property
    def _slow_read(self) -> Hook:
        with _COMPILING:
            return self._shape.reader(True)

    @cached_property
    def _slow_write(self) -> Hook:
        with _COMPILING:
            return self._shape.writer(True)

    def _slowly(self, hook: Hook, value: object, limits: JsonLimits) -> Result[Any, Mismatch]:
        try:
            if self._endless and hook is self._slow_read:
                check_depth(value, limits.max_depth)
            made = hook(value)
            if self._endless:
                check_depth(made, limits.max_depth)
            return Success(made)
        except Bad as wrong:
            return Failure(mismatch_of(wrong))
        except RecursionError:
            return Failure(mismatch_of(bad("nested too deeply")))


@overload
def codec(described: type[T]) -> Codec[T]: ...
@overload
def codec(described: object) -> Codec[Any]: ...  # a union or Annotated has no type[...] to infer from
def codec(described: object) -> Codec[Any]:
    """Give the codec of a type: an attrs class, or whatever may be the type of one of its fields.

    Types are `str`, `int`, `float`, `bool`, `None`, `Literal`, enums, `datetime` (with a time zone), `date`, `time`,
    `timedelta`, `UUID`, `Decimal`, `bytes`, lists, tuples, sets, mappings of `str`, unions, attrs classes (generic and
    recursive ones too), `JsonValue`, and `Annotated` with limits of `annotated_types`, `Doc(...)` or `Encoded(...)`.
    A union of classes is told apart by `"_tag"`, the class's name.

    Codecs are cached: asking twice for one type costs nothing. For a union, write the type:
    `pay: Codec[Card | Cash] = codec(Card | Cash)`.

    Raises:
        ConstructionError: A part cannot be described; every such field is named.

    Example:
        >>> import attrs
        >>> @attrs.frozen
        ... class Item:
        ...     name: str
        ...     price: int
        >>> print(codec(Item).decode({"name": 5, "prize": 1}).failure())
        $.name: expected string; $.price: missing; $: an undeclared key; perhaps price was meant
        >>> codec(Item).decode_json('{"name": "tea", "price": 3}').unwrap()
        Item(name='tea', price=3)
    """
    try:
        return _cached(described, repr(described))
    except TypeError as error:
        if isinstance(error, ConstructionError):
            raise
        return _make(described)  # it cannot be hashed


def _make(described: object) -> Codec[Any]:
    shapes = Shapes()
    shape = shapes.read(described)
    if shapes.problems:
        raise ConstructionError(shapes.problems)
    return Codec(described, type_name(described), shape, shapes.endless)


@lru_cache(maxsize=4096)
def _cached(described: object, written: str) -> Codec[Any]:  # `int | str` equals `str | int`, and has another schema
    return _make(described)
