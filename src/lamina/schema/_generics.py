"""The annotations of a class with every type variable filled in, also those of generic base classes."""

from __future__ import annotations

import inspect
import typing
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin

from lamina.schema._terms import Undescribable

Bindings = dict[Any, Any]  # type variable to type; both are forms that Python has no class for


def field_types(described: Any) -> dict[str, Any]:
    """Give the resolved annotation of each field of a class, or of a generic class with its arguments.

    Raises:
        Undescribable: An annotation cannot be resolved where it is written.
    """
    cls = get_origin(described) or described
    try:
        hints = typing.get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except Exception as error:
        named = f" ({error.name})" if isinstance(error, NameError) and error.name else ""
        why = "it must not be imported under TYPE_CHECKING, or local to a function"
        raise Undescribable(f"an annotation cannot be resolved{named}: {why}") from None
    bindings = _bindings(described)
    return {name: _of_owner(cls, name, hint, bindings) for name, hint in hints.items()}


def _of_owner(cls: type, name: str, hint: Any, bindings: dict[type, Bindings]) -> Any:
    owner = next((base for base in cls.__mro__ if name in inspect.get_annotations(base)), cls)
    return fill(hint, bindings.get(owner, {}))


def _bindings(described: Any) -> dict[type, Bindings]:
    cls = get_origin(described) or described
    own: Bindings = dict(zip(getattr(cls, "__parameters__", ()), get_args(described), strict=False))
    found: dict[type, Bindings] = {cls: own}
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if origin in (object, Generic, Protocol):
            continue
        for owner, bound in _bindings(fill(base, own)).items():
            found.setdefault(owner, bound)
    return found


def fill(hint: Any, bindings: Bindings) -> Any:
    """Put types for type variables; a variable without one stays, and is refused where it is read."""
    if isinstance(hint, TypeVar):
        return bindings.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if (isinstance(hint, type) and get_origin(hint) is None) or not parameters:
        return hint
    generic: Any = hint
    return generic[tuple(bindings.get(parameter, parameter) for parameter in parameters)]
