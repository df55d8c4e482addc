"""Reading a handler's signature into a tool."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Never, NoReturn, cast, get_args, get_origin

import attrs
from returns.result import Result

from lamina.effect import (
    ConstructionError,
    Need,
    Problem,
    Try,
    Where,
    read_needs,
    resolved_hints,
    run_fallible,
    where_of,
)
from lamina.model import ToolSpec
from lamina.schema import Codec, codec
from lamina.tools._options import ToolOptions, checked_name
from lamina.tools._tool import Tool

if TYPE_CHECKING:
    from lamina.call import CallerFeature


def tool_from_function(fn: Callable[..., Awaitable[Any]], options: ToolOptions) -> Tool[Any, Any, Any]:
    """Make a tool of `async def handler(input, [ok: Try[E]], *services)`.

    Raises:
        ConstructionError: With every problem of the signature, its file and line.
    """
    where, label = where_of(fn), getattr(fn, "__name__", "tool")
    lines: list[str] = []
    if not inspect.iscoroutinefunction(fn):
        lines.append("a handler is `async def`; blocking work goes through anyio.to_thread.run_sync")
    hints = resolved_hints(fn)
    parameters = list(inspect.signature(fn).parameters)
    input_type = hints.get(parameters[0]) if parameters else None
    if input_type is None:
        lines.append("the first parameter is the input, and has an annotation")
    elif not attrs.has(get_origin(input_type) or input_type):
        lines.append(f"the input, {parameters[0]}, is an attrs class; `@tool.simple` takes plain parameters")
    token = hints.get(parameters[1]) if len(parameters) > 1 else None
    fallible = get_origin(token) is Try
    success, failure = _outcomes(hints, token if fallible else None, lines)
    if lines:
        raise _unreadable(label, where, lines)
    needs = read_needs(fn, skip=2 if fallible else 1)
    return assemble_tool(
        label=label,
        where=where,
        description=inspect.getdoc(fn) or "",
        options=options,
        needs=needs,
        handler=run_fallible(fn) if fallible else fn,
        input=described(input_type, f"the input of tool {label}", where),
        success=described(success, f"the value of tool {label}", where),
        failure=None
        if failure is Never or failure is NoReturn
        else described(failure, f"the failures of tool {label}", where),
    )


def assemble_tool(
    *,
    label: str,
    where: Where,
    description: str,
    options: ToolOptions,
    needs: tuple[Need, ...],
    handler: Callable[..., Awaitable[object]],
    input: Codec[Any],  # noqa: A002 - the tool's own word for it
    success: Codec[Any],
    failure: Codec[Any] | None,
) -> Tool[Any, Any, Any]:
    """Put a tool together from what its signature and its options say."""
    name = checked_name(options.name or label, where)
    return Tool(
        name=name,
        description=description,
        where=where,
        execution=options.execution,
        failure_mode=options.failure_mode,
        ask=options.ask,
        needs=needs,
        handler=handler,
        input=input,
        success=success,
        failure=failure,
        available=_predicate(options.available),
        available_needs=read_needs(options.available, skip=0) if options.available else (),
        max_concurrency=options.max_concurrency,
        groups=options.groups,
        spec=ToolSpec(name, description, input.json_schema),
        title=options.title,
        asks=_asks(label, where, options.asks, needs),
        contents=_is(success.type, "lamina.call._contents", "Contents"),
    )


def described(hint: object, subject: str, where: Where) -> Codec[Any]:
    """Give the codec of a type; one that cannot be described is a problem of the tool at its place."""
    try:
        return codec(cast("type[Any]", hint))
    except ConstructionError as error:
        raise ConstructionError(
            attrs.evolve(problem, lines=(f"{subject}  {where}", *problem.lines)) for problem in error.problems
        ) from None


def _outcomes(hints: Mapping[str, Any], token: object, lines: list[str]) -> tuple[object, object]:
    if "return" not in hints:
        lines.append("the return annotation is missing")
        return None, Never
    answer = hints["return"]
    if token is not None:
        if get_origin(answer) is Result:
            lines.append("with a Try the handler returns its bare value, not a Result")
        return answer, _never(next(iter(get_args(token)), Never))
    if get_origin(answer) is Result:
        value, error = get_args(answer)
        return value, _never(error)
    lines.append("it returns a bare value: declare failures with `ok: Try[...]`, or return a Result")
    return None, Never


def _never(hint: object) -> object:
    return Never if hint is NoReturn else hint


def _asks(
    label: str, where: Where, asks: frozenset[CallerFeature] | None, needs: tuple[Need, ...]
) -> frozenset[CallerFeature]:
    takes = any(_is(need.key, "lamina.call._caller", "Caller") for need in needs)
    if asks and not takes:
        lines = (f"it asks its caller for {', '.join(sorted(asks))}, and takes none  {where}",)
        raise ConstructionError([Problem("CALLER", f"tool {label}", lines, "a parameter `caller: Caller`")])
    return asks if asks is not None else frozenset(("progress", "log")) if takes else frozenset()


def _is(key: object, module: str, name: str) -> bool:
    """Tell whether a key is that class; its module is not loaded for tools that do not use it."""
    loaded = sys.modules.get(module)
    return loaded is not None and key is getattr(loaded, name)


def _predicate(available: Callable[..., bool | Awaitable[bool]] | None) -> Callable[..., Awaitable[bool]] | None:
    if available is None or inspect.iscoroutinefunction(available):
        return cast("Callable[..., Awaitable[bool]] | None", available)

    async def ask(*services: object) -> bool:
        answer = available(*services)
        return await answer if inspect.isawaitable(answer) else answer

    return ask


def _unreadable(label: str, where: Where, lines: list[str]) -> ConstructionError:
    write = f"async def {label}(call: Input, ok: Try[SomeFailure], service: Service) -> Output: ..."
    return ConstructionError([Problem("SIGNATURE", f"tool {label}", (str(where), *lines), write)])
