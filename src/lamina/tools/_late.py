"""Tools that are known by name when an agent is written, and in full only when the service that has them is up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
from returns.result import Failure, Result

from lamina.effect import ConstructionError, Problem, name_of
from lamina.redaction import Secrets
from lamina.tools._toolkit import Toolkit

if TYPE_CHECKING:
    from lamina.tools._tool import Tool


@attrs.frozen(eq=False, kw_only=True)
class Late:
    """How a tool that stands for others finds them.

    Attributes:
        key: The service that knows them; it lives as long as the app.
        find: Takes that service and the runtime's secrets, and gives the tools, or all that is missing.
    """

    key: type[Any]  # Any: whichever service
    find: Callable[[Any, Secrets], Result[tuple[Tool[Any, Any, Any], ...], tuple[Problem, ...]]]


def settled_tools(
    tools: Iterable[Tool[Any, Any, Any]], value: Callable[[object], object | None], secrets: Secrets
) -> tuple[Tool[Any, Any, Any], ...]:
    """Give tools as one runtime runs them, late ones in their places; asked once, when it prepares them.

    Args:
        tools: The tools, as they are declared.
        value: Gives a service that is up; None for one that lives for a request.
        secrets: What the runtime keeps secret; the service may add to it.

    Raises:
        ConstructionError: What was declared is not there, or two tools have one name; all of it.
    """
    declared = tuple(tools)
    if all(tool.late is None and tool.equip is None for tool in declared):
        return declared
    found: list[Tool[Any, Any, Any]] = []
    problems: list[Problem] = []
    for tool in declared:
        late = tool.late
        if late is None:
            found.append(tool if tool.equip is None else tool.equip(value))
            continue
        service = value(late.key)
        if service is None:
            name = name_of(late.key)
            problems.append(Problem("LIFETIME", name, (f"tool {tool.name}  {tool.where}",), f'life="app" for {name}'))
            continue
        made = late.find(service, secrets)
        if isinstance(made, Failure):
            problems.extend(made.failure())
        else:
            found.extend(made.unwrap())
    if problems:
        raise ConstructionError(problems)
    return Toolkit(found).tools
