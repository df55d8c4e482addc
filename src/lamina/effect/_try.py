"""`Try`, the typed early return: `ok(result)` unwraps a success, or ends the handler with that failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import update_wrapper
from typing import Any, Generic, Never, TypeVar

from returns.result import Failure, Result, Success

Err_contra = TypeVar("Err_contra", contravariant=True)
Value = TypeVar("Value")


class Stop(BaseException):
    """Carries a failure from `ok(...)` to the handler that owns it.

    No `Exception`: a handler's `except Exception` must not swallow it. The owner is compared, so that nested handlers
    do not take each other's.
    """

    def __init__(self, owner: Try[Any], failure: Failure[Any]) -> None:
        super().__init__()
        self.owner = owner
        self.failure = failure


class Try(Generic[Err_contra]):
    """The token through which a handler fails early, with the errors that it declares and no others.

    A handler gets it as its second parameter; `Try[NotFound | Denied]` says what may come out. Only there it may be
    used: a failure ends the handler that the token was made for, also from the body of a task group.

    Example:
        >>> import anyio
        >>> async def half(n: int, ok: Try[str]) -> float:
        ...     if n % 2:
        ...         ok.fail("odd")
        ...     return n / 2
        >>> anyio.run(run_fallible(half), 3)
        <Failure: odd>
    """

    __slots__ = ()

    def __call__(self, result: Result[Value, Err_contra]) -> Value:
        """Give the value of a success; a failure ends the handler."""
        if isinstance(result, Failure):
            raise Stop(self, result)
        return result.unwrap()

    def fail(self, error: Err_contra) -> Never:
        """End the handler with this error."""
        raise Stop(self, Failure(error))


def run_fallible(fn: Callable[..., Awaitable[Value]]) -> Callable[..., Awaitable[Result[Value, Any]]]:
    """Turn `fn(command, ok, *services)` into `call(command, *services)`, which answers a `Result`.

    `fallible` and the tools use it; the errors are typed by those. Any of the two is `Any` here because a function of
    unknown arity cannot say what its `Try` lets through.
    """

    async def call(command: object, *services: object) -> Result[Value, Any]:
        token: Try[Any] = Try()
        try:
            return Success(await fn(command, token, *services))
        except Stop as stop:
            if stop.owner is not token:
                raise
            return stop.failure
        except BaseExceptionGroup as group:
            failure = _only_stops_of(token, group)
            if failure is None:
                raise
            return failure

    return update_wrapper(call, fn)


def _only_stops_of(token: Try[Any], group: BaseExceptionGroup[BaseException]) -> Failure[Any] | None:
    """Give the first failure of a group in which nothing but this token's stops came out; a crash beside them wins."""
    stops: list[Stop] = []

    def is_ours(error: BaseException) -> bool:
        if not isinstance(error, Stop) or error.owner is not token:
            return False
        stops.append(error)
        return True

    _, others = group.split(is_ours)
    return stops[0].failure if stops and others is None else None
