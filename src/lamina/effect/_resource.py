"""An async generator as a resource: it yields its service once, and what comes after the `yield` is the release."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, TypeAlias, cast

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
    leaf, generator = held
    try:
        return await generator.__anext__()
    except StopAsyncIteration:
        raise RuntimeError(f"{leaf} ended without a yield; it has to yield once  {leaf.where}") from None


async def leave(held: Held, error: BaseException | None) -> BaseException | None:
    """Run a resource from its `yield` to its end.

    Args:
        held: A resource that has been entered.
        error: What ended its use; it comes in at the `yield`.

    Returns:
        What the use of it ends with now: the same error, also where the resource has swallowed it, or another that
        came out of the release.
    """
    return await (finish(held) if error is None else throw(held, error)) or error


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


async def leave_all(entered: list[Held], error: BaseException | None) -> BaseException | None:
    """Leave resources, the last one first; what one of them raises comes in at those before it."""
    while entered:
        held = entered.pop()
        error = await (finish(held) if error is None else throw(held, error)) or error
    return error
