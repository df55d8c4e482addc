"""The keywords that all overloads of `@tool(...)` share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypedDict

from lamina.call import CallerFeature, ExecutionClass
from lamina.tools._group import ConcurrencyGroup
from lamina.tools._tool import FailureMode


class ToolKeywords(TypedDict, total=False):
    """What a tool is called, and how far it goes; `ToolOptions` has the defaults."""

    name: str | None
    """What the model calls it by; the function's name otherwise."""
    title: str
    """What people call it."""
    execution: ExecutionClass
    """`readonly` calls may be run again freely, `idempotent` ones change nothing the second time, and of `uncertain`
    ones, the default, nobody knows."""
    failure_mode: FailureMode
    """`return`, the default, tells the model of a declared failure, `error` ends the run with it."""
    available: Callable[..., bool | Awaitable[bool]] | None
    """A function of services that says whether the tool may be used now."""
    max_concurrency: int | None
    """How many calls may run at once in a runtime."""
    groups: tuple[ConcurrencyGroup, ...]
    """Limits shared with other tools."""
    asks: tuple[CallerFeature, ...] | None
    """What the handler asks its `Caller` for; progress and log, where it takes one and nothing is said."""
