"""The decorators that make handlers, each typed for zero to ten services; the logic is in `_handler`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Never, TypeVar, overload

from returns.result import Result

from lamina.effect._handler import Handler, fallible_handler, plain_handler
from lamina.effect._try import Try

Cmd = TypeVar("Cmd")
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


@overload
def handler(fn: Callable[[Cmd], Awaitable[T]]) -> Handler[Never, Cmd, T]: ...
@overload
def handler(fn: Callable[[Cmd, A1], Awaitable[T]]) -> Handler[A1, Cmd, T]: ...
@overload
def handler(fn: Callable[[Cmd, A1, A2], Awaitable[T]]) -> Handler[A1 | A2, Cmd, T]: ...
@overload
def handler(fn: Callable[[Cmd, A1, A2, A3], Awaitable[T]]) -> Handler[A1 | A2 | A3, Cmd, T]: ...
@overload
def handler(fn: Callable[[Cmd, A1, A2, A3, A4], Awaitable[T]]) -> Handler[A1 | A2 | A3 | A4, Cmd, T]: ...
@overload
def handler(fn: Callable[[Cmd, A1, A2, A3, A4, A5], Awaitable[T]]) -> Handler[A1 | A2 | A3 | A4 | A5, Cmd, T]: ...
@overload
def handler(
    fn: Callable[[Cmd, A1, A2, A3, A4, A5, A6], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6, Cmd, T]: ...
@overload
def handler(
    fn: Callable[[Cmd, A1, A2, A3, A4, A5, A6, A7], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7, Cmd, T]: ...
@overload
def handler(
    fn: Callable[[Cmd, A1, A2, A3, A4, A5, A6, A7, A8], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, Cmd, T]: ...
@overload
def handler(
    fn: Callable[[Cmd, A1, A2, A3, A4, A5, A6, A7, A8, A9], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, Cmd, T]: ...
@overload
def handler(
    fn: Callable[[Cmd, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, Cmd, T]: ...
def handler(fn: Callable[..., Awaitable[Any]]) -> Any:  # Any: the overloads above give the types
    """Make a handler of an async function whose first parameter is the command and whose others are services.

    Use it for what cannot fail, or answers a `Result` itself; `fallible` gives the early return.

    Raises:
        ConstructionError: The signature cannot be read, with the place and the reason.

    Example:
        >>> class Stock: ...
        >>> @handler
        ... async def count(sku: str, stock: Stock) -> int:
        ...     return 3
        >>> count.name, [str(need) for need in count.needs]
        ('count', ['stock: Stock'])
    """
    return plain_handler(fn)


@overload
def fallible(fn: Callable[[Cmd, Try[E]], Awaitable[T]]) -> Handler[Never, Cmd, Result[T, E]]: ...
@overload
def fallible(fn: Callable[[Cmd, Try[E], A1], Awaitable[T]]) -> Handler[A1, Cmd, Result[T, E]]: ...
@overload
def fallible(fn: Callable[[Cmd, Try[E], A1, A2], Awaitable[T]]) -> Handler[A1 | A2, Cmd, Result[T, E]]: ...
@overload
def fallible(fn: Callable[[Cmd, Try[E], A1, A2, A3], Awaitable[T]]) -> Handler[A1 | A2 | A3, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4, A5], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4, A5, A6], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4, A5, A6, A7], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4, A5, A6, A7, A8], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4, A5, A6, A7, A8, A9], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, Cmd, Result[T, E]]: ...
@overload
def fallible(
    fn: Callable[[Cmd, Try[E], A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], Awaitable[T]],
) -> Handler[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, Cmd, Result[T, E]]: ...
def fallible(fn: Callable[..., Awaitable[Any]]) -> Any:  # Any: the overloads above give the types
    """Make a handler of an async function that may end early, through `ok: Try[...]`, with a declared failure.

    The first parameter is the command, the second the token, the others are services. The handler answers
    `Result[T, E]`: the returned value, or the failure that `ok` met.

    Raises:
        ConstructionError: The signature cannot be read, with the place and the reason.

    Example:
        >>> import anyio
        >>> @fallible
        ... async def half(n: int, ok: Try[str]) -> float:
        ...     if n % 2:
        ...         ok.fail("odd")
        ...     return n / 2
        >>> anyio.run(half.fn, 4)
        <Success: 2.0>
    """
    return fallible_handler(fn)
