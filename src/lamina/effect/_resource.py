"""An async generator as a resource: it yields its service once, and what comes after the `yield` is the release."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, TypeAlias, cast

import anyio

from lamina.effect._backend import is_native
from lamina.effect._tree import Leaf

Held: TypeAlias = tuple[Leaf, AsyncGenerator[Any, None]]  # Any: whatever service it yields


class RolledBack(Exception):
    """Thrown into the resources of a request that answers a `Failure`, so that what commits after its `yield` does not.

    An `Exception`, for that is what people roll back on. It ends at the edge of the request.
    """

    def __init__(self) -> None:
        super().__init__("the request answered a Failure")


async def enter(held: Held) -> Any:  # Any: as above
    """Run a resource to its `yield`, and give the service."""
    try:
        return await held[1].__anext__()
    except StopAsyncIteration:
        raise never_yielded(held[0]) from None


def never_yielded(leaf: Leaf) -> RuntimeError:
    """Say that a resource ended before it gave its service."""
    return RuntimeError(f"{leaf} ended without a yield; it has to yield once  {leaf.where}")


async def finish(held: Held) -> BaseException | None:
    """Let a resource go on after its `yield`; give what came out of it."""
    try:
        await held[1].__anext__()
    except StopAsyncIteration:
        return None
    except BaseException as raised:
        return raised
    return await _yielded_again(held)


async def throw(held: Held, error: BaseException) -> BaseException | None:
    """Raise an error at the `yield` of a resource; give what came out of it, `None` when it was swallowed."""
    traceback = error.__traceback__
    try:
        await held[1].athrow(error)
    except StopAsyncIteration:
        return None
    except BaseException as raised:
        return _besides(raised, error) or error
    finally:
        error.__traceback__ = traceback
    return await _yielded_again(held)


async def _yielded_again(held: Held) -> RuntimeError:
    leaf, generator = held
    await generator.aclose()
    return RuntimeError(f"{leaf} yielded again; it has to yield once  {leaf.where}")


def _besides(raised: BaseException, error: BaseException) -> BaseException | None:
    """Give what came out besides what went in.

    A generator turns the two stops into a RuntimeError, and a task group puts what it lets through into a group.
    """
    if raised is error:
        return None
    if isinstance(raised, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", raised).split(lambda one: one is error)[1]
    if isinstance(error, StopIteration | StopAsyncIteration) and raised.__cause__ is error:
        return None
    return raised


async def release(entered: list[Held], ended: BaseException | None) -> None:
    """Leave the resources of a request, the last one first; what one of them raises comes in at those before it.

    Args:
        entered: What has been entered, in order.
        ended: What the request ended with; it goes in at each `yield`, and a resource that swallows it changes nothing.

    Raises:
        BaseException: What came out and had not gone in.
    """
    error = ended
    while entered:
        held = entered.pop()
        if error is None:
            error = await finish(held)
        else:
            error = await throw(held, error) or _still(error, held[0])
    if error is None or error is ended:
        return
    cancelled = anyio.get_cancelled_exc_class()
    if isinstance(error, cancelled) and isinstance(ended, cancelled):
        return  # a task group makes another of the one that went in
    raise error


def _still(error: BaseException, leaf: Leaf) -> BaseException:
    """Say what a request ends with whose error a resource has swallowed: with the same.

    But a cancel that comes from a scope, and that the resource's own scope has taken, is nobody else's any more.
    """
    if not isinstance(error, anyio.get_cancelled_exc_class()) or is_native(error):
        return error
    return RuntimeError(f"{leaf} ended while it was in use  {leaf.where}")
