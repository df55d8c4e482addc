"""What a function needs, read from its signature: each annotated positional parameter is one service."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Union, cast

import attrs

from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._names import name_of
from lamina.effect._value import Value
from lamina.effect._where import caller_locals, place_of

_Parameter = inspect.Parameter
_AnyCallable = Callable[..., object]

_VARIADIC = (_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD)
_REFUSED_KINDS: dict[object, str] = {
    _Parameter.KEYWORD_ONLY: "is keyword-only; a type checker does not see it as a need, so make it positional",
    _Parameter.VAR_POSITIONAL: "is variadic; name each service that is needed",
    _Parameter.VAR_KEYWORD: "is variadic; name each service that is needed",
}


@attrs.frozen(eq=False, repr=False)
class Need(Value):
    """One service that a function asks for.

    Attributes:
        name: The parameter's name, for reports.
        key: The service's class, or a generic alias such as `Repo[int]`.
    """

    name: str
    key: object

    def __str__(self) -> str:
        """Render as one writes it: `db: Db`."""
        return f"{self.name}: {name_of(self.key)}"


def resolved_hints(fn: _AnyCallable) -> Mapping[str, Any]:  # Any: an annotation may be any object
    """Resolve every annotation of a function, or of a class's constructor, keeping `Annotated` extras.

    Raises:
        ConstructionError: An annotation names what does not exist at run time, most often because its import stands
            under `if TYPE_CHECKING`.

    Example:
        >>> def stock(sku: "str") -> int: ...
        >>> resolved_hints(stock)
        {'sku': <class 'str'>, 'return': <class 'int'>}
    """
    function = _function_of(fn)
    if function is None:
        return {}
    written = cast("dict[str, object]", getattr(function, "__annotations__", {}))
    module = _module_of(fn) if any(isinstance(hint, str) for hint in written.values()) else {}
    try:
        try:
            return _hints(function, module)
        except NameError:  # classes that are local to a function, as in a test
            return _hints(function, {**module, **caller_locals()})
    except NameError as error:
        reason = (
            f"annotation {error.name!r} does not exist at run time: import it outside `if TYPE_CHECKING`, "
            "and define it at module level"
        )
        raise _refused(fn, (reason,)) from None


def _hints(function: _AnyCallable, names: dict[str, object]) -> dict[str, Any]:  # Any: as above
    return typing.get_type_hints(function, localns=names or None, include_extras=True)


def read_needs(fn: _AnyCallable, *, skip: int = 0, defaults: bool = False) -> tuple[Need, ...]:
    """Read what a function, or a class's constructor, needs.

    Args:
        fn: The function or class.
        skip: How many leading parameters are no services (the command, say).
        defaults: Whether parameters that may be left out are left out, as a type checker reads them. A constructor's
            are its settings; a handler's would be services that silently are not there, and are refused.

    Returns:
        One need for each remaining parameter, in order.

    Raises:
        ConstructionError: A parameter has no annotation, or one that cannot be resolved, or is a union or keyword-only,
            or, without `defaults`, has a default or is variadic; all of them in one report.

    Example:
        >>> class Db: ...
        >>> def stock(db: Db) -> int: ...
        >>> [str(need) for need in read_needs(stock)]
        ['db: Db']
    """
    if _function_of(fn) is None:
        return ()
    hints, filled = resolved_hints(fn), _arguments_of(fn)
    needs: list[Need] = []
    reasons: list[str] = []
    for parameter in _parameters_of(fn)[skip:]:
        if defaults and (parameter.default is not _Parameter.empty or parameter.kind in _VARIADIC):
            continue
        hint = _fill(_without_extras(hints.get(parameter.name, _Parameter.empty)), filled)
        reason = _why_no_need(parameter, hint)
        if reason is None:
            needs.append(Need(parameter.name, hint))
        else:
            reasons.append(f"parameter {parameter.name!r} {reason}")
    if reasons:
        raise _refused(fn, tuple(reasons))
    return tuple(needs)


def _parameters_of(fn: _AnyCallable) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(typing.get_origin(fn) or fn).parameters.values())
    except ValueError:  # some that are written in C
        raise _refused(fn, ("has no signature that can be read; wrap it in a function",)) from None


def _why_no_need(parameter: inspect.Parameter, hint: object) -> str | None:
    if (refusal := _REFUSED_KINDS.get(parameter.kind)) is not None:
        return refusal
    if parameter.default is not _Parameter.empty:
        return "has a default; a type checker then drops the need, so offer the service in a layer instead"
    if hint is _Parameter.empty:
        return "has no annotation; annotate it with the service's class"
    if typing.get_origin(hint) in (Union, UnionType):
        return f"is a union ({_union_text(hint)}); to a type checker that is several needs, so ask for one service"
    if hint is Any or hint is object or isinstance(hint, typing.TypeVar):
        return "names no service; annotate it with the service's class"
    try:
        hash(hint)
    except TypeError:
        return "has an annotation that cannot be a key, because it cannot be hashed"
    return None


def _union_text(hint: object) -> str:
    return " | ".join("None" if part is type(None) else name_of(part) for part in typing.get_args(hint))


def _without_extras(hint: object) -> object:
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


def _arguments_of(fn: _AnyCallable) -> dict[object, object]:
    """Give what a generic alias such as `Repo[int]` puts in the place of its class's type variables."""
    origin = typing.get_origin(fn)
    return dict(zip(getattr(origin, "__parameters__", ()), typing.get_args(fn), strict=False)) if origin else {}


def _fill(hint: Any, arguments: dict[object, object]) -> object:  # Any: an annotation may be any object
    if not arguments or isinstance(hint, typing.TypeVar):
        return arguments.get(hint, hint)
    parameters = cast("tuple[object, ...]", getattr(hint, "__parameters__", ())) if typing.get_origin(hint) else ()
    return hint[tuple(arguments.get(one, one) for one in parameters)] if parameters else hint


def _function_of(fn: _AnyCallable) -> _AnyCallable | None:
    """Give the function that carries the annotations; none for a class without a constructor of its own."""
    fn = typing.get_origin(fn) or fn
    if not isinstance(fn, type):
        return fn if hasattr(fn, "__annotations__") else cast("_AnyCallable", getattr(fn, "__call__"))  # noqa: B004, B009
    init = cast("_AnyCallable", inspect.getattr_static(fn, "__init__"))
    return None if init is object.__init__ else init


def _module_of(fn: _AnyCallable) -> dict[str, object]:
    """Give where a class's annotations are looked up, too: a constructor made by attrs does not know its own module."""
    fn = typing.get_origin(fn) or fn
    if not isinstance(fn, type):
        return {}
    owner = next(base for base in fn.__mro__ if "__init__" in base.__dict__)
    return cast("dict[str, object]", vars(sys.modules[owner.__module__]))


def _refused(fn: _AnyCallable, reasons: tuple[str, ...]) -> ConstructionError:
    place = place_of(fn)
    return ConstructionError([Problem("SIGNATURE", name_of(fn), tuple(f"{reason}  {place}" for reason in reasons))])
