"""How a class or function becomes a leaf: what it needs and offers, read from its signature."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, cast, get_args, get_origin

from returns.result import Result

from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._layer import AnyLayer, Layer
from lamina.effect._names import name_of
from lamina.effect._signature import read_needs, resolved_hints
from lamina.effect._tree import Kind, Leaf, Life
from lamina.effect._where import caller_where, place_of

Make = Callable[..., Any]  # Any: what it makes is typed by the overloads of the public constructors

_NOT_GIVEN = object()


def made_by(make: Make, kinds: tuple[Kind, ...], life: Life, key: object = _NOT_GIVEN) -> AnyLayer:
    """Make a layer of one leaf.

    Args:
        make: What gives the service.
        kinds: Which kinds of function are accepted here.
        life: `"app"` or `"request"`.
        key: The service; without it, the return annotation or the class itself.
    """
    if not callable(make) or isinstance(make, Layer):
        raise _refused(cast("object", make), "is neither a class nor a function")
    kind = _kind_of(make, kinds)
    if kind not in kinds:
        raise _refused(make, _EXPECTED[kinds])
    if life not in ("app", "request"):
        raise _refused(make, f"life is 'app' or 'request', not {life!r}")
    if kind in ("attempt", "tried scope") and life == "request":
        raise _refused(make, "lives as long as the app; a call's type has no place for the failure of its services")
    needs = read_needs(make, defaults=True)
    offer = _offer_of(make, kind) if key is _NOT_GIVEN else key
    return Layer(Leaf(offer, needs, make, kind, life, name_of(make), caller_where()))


def value_of(key: object, value: object) -> AnyLayer:
    """Make a layer that offers a value that is there already."""
    return Layer(Leaf(key, (), lambda: value, "value", "app", f"{name_of(key)} (a value)", caller_where()))


_EXPECTED: dict[tuple[Kind, ...], str] = {
    ("call", "await"): "is a generator; give it to scoped(...)",
    ("scope",): "is no async generator function; write `async def` with one `yield`",
    ("attempt", "tried scope"): "is no `async def` function that answers a Result",
    ("call", "await", "scope"): "is a plain generator; write `async def` with one `yield`",
}


def _kind_of(make: Make, kinds: tuple[Kind, ...]) -> Kind | None:
    if inspect.isasyncgenfunction(make):
        return "tried scope" if "tried scope" in kinds else "scope"
    if inspect.iscoroutinefunction(make):
        return "attempt" if "attempt" in kinds else "await"
    return None if inspect.isgeneratorfunction(make) else "call"


def _offer_of(make: Make, kind: Kind) -> object:
    """Give the class, or what the return annotation says is returned, yielded, or answered on success."""
    if isinstance(make, type) or get_origin(make) is not None:
        return make
    hint: object = resolved_hints(make).get("return")
    if kind == "scope":
        if get_origin(hint) not in (AsyncIterator, AsyncGenerator):
            raise _refused(make, "needs a return annotation AsyncIterator[Service]")
        hint = get_args(hint)[0]
    elif kind in ("attempt", "tried scope"):
        if kind == "tried scope" and get_origin(hint) in (AsyncIterator, AsyncGenerator):
            hint = get_args(hint)[0]
        if get_origin(hint) is not Result:
            expected = "Result[Service, Error]" if kind == "attempt" else "AsyncIterator[Result[Service, Error]]"
            raise _refused(make, f"needs a return annotation {expected}")
        hint = get_args(hint)[0]
    if hint is None or hint is type(None) or hint is Any:
        raise _refused(make, "needs a return annotation that names the service it offers")
    return hint


def _refused(make: object, reason: str) -> ConstructionError:
    return ConstructionError([Problem("SIGNATURE", name_of(make), (f"{reason}  {place_of(make)}",))])
