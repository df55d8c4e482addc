"""`@tool`: the signature is the whole definition (design §4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Never, TypeVar, cast, overload

from returns.result import Result

from lamina.approval import Approval, Ask
from lamina.call import ExecutionClass
from lamina.tools._declare import Declare, DeclareFor
from lamina.tools._options import ToolOptions
from lamina.tools._read import tool_from_function
from lamina.tools._simple import tool_from_plain_function
from lamina.tools._tool import Tool

if TYPE_CHECKING:
    from typing import Unpack

    from lamina.tools._keywords import ToolKeywords

C = TypeVar("C")
T = TypeVar("T")


class ToolDecorator:
    """The type of `tool`, the decorator that makes tools."""

    __slots__ = ()

    @overload
    def __call__(
        self, *, needs_approval: Literal[True], approval: Ask[C], **options: Unpack[ToolKeywords]
    ) -> DeclareFor[Approval, C]: ...
    @overload
    def __call__(self, *, needs_approval: Literal[True], **options: Unpack[ToolKeywords]) -> Declare[Approval]: ...
    @overload
    def __call__(
        self, *, needs_approval: Literal[False] = False, **options: Unpack[ToolKeywords]
    ) -> Declare[Never]: ...
    def __call__(
        self,
        *,
        needs_approval: bool = False,
        approval: Ask[Any] | None = None,
        **options: Unpack[ToolKeywords],
    ) -> Declare[Any] | DeclareFor[Any, Any]:
        """Make a tool of an async handler.

        The first parameter, an attrs class, is the input. A second parameter `ok: Try[A | B]` declares the failures
        and lets the handler return its bare value; without it the return annotation is a `Result`. Every further
        parameter is a service. The docstring is what the model reads.

        Args:
            needs_approval: Ask `Approval` before a call starts; this adds it to the tool's needs.
            approval: What a person is shown; only with `needs_approval=True`.
            options: Its names and its limits; `ToolKeywords` has them one by one.

        Raises:
            ConstructionError: The signature cannot be read; it names the file and line.

        Example:
            >>> import attrs
            >>> from lamina.effect import Try
            >>> from lamina.tools import tool
            >>> @attrs.frozen
            ... class Add:
            ...     a: int
            ...     b: int
            >>> @tool(execution="readonly")
            ... async def add(call: Add, ok: Try[Never]) -> int:
            ...     '''Add two numbers.'''
            ...     return call.a + call.b
            >>> add.name, add.description
            ('add', 'Add two numbers.')
        """
        checked = ToolOptions.checked(needs_approval=needs_approval, approval=approval, **options)

        def declare(fn: Callable[..., Awaitable[Any]]) -> Tool[Any, Any, Any]:
            return tool_from_function(fn, checked)

        return cast("Declare[Any]", declare)

    @overload
    def simple(self, fn: Callable[..., Awaitable[T]], /) -> Tool[Never, Any, Result[T, Never]]: ...
    @overload
    def simple(
        self,
        fn: None = None,
        /,
        *,
        name: str | None = None,
        title: str = "",
        execution: ExecutionClass = "uncertain",
    ) -> Callable[[Callable[..., Awaitable[T]]], Tool[Never, Any, Result[T, Never]]]: ...
    def simple(
        self,
        fn: Callable[..., Awaitable[Any]] | None = None,
        /,
        *,
        name: str | None = None,
        title: str = "",
        execution: ExecutionClass = "uncertain",
    ) -> Any:  # Any: a tool, or a decorator that makes one; the overloads say which
        """Make a tool of an async function whose plain parameters are the input; it needs nothing and cannot fail.

        Example:
            >>> from lamina.tools import tool
            >>> @tool.simple
            ... async def add(a: int, b: int = 1) -> int:
            ...     '''Add two numbers.'''
            ...     return a + b
            >>> sorted(add.spec.input_schema["properties"])
            ['a', 'b']
        """
        options = ToolOptions.checked(name=name, title=title, execution=execution)

        def declare(fn: Callable[..., Awaitable[Any]]) -> Tool[Any, Any, Any]:
            return tool_from_plain_function(fn, options)

        return declare if fn is None else declare(fn)


tool = ToolDecorator()
