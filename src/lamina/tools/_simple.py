"""The short form: plain parameters are the input (design §4)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Never, cast, get_origin

import attrs
from returns.result import Result, Success

from lamina.effect import ConstructionError, Problem, resolved_hints, where_of
from lamina.tools._options import ToolOptions
from lamina.tools._read import assemble_tool, described
from lamina.tools._tool import Tool


def tool_from_plain_function(fn: Callable[..., Awaitable[Any]], options: ToolOptions) -> Tool[Any, Any, Any]:
    """Make a tool of `async def add(a: int, b: int = 0) -> int`.

    Raises:
        ConstructionError: With every problem of the signature, its file and line.
    """
    where, label = where_of(fn), getattr(fn, "__name__", "tool")
    hints = resolved_hints(fn)
    parameters = inspect.signature(fn).parameters.values()
    lines = [f"parameter {each.name} has no annotation" for each in parameters if each.name not in hints]
    lines += [
        f"parameter {each.name} is variadic"
        for each in parameters
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    lines += [f"parameter {each.name} is positional-only" for each in parameters if each.kind is each.POSITIONAL_ONLY]
    if not inspect.iscoroutinefunction(fn):
        lines.append("a handler is `async def`; blocking work goes through anyio.to_thread.run_sync")
    if "return" not in hints:
        lines.append("the return annotation is missing")
    elif get_origin(hints["return"]) is Result:
        lines.append("a handler that returns a Result is made with `@tool()`")
    if lines:
        write = f"async def {label}(a: int, b: str = '') -> str: ..."
        raise ConstructionError([Problem("SIGNATURE", f"tool {label}", (str(where), *lines), write)])
    fields = {
        each.name: attrs.field(default=attrs.NOTHING if each.default is each.empty else each.default)
        for each in parameters
    }
    made = attrs.make_class(f"{label}_input", fields, frozen=True, slots=True)
    made.__annotations__ = {each.name: hints[each.name] for each in parameters}
    made.__module__ = getattr(fn, "__module__", made.__module__)
    names = tuple(fields)

    async def handler(given: object) -> Result[Any, Never]:
        return Success(await fn(**{name: getattr(given, name) for name in names}))

    return assemble_tool(
        label=label,
        where=where,
        description=inspect.getdoc(fn) or "",
        options=options,
        needs=(),
        handler=handler,
        input=described(cast("type[Any]", made), f"the input of tool {label}", where),
        success=described(hints["return"], f"the value of tool {label}", where),
        failure=None,
    )
