"""What a tool asks of whatever runs it: an agent, or a surface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lamina.approval import Approval
from lamina.effect import Requirement
from lamina.tools._tool import Tool

_WRITE_APPROVAL = "| bind(Approval).to(TerminalApproval)"


def requirements_of(tool: Tool[Any, Any, Any]) -> Iterator[Requirement]:
    """List the services of a tool's handler, `available` and `authorize`, and `Approval` where it needs that."""
    for need in tool.needs:
        yield Requirement(need.key, f"tool {tool.name}({need.name})", tool.where)
    for need in tool.available_needs:
        yield Requirement(need.key, f"tool {tool.name} (available: {need.name})", tool.where)
    for need in tool.authorize_needs:
        yield Requirement(need.key, f"tool {tool.name} (authorize: {need.name})", tool.where)
    if tool.ask is not None:
        yield Requirement(Approval, f"tool {tool.name} (needs_approval)", tool.where, write=_WRITE_APPROVAL)
