"""`bind`: offer an implementation under the service that it implements, typed for zero to ten needs.

The tag is fixed before the implementation is seen, so a wrong class is a type error; with both in one call the type
checkers would widen the tag until it fits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, Never, TypeVar, overload

import attrs

from lamina.effect._layer import Layer
from lamina.effect._leaves import made_by, value_of
from lamina.effect._tree import Life

T = TypeVar("T")
S = TypeVar("S")

A1 = TypeVar("A1")
A2 = TypeVar("A2")
A3 = TypeVar("A3")
A4 = TypeVar("A4")
A5 = TypeVar("A5")
A6 = TypeVar("A6")
A7 = TypeVar("A7")
A8 = TypeVar("A8")
A9 = TypeVar("A9")
A10 = TypeVar("A10")


@attrs.frozen
class Bind(Generic[T]):
    """A service that waits for its implementation; made by `bind`."""

    tag: Callable[..., T]

    @overload
    def to(
        self, make: Callable[[], T | Coroutine[Any, Any, T] | AsyncIterator[T]], *, life: Life = ...
    ) -> Layer[Never, T, Never]: ...
    @overload
    def to(
        self, make: Callable[[A1], T | Coroutine[Any, Any, T] | AsyncIterator[T]], *, life: Life = ...
    ) -> Layer[A1, T, Never]: ...
    @overload
    def to(
        self, make: Callable[[A1, A2], T | Coroutine[Any, Any, T] | AsyncIterator[T]], *, life: Life = ...
    ) -> Layer[A1 | A2, T, Never]: ...
    @overload
    def to(
        self, make: Callable[[A1, A2, A3], T | Coroutine[Any, Any, T] | AsyncIterator[T]], *, life: Life = ...
    ) -> Layer[A1 | A2 | A3, T, Never]: ...
    @overload
    def to(
        self, make: Callable[[A1, A2, A3, A4], T | Coroutine[Any, Any, T] | AsyncIterator[T]], *, life: Life = ...
    ) -> Layer[A1 | A2 | A3 | A4, T, Never]: ...
    @overload
    def to(
        self, make: Callable[[A1, A2, A3, A4, A5], T | Coroutine[Any, Any, T] | AsyncIterator[T]], *, life: Life = ...
    ) -> Layer[A1 | A2 | A3 | A4 | A5, T, Never]: ...
    @overload
    def to(
        self,
        make: Callable[[A1, A2, A3, A4, A5, A6], T | Coroutine[Any, Any, T] | AsyncIterator[T]],
        *,
        life: Life = ...,
    ) -> Layer[A1 | A2 | A3 | A4 | A5 | A6, T, Never]: ...
    @overload
    def to(
        self,
        make: Callable[[A1, A2, A3, A4, A5, A6, A7], T | Coroutine[Any, Any, T] | AsyncIterator[T]],
        *,
        life: Life = ...,
    ) -> Layer[A1 | A2 | A3 | A4 | A5 | A6 | A7, T, Never]: ...
    @overload
    def to(
        self,
        make: Callable[[A1, A2, A3, A4, A5, A6, A7, A8], T | Coroutine[Any, Any, T] | AsyncIterator[T]],
        *,
        life: Life = ...,
    ) -> Layer[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8, T, Never]: ...
    @overload
    def to(
        self,
        make: Callable[[A1, A2, A3, A4, A5, A6, A7, A8, A9], T | Coroutine[Any, Any, T] | AsyncIterator[T]],
        *,
        life: Life = ...,
    ) -> Layer[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9, T, Never]: ...
    @overload
    def to(
        self,
        make: Callable[[A1, A2, A3, A4, A5, A6, A7, A8, A9, A10], T | Coroutine[Any, Any, T] | AsyncIterator[T]],
        *,
        life: Life = ...,
    ) -> Layer[A1 | A2 | A3 | A4 | A5 | A6 | A7 | A8 | A9 | A10, T, Never]: ...
    def to(self, make: Callable[..., Any], *, life: Life = "app") -> Any:  # Any: the overloads above give the types
        """Offer what a class, a function, an async function or an async generator function makes.

        Args:
            make: What makes the service; its annotated parameters are what it needs.
            life: `"app"` is one instance for the runtime, `"request"` one for each call.

        Raises:
            ConstructionError: The signature cannot be read, with the place and the reason.
        """
        return made_by(make, ("call", "await", "scope"), life, self.tag)

    def value(self, value: T) -> Layer[Never, T, Never]:
        """Offer a value that is there already; also what `given` takes for a seed."""
        return value_of(self.tag, value)


def bind(tag: Callable[..., S]) -> Bind[S]:
    """Offer a service under its own class, whatever implements it.

    The tag is typed as something that makes a `T`, because a checker refuses an abstract class as `type[T]`.

    Args:
        tag: The service's class, abstract or not, or a generic alias such as `Repo[int]`.

    Example:
        >>> class Db: ...
        >>> class PgDb(Db): ...
        >>> bind(Db).to(PgDb)
        Layer(offers Db; needs nothing more)
    """
    return Bind(tag)
