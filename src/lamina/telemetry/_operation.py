"""The wrapper that every operation of a capability goes through (seed 004 §12, design §8)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import attrs

from lamina.telemetry._ambient import AMBIENT, Ambient
from lamina.telemetry._watched import UNOBSERVED, WATCHED, Live, Watched

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")


@attrs.frozen(eq=False)
class Operation:
    """An operation as it is declared; `operation` makes it.

    Attributes:
        name: Its name.
        version: Its version.
        resource: The parameter that names what it works on, for the decorator.
        names: The attributes whose texts are names or ids, and are told.
    """

    name: str
    version: int
    resource: str | None
    names: frozenset[str]

    def begin(self, *, resource: str | None = None, attributes: Mapping[str, object] | None = None) -> Watched:
        """Give what observes one call of it; enter it with `with`, round all of the call.

        Where nobody observes, that is one and the same object for all, and nothing is made.

        Args:
            resource: What it works on, by a name or an id.
            attributes: Numbers and truth values; texts under the names that are declared, others only as a shape.

        Example:
            >>> with operation("mail.send").begin(attributes={"bytes": 512}) as sending:
            ...     sending.retried()
        """
        ambient = AMBIENT.get()
        return UNOBSERVED if ambient is None else self.begin_in(ambient, resource, attributes)

    def begin_in(self, ambient: Ambient, resource: str | None, attributes: Mapping[str, object] | None) -> Live:
        """Do the same where it is known who observes."""
        return Live(ambient, self.name, self.version, self.names, resource, attributes)

    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorate an async function or method: each call of it is one observation.

        Example:
            >>> class Mail:
            ...     @operation("mail.send", resource="to")
            ...     async def send(self, to: str) -> None: ...
        """
        place = None if self.resource is None else place_of(inspect.signature(fn), self.resource)
        return wrapped(self, fn, place, once_for_owner=False)


def operation(name: str, *, version: int = 1, resource: str | None = None, names: Collection[str] = ()) -> Operation:
    """Declare an operation, once, where the module is loaded; then decorate with it, or call `begin`.

    Told are its name and version, the run, conversation and agent that it is called in, its duration, outcome and
    retries, what it works on, its attributes, and the category of a failure; never what went in or came out. A
    cancellation has no outcome.

    Args:
        name: `capability.verb`, a constant.
        version: What to raise when the meaning changes.
        resource: For the decorator, the parameter whose value names what it works on; a text, or it is not told.
        names: Attributes whose texts are names or ids; all other texts are told as `[REDACTED:string]`.

    Example:
        >>> send = operation("mail.send", version=2)
        >>> @send
        ... async def send_mail(to: str) -> bool:
        ...     return True
    """
    return Operation(name, version, resource, frozenset(names))


Place = tuple[int, str] | None
"""Where the resource stands among the parameters: its position, and its name."""


def wrapped(
    declared: Operation, fn: Callable[Q, Coroutine[Any, Any, R]], place: Place, *, once_for_owner: bool
) -> Callable[Q, Coroutine[Any, Any, R]]:
    """Wrap a function; with `once_for_owner` a method that calls the one that it overrides is observed once."""

    body: Callable[..., Coroutine[Any, Any, Any]] = fn  # Any: what it takes and gives is the caller's to know

    async def observe(ambient: Ambient, owner: object, args: Any, kwargs: Any) -> Any:
        with Live(
            ambient, declared.name, declared.version, declared.names, _resource(place, args, kwargs), None, owner
        ) as live:
            answer = await body(*args, **kwargs)
            live.returned(answer)
            return answer

    @wraps(fn)
    def call(*args: Q.args, **kwargs: Q.kwargs) -> Coroutine[Any, Any, R]:
        ambient = AMBIENT.get()
        if ambient is None:
            return fn(*args, **kwargs)
        key: object = None
        if once_for_owner:
            key = (declared, id(args[0]))
            outer = WATCHED.get()
            if outer is not None and outer.key == key and not outer.is_over:
                return fn(*args, **kwargs)
        return observe(ambient, key, args, kwargs)

    call.__operation__ = declared  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess] - for the conformance check
    return call


def place_of(signature: inspect.Signature, parameter: str) -> Place:
    """Find a parameter.

    Raises:
        TypeError: The function has no such parameter.
    """
    names = list(signature.parameters)
    if parameter not in names:
        raise TypeError(f"there is no parameter {parameter!r} to name what the operation works on")
    return names.index(parameter), parameter


def _resource(place: Place, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str | None:
    if place is None:
        return None
    index, name = place
    value = args[index] if index < len(args) else kwargs.get(name)
    return value if isinstance(value, str) else None
