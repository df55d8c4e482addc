"""When an operation is over: on a message, or on a state (seed 000, Completion; behaviour §2.6)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, Never, TypeVar, cast, overload

import attrs

from lamina.call import Invocation
from lamina.contract._projection import Projection
from lamina.contract.port import Source
from lamina.effect import ConstructionError, Problem, Value, caller_where

M = TypeVar("M")
I = TypeVar("I")  # noqa: E741 - the input
T = TypeVar("T")
S = TypeVar("S")
S2 = TypeVar("S2")
S3 = TypeVar("S3")
F = TypeVar("F")
F2 = TypeVar("F2")
M_contra = TypeVar("M_contra", contravariant=True)
I_contra = TypeVar("I_contra", contravariant=True)

DEFAULT_TIMEOUT = 30.0
"""Seconds that an operation may take, from the moment in which the host is called."""
NONE = cast("type[Never]", ...)
"""A message that is left out: to the types it adds nothing to what `correlate` is given."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Completion(Value, Generic[M_contra, I_contra]):
    """What ends an operation, for a capability of a model `M` whose input is `I`; made by `completes` and `when`.

    Attributes:
        timeout: Seconds that sending and waiting may take together.
    """

    timeout: float = DEFAULT_TIMEOUT


@attrs.frozen(kw_only=True, eq=False, repr=False)
class MessageCompletion(Completion[object, I_contra]):
    """Ends on a message.

    Attributes:
        success: The messages that end it well.
        failure: Those that end it badly.
        correlate: Whether a message is this call's: `(request, result, invocation)`; None takes the first.
    """

    success: tuple[type[Any], ...]  # Any: of any class, which `completes` has typed
    failure: tuple[type[Any], ...] = ()
    correlate: Callable[[Any, Any, Invocation], bool] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StateCompletion(Completion[M_contra, I_contra]):
    """Ends when a condition holds.

    Attributes:
        projection: What of the model it looks at; None where it looks at a source.
        source: What it looks at outside the model.
        predicate: Whether it holds: `(value, request)`.
    """

    projection: Projection[Any, Any] | None = None  # Any: `when` has typed the three
    source: Source[Any] | None = None
    predicate: Callable[[Any, Any], bool]


@overload
def completes(
    success: type[S],
    second: type[S2] = NONE,
    third: type[S3] = NONE,
    /,
    *,
    failure: type[F] = NONE,
    correlate: Callable[[I, S | S2 | S3 | F, Invocation], bool] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Completion[object, I]: ...
@overload
def completes(
    success: type[S],
    second: type[S2] = NONE,
    third: type[S3] = NONE,
    /,
    *,
    failure: tuple[type[F], type[F2]],
    correlate: Callable[[I, S | S2 | S3 | F | F2, Invocation], bool] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Completion[object, I]: ...
def completes(
    *success: type[Any],  # Any: the overloads type the classes
    failure: type[Any] | tuple[type[Any], ...] = (),
    correlate: Callable[[Any, Any, Invocation], bool] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Completion[object, Any]:
    """Say which messages end an operation.

    The first match settles it; a success is looked for before a failure. Give `correlate` whenever two calls of the
    capability may overlap: put `invocation.id` into the message (`to_message`), carry it onto the fact, and compare.

    Args:
        success: One to three message classes that end it well.
        failure: One or two that end it badly: the result is then `failed`, which is no error.
        correlate: `(request, result, invocation) -> bool`; the request is the decoded input.
        timeout: Seconds that sending and waiting may take together.

    Raises:
        ConstructionError: The timeout is not a positive, finite number, or `correlate` is async.

    Example:
        >>> @attrs.frozen
        ... class SavedTodo:
        ...     request_id: str
        >>> ended = completes(SavedTodo, correlate=lambda request, result, call: result.request_id == call.id)
        >>> ended.timeout
        30.0
    """
    _plain("correlate", correlate)
    return MessageCompletion(
        success=success,
        failure=failure if isinstance(failure, tuple) else (failure,),
        correlate=correlate,
        timeout=_checked(timeout),
    )


@overload
def when(
    *, projection: Projection[M, T], predicate: Callable[[T, I], bool], timeout: float = DEFAULT_TIMEOUT
) -> Completion[M, I]: ...
@overload
def when(
    *, source: Source[T], predicate: Callable[[T, I], bool], timeout: float = DEFAULT_TIMEOUT
) -> Completion[object, I]: ...
def when(
    *,
    projection: Projection[Any, Any] | None = None,  # Any: the overloads type them
    source: Source[Any] | None = None,
    predicate: Callable[[Any, Any], bool],
    timeout: float = DEFAULT_TIMEOUT,
) -> Completion[Any, Any]:
    """Say which state ends an operation.

    Completed means that the condition holds, not that this call made it true; write one that only the call can make
    true. There is no failure: not holding yet proves none.

    Args:
        projection: What of the model to look at; a value that stayed the same object is not looked at again.
        source: Or a value outside the model, which is looked at whenever it says that it may have changed.
        predicate: `(value, request) -> bool`; the request is the decoded input.
        timeout: Seconds that sending and waiting may take together.

    Raises:
        ConstructionError: Both or none of projection and source, a timeout that is no positive, finite number, or an
            async predicate.

    Example:
        >>> from lamina.contract import struct
        >>> @attrs.frozen
        ... class Model:
        ...     name: str
        >>> @attrs.frozen
        ... class Rename:
        ...     name: str
        >>> name_of_model = struct(Model, str, lambda m: m.name, observes=("name",))
        >>> when(projection=name_of_model, predicate=lambda name, request: name == request.name).timeout
        30.0
    """
    if (projection is None) == (source is None):
        line = f"it looks at a projection or at a source  {caller_where()}"
        raise ConstructionError([Problem("COMPLETION", "when(…)", (line,), "when(projection=…, predicate=…)")])
    _plain("predicate", predicate)
    return StateCompletion(projection=projection, source=source, predicate=predicate, timeout=_checked(timeout))


def _plain(name: str, function: object) -> None:
    if function is not None and (not callable(function) or inspect.iscoroutinefunction(function)):
        line = f"{name} is a plain function, which answers at once  {caller_where()}"
        raise ConstructionError([Problem("COMPLETION", name, (line,))])


def _checked(timeout: float) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
        line = f"timeout is a positive, finite number of seconds  {caller_where()}"
        raise ConstructionError([Problem("COMPLETION", "timeout", (line,), "timeout=30.0")])
    return float(timeout)
