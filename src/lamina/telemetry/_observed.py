"""A port whose every implementation goes through the wrapper, whoever writes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar, cast

from lamina.telemetry._operation import Operation, Place, operation, place_of, wrapped

C = TypeVar("C", bound=type[Any])


def observed(name: str, *, version: int = 1, resources: Mapping[str, str] | None = None) -> Callable[[C], C]:
    """Decorate a port: its abstract async methods are operations, in every class that implements it.

    When to use: on the class of a capability's service; then no implementation can forget it. A method that calls the
    one it overrides is one operation. What is not observed calls the implementation directly.

    Args:
        name: The capability's; operations are called `name.method`.
        version: The version of all of them.
        resources: For a method, the parameter that names what it works on.

    Raises:
        TypeError: `resources` names a method or a parameter that is not there.

    Example:
        >>> from abc import ABC, abstractmethod
        >>> @observed("notes", resources={"read": "id"})
        ... class Notes(ABC):
        ...     @abstractmethod
        ...     async def read(self, id: str) -> str: ...
        >>> [declared.name for declared in operations_of(Notes).values()]
        ['notes.read']
    """

    def mark(port: C) -> C:
        named = dict(resources or {})
        declared: dict[str, tuple[Operation, Place]] = {}
        for method, fn in vars(port).items():
            if inspect.iscoroutinefunction(fn) and getattr(fn, "__isabstractmethod__", False):
                parameter = named.pop(method, None)
                place = None if parameter is None else place_of(inspect.signature(fn), parameter)
                declared[method] = operation(f"{name}.{method}", version=version, resource=parameter), place
        if named:
            raise TypeError(f"{port.__name__} has no abstract async method {', '.join(sorted(named))}")
        port.__operations__ = {method: one for method, (one, _) in declared.items()}
        before: Any = vars(port).get("__init_subclass__")

        def subclassed(cls: type[Any], **options: Any) -> None:
            if before is None:
                cast("Any", super(port, cls)).__init_subclass__(**options)
            else:
                before.__get__(None, cls)(**options)
            for method, (one, place) in declared.items():
                fn = vars(cls).get(method)
                if isinstance(fn, FunctionType) and not hasattr(fn, "__operation__"):
                    setattr(cls, method, wrapped(one, fn, place, once_for_owner=True))

        hook: Any = classmethod(cast("Any", subclassed))
        port.__init_subclass__ = hook
        return port

    return mark


def operations_of(port: type[Any]) -> Mapping[str, Operation]:
    """Give the operations of a port that is `observed`, by method; empty for any other class."""
    return dict(getattr(port, "__operations__", {}))
