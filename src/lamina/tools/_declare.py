"""The types of `@tool(...)`: up to ten needs, read from the function's positional parameters (design §4).

A union of needs cannot be computed from a parameter list in Python's type system, so each arity is written out, once
with a `Try` as second parameter and once for a function that returns a `Result` itself.
"""

# fmt: off  - one overload a line reads as the table that it is

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, overload

from returns.result import Result

from lamina.effect import Try
from lamina.tools._tool import Tool

X = TypeVar("X", covariant=True)
C = TypeVar("C")
T = TypeVar("T")
E = TypeVar("E")
A1 = TypeVar("A1")
A2 = TypeVar("A2")
A3 = TypeVar("A3")
A4 = TypeVar("A4")
A5 = TypeVar("A5")
A6 = TypeVar("A6")
A7 = TypeVar("A7")
A8 = TypeVar("A8")
A9 = TypeVar("A9")
A10 = TypeVar("A10")


class Declare(Protocol[X]):
    """Turns a handler into a tool whose needs are `X` and the handler's own."""

    @overload
    def __call__(self, fn: Callable[[C, Try[E]], Awaitable[T]], /) -> Tool[X, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, Try[E], A1], Awaitable[T]], /) -> Tool[X | A1, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, Try[E], A1, A2], Awaitable[T]], /) -> Tool[X | A1 | A2, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7, A8], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7, A8, A9], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C], Awaitable[Result[T, E]]], /) -> Tool[X, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, A1], Awaitable[Result[T, E]]], /) -> Tool[X | A1, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, A1, A2], Awaitable[Result[T, E]]], /) -> Tool[X | A1 | A2, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7, A8], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7, A8, A9], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, C, Result[T, E]]: ...


class DeclareFor(Protocol[X, C]):
    """The same, for handlers of one input: that of the `Ask` which was given."""

    @overload
    def __call__(self, fn: Callable[[C, Try[E]], Awaitable[T]], /) -> Tool[X, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, Try[E], A1], Awaitable[T]], /) -> Tool[X | A1, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, Try[E], A1, A2], Awaitable[T]], /) -> Tool[X | A1 | A2, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7, A8], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7, A8, A9], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, Try[E], A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], Awaitable[T]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C], Awaitable[Result[T, E]]], /) -> Tool[X, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, A1], Awaitable[Result[T, E]]], /) -> Tool[X | A1, C, Result[T, E]]: ...
    @overload
    def __call__(self, fn: Callable[[C, A1, A2], Awaitable[Result[T, E]]], /) -> Tool[X | A1 | A2, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7, A8], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7, A8, A9], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, C, Result[T, E]]: ...
    @overload
    def __call__(
        self, fn: Callable[[C, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], Awaitable[Result[T, E]]], /
    ) -> Tool[X | A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, C, Result[T, E]]: ...
