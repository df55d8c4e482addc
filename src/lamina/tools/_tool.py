"""A tool: one handler with everything that the pipeline asks of it, as data (CAP-003)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeAlias, TypeVar, overload

import attrs
from returns.result import Result

from lamina.approval import Approval, Ask
from lamina.call import ExecutionClass, ToolRejected
from lamina.effect import Need, Where
from lamina.model import ToolSpec
from lamina.schema import Codec, JsonValue
from lamina.tools._group import ConcurrencyGroup
from lamina.tools._toolkit import Tools

if TYPE_CHECKING:
    from lamina.call import CallerFeature
    from lamina.tools._dynamic import DynamicHandler, DynamicToolFailure
    from lamina.tools._late import Late

In = TypeVar("In", covariant=True)
Cmd = TypeVar("Cmd", contravariant=True)
Ret = TypeVar("Ret", covariant=True)

FailureMode: TypeAlias = Literal["return", "error"]
"""What a declared failure does: the model is told and the run goes on, or the run ends with it."""


@attrs.frozen(eq=False, kw_only=True)
class Tool(Tools[In], Generic[In, Cmd, Ret]):
    """One tool, made by `@tool(...)`, `@tool.simple` or `Tool.dynamic`; immutable, and known by its identity.

    Attributes:
        name: What the model calls it by.
        description: When to use it; the function's docstring.
        where: Where the function was written.
        execution: What running a call twice does.
        failure_mode: What a declared failure does to the run.
        ask: What a person is shown, for a tool that needs approval; else None.
        needs: The services of the handler, in the order of its parameters.
        handler: The function: decoded input and services in, `Result` out.
        input: The schema of the input.
        success: The schema of the value.
        failure: The schema of the declared failures; None where there are none.
        available: Whether the tool may be used now, a function of its own services; None is always.
        available_needs: Those services.
        max_concurrency: How many calls of it may run at once in a runtime; None is no limit of its own.
        groups: Further limits that it shares with other tools.
        spec: Name, description and input schema, as a model is shown them.
        title: What people call it; empty where the name will do.
        asks: What it asks its `Caller` for.
        contents: Whether its value is `Contents`.
        late: How it is found, for a tool that is known in full only when a runtime prepares it.
        authorize: Whether a call of it may go on, a function of its decoded input and of its own services, asked after
            the host's policy and before anybody is asked for approval; None is always.
        authorize_needs: Those services.
        equip: Gives the tool as one runtime runs it, from what gives a service that the runtime offers, or None; asked
            once, when a runtime prepares it. None where the tool is the same everywhere.

    Source: design §4, CAP-003, CAP-004.
    """

    name: str
    description: str
    where: Where
    execution: ExecutionClass
    failure_mode: FailureMode
    ask: Ask[Any] | None  # Any: the input's type is erased once the tool is made
    needs: tuple[Need, ...]
    handler: Callable[..., Awaitable[object]]
    input: Codec[Any]  # Any: as for `ask`
    success: Codec[Any]
    failure: Codec[Any] | None
    available: Callable[..., Awaitable[bool]] | None
    available_needs: tuple[Need, ...]
    max_concurrency: int | None
    groups: tuple[ConcurrencyGroup, ...]
    spec: ToolSpec
    title: str = ""
    asks: frozenset[CallerFeature] = frozenset()
    contents: bool = False
    late: Late | None = None
    authorize: Callable[..., Awaitable[ToolRejected | None]] | None = None
    authorize_needs: tuple[Need, ...] = ()
    equip: Callable[[Callable[[object], object | None]], Tool[Any, Any, Any]] | None = None

    @property
    def tools(self) -> tuple[Tool[In, Any, Any], ...]:
        """The tool itself: a toolkit of one."""
        return (self,)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {self.where})"

    @overload
    @staticmethod
    def dynamic(
        name: str,
        schema: Mapping[str, JsonValue],
        handler: DynamicHandler,
        *,
        needs_approval: Literal[True],
        approval: Ask[Mapping[str, JsonValue]] | None = None,
        description: str = "",
        title: str = "",
        execution: ExecutionClass = "uncertain",
        failure_mode: FailureMode = "return",
    ) -> Tool[Approval, Mapping[str, JsonValue], Result[JsonValue, DynamicToolFailure]]: ...
    @overload
    @staticmethod
    def dynamic(
        name: str,
        schema: Mapping[str, JsonValue],
        handler: DynamicHandler,
        *,
        needs_approval: Literal[False] = False,
        description: str = "",
        title: str = "",
        execution: ExecutionClass = "uncertain",
        failure_mode: FailureMode = "return",
    ) -> Tool[Never, Mapping[str, JsonValue], Result[JsonValue, DynamicToolFailure]]: ...
    @staticmethod
    def dynamic(
        name: str,
        schema: Mapping[str, JsonValue],
        handler: DynamicHandler,
        *,
        needs_approval: bool = False,
        approval: Ask[Mapping[str, JsonValue]] | None = None,
        description: str = "",
        title: str = "",
        execution: ExecutionClass = "uncertain",
        failure_mode: FailureMode = "return",
    ) -> Tool[Any, Mapping[str, JsonValue], Result[JsonValue, DynamicToolFailure]]:
        """Make a tool whose schema is known only at run time.

        When to use: remote tools, and others that no type of yours describes. Arguments are held to the schema by the
        package `jsonschema` (extra `dynamic`); a schema that refers to other documents refuses every call. The schema
        is your own and trusted: nothing bounds how long it takes, and Python's `re` applies its expressions. Tools of
        MCP servers are bounded (`lamina.schema.BoundedSchema`).

        Args:
            name: What the model calls it by.
            schema: JSON Schema 2020-12 of the arguments; its type is `object`.
            handler: Takes the arguments as plain JSON.
            needs_approval: As for `@tool(...)`.
            approval: As for `@tool(...)`.
            description: What the model reads.
            title: What people call it.
            execution: What running a call twice does; nobody knows, unless you do.
            failure_mode: What a declared failure does to the run.

        Raises:
            ConstructionError: The name or the schema is no good, or the package `jsonschema` is not installed.

        Example:
            >>> from returns.result import Result, Success
            >>> async def ping(arguments):
            ...     return Success({"pong": arguments["n"]})
            >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
            >>> Tool.dynamic("ping", schema, ping).spec.name
            'ping'
        """
        from lamina.tools._dynamic import dynamic_tool  # it needs this module
        from lamina.tools._options import ToolOptions

        options = ToolOptions.checked(
            needs_approval=needs_approval,
            approval=approval,
            name=name,
            title=title,
            execution=execution,
            failure_mode=failure_mode,
        )
        return dynamic_tool(name, schema, handler, description=description, options=options)
