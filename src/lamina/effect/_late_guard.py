"""A guard for the releases of a request that costs nothing unless a release has to wait; asyncio only.

An anyio scope that is opened for each request costs more than all else that a small request does. What it is opened
for, though, can be had later: to know which scopes were there before the resources were entered. When a release first
waits, or is cancelled already, the shield is put where that scope would have stood: around everything, if the resources
hold no scopes open, and else on the outermost of theirs.

This reads anyio's own record of a task's scopes, which has no public form. Where it is not found, importing this
fails, and requests open a scope each, as they do on trio.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Protocol, cast

import anyio
from anyio._backends import _asyncio as _anyio  # pyright: ignore[reportPrivateImportUsage] - the layout is checked

from lamina.effect._backend import is_native
from lamina.effect._outlast import go_on, overdue


class _Scope(Protocol):
    """What is read of anyio's scopes."""

    shield: bool
    deadline: float

    @property
    def cancel_called(self) -> bool: ...

    @property
    def _parent_scope(self) -> _Scope | None: ...


class _State(Protocol):
    cancel_scope: _Scope | None


_states = cast("dict[object, _State]", _anyio._task_states)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType] - the layout is checked
if "_parent_scope" not in _anyio.CancelScope.__slots__:
    raise ImportError("anyio keeps its scopes in another way than is known here")


def scope_here() -> _Scope | None:
    """Give the innermost scope of this task."""
    state = _states.get(asyncio.current_task())
    return None if state is None else state.cancel_scope


@coroutine
def outlast_here(work: Coroutine[Any, Any, None], outer: _Scope | None, seconds: float) -> Generator[Any, Any, None]:
    """Await work to its end, shielded from every cancel that comes from outside a request; it is raised afterwards.

    Args:
        work: What has to be finished.
        outer: The scope in which the request began.
        seconds: How long it may take.
    """
    if outer is None or not _is_cancelled(outer):
        try:  # most releases wait for nothing
            waits_for = work.send(None)
        except StopIteration:
            return
    else:
        waits_for = None
    shield = _LateShield(outer, seconds)
    shield.see_to_it()
    try:
        yield from go_on(work, waits_for, shield.see_to_it)
    except asyncio.CancelledError as cancelled:
        if shield.is_over() and not is_native(cancelled):
            raise overdue(seconds) from None
        raise
    finally:
        shield.end()


def _is_cancelled(scope: _Scope | None) -> bool:
    """Tell whether a scope from outside is cancelled; then work must not even begin without the shield."""
    while scope is not None:
        if scope.cancel_called:
            return True
        scope = None if scope.shield else scope._parent_scope  # pyright: ignore[reportPrivateUsage] - the layout is checked
    return False


class _LateShield:
    """The shield of one request's releases."""

    __slots__ = ("_deadline", "_opened", "_outer")

    def __init__(self, outer: _Scope | None, seconds: float) -> None:
        self._outer = outer
        self._deadline = anyio.current_time() + seconds
        self._opened: anyio.CancelScope | None = None

    def see_to_it(self) -> None:
        """See to it that the outermost scope of the request is shielded, and ends in time."""
        if self._opened is not None:
            return
        scope = scope_here()
        if scope is self._outer:
            self._opened = anyio.CancelScope(deadline=self._deadline, shield=True)
            self._opened.__enter__()
            return
        while scope is not None and scope._parent_scope is not self._outer:  # pyright: ignore[reportPrivateUsage] - the layout is checked
            scope = scope._parent_scope  # pyright: ignore[reportPrivateUsage] - the layout is checked
        if scope is not None and not scope.shield:
            scope.shield = True
            scope.deadline = min(scope.deadline, self._deadline)

    def is_over(self) -> bool:
        """Tell whether the time is over."""
        return anyio.current_time() >= self._deadline

    def end(self) -> None:
        """Take it away."""
        if self._opened is not None:
            self._opened.__exit__(None, None, None)
