"""What a tool's decorator was told, checked."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, get_args

import attrs

from lamina.approval import Ask
from lamina.call import ExecutionClass
from lamina.effect import ConstructionError, Problem, Value, Where, caller_where
from lamina.tools._group import ConcurrencyGroup
from lamina.tools._tool import FailureMode

if TYPE_CHECKING:
    from lamina.call import CallerFeature

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolOptions(Value):
    """The arguments of `@tool(...)`, all of them valid."""

    ask: Ask[Any] | None = None
    name: str | None = None
    title: str = ""
    execution: ExecutionClass = "uncertain"
    failure_mode: FailureMode = "return"
    available: Callable[..., bool | Awaitable[bool]] | None = None
    max_concurrency: int | None = None
    groups: tuple[ConcurrencyGroup, ...] = ()
    asks: frozenset[CallerFeature] | None = None

    @staticmethod
    def checked(
        *,
        needs_approval: bool = False,
        approval: Ask[Any] | None = None,
        name: str | None = None,
        title: str = "",
        execution: ExecutionClass = "uncertain",
        failure_mode: FailureMode = "return",
        available: Callable[..., bool | Awaitable[bool]] | None = None,
        max_concurrency: int | None = None,
        groups: tuple[ConcurrencyGroup, ...] = (),
        asks: tuple[CallerFeature, ...] | None = None,
    ) -> ToolOptions:
        """Check every option, and raise one `ConstructionError` for all that are wrong."""
        lines: list[str] = []
        if approval is not None and not needs_approval:
            lines.append("approval= is given without needs_approval=True")
        if execution not in get_args(ExecutionClass):
            lines.append(f"execution is one of {', '.join(get_args(ExecutionClass))}")
        if failure_mode not in get_args(FailureMode):
            lines.append(f"failure_mode is one of {', '.join(get_args(FailureMode))}")
        if asks:
            from lamina.call import CallerFeature  # only tools that ask pay for it

            if not set(asks) <= set(get_args(CallerFeature)):
                lines.append(f"asks holds some of {', '.join(get_args(CallerFeature))}")
        if max_concurrency is not None and max_concurrency < 1:
            lines.append("max_concurrency is 1 or more")
        if len({group.name for group in groups}) != len(set(groups)):
            lines.append("two groups have one name")
        if lines:
            raise ConstructionError([Problem("TOOL", name or "", (*lines, str(caller_where())))])
        return ToolOptions(
            ask=(approval or Ask()) if needs_approval else None,
            name=name,
            title=title,
            execution=execution,
            failure_mode=failure_mode,
            available=available,
            max_concurrency=max_concurrency,
            groups=tuple(sorted(set(groups), key=lambda group: group.name)),
            asks=None if asks is None else frozenset(asks),
        )


def checked_name(name: str, where: Where) -> str:
    """Give a name back that every provider takes: letters, digits, `_` and `-`, at most 64."""
    if not _NAME.fullmatch(name):
        lines = (f"{where}", "a tool's name has 1 to 64 letters, digits, _ or -")
        raise ConstructionError([Problem("NAME", f"tool {name!r}"[:80], lines, '@tool(name="…")')])
    return name
