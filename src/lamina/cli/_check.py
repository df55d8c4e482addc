"""`lamina check`: everything that can be known of an application without opening it."""

from __future__ import annotations

import sys

from rich.text import Text

from lamina.cli._exits import FAILED, OK
from lamina.cli._load import AnyApp, load_app
from lamina.cli._plain import count, printable
from lamina.cli._screen import Screen
from lamina.effect import ConstructionError, Plan, Problem, name_of


def check(target: str, *, mermaid: bool) -> int:
    """Print what an application consists of, or all that is wrong with it.

    Args:
        target: `MODULE:APP`.
        mermaid: Print the graph alone; problems then go to standard error.

    Returns:
        0, or 1 where there are problems.
    """
    try:
        app = load_app(target)
    except ConstructionError as error:  # the module itself puts together what cannot be
        show_problems(Screen(), target, error.problems)
        return FAILED
    plan = app.plan()
    if mermaid:
        print(plan.mermaid())
    if plan.problems:
        show_problems(Screen(sys.stderr) if mermaid else Screen(), target, plan.problems)
        return FAILED
    if not mermaid:
        _show_parts(Screen(), target, app, plan)
    return OK


def show_problems(screen: Screen, target: str, problems: tuple[Problem, ...]) -> None:
    """Print problems as a `ConstructionError` lists them."""
    count_and_noun = count(len(problems), "problem")
    screen.raw(Text.assemble((f"{printable(target)} cannot be built: {count_and_noun}.", "bold")))
    for problem in problems:
        screen.raw("")
        screen.raw(Text.assemble((problem.kind, "bold red"), f" {printable(problem.subject)}"))
        for line in problem.lines:
            screen.raw(f"  {printable(line)}")
        if problem.write is not None:
            screen.raw(Text.assemble("  write: ", (printable(problem.write), "green")))


def _show_parts(screen: Screen, target: str, app: AnyApp, plan: Plan) -> None:
    services = [name_of(key) for key in plan.exports]
    agents = app.agents
    others = len(app.programs) - len(agents)
    tools = sum(len(list(binding.agent.toolkit)) for binding in agents.values())
    parts = [count(len(services), "service"), count(len(agents), "agent"), count(tools, "tool")]
    parts += [count(others, "other program")] if others else []
    screen.raw(Text.assemble((f"{printable(target)} is complete", "bold green"), f": {', '.join(parts)}."))
    screen.raw("")
    _show_row(screen, "services", ", ".join(services) or "none")
    for binding in agents.values():
        agent = binding.agent
        _show_row(screen, "agent", f"{printable(agent.id)}  {agent.where}")
        for tool in agent.toolkit:
            approval = ", needs approval" if tool.ask is not None else ""
            _show_row(screen, "  tool", f"{tool.name} ({tool.execution}{approval})  {tool.where}")
    for problem in plan.unused:
        _show_row(screen, "unused", "; ".join(map(printable, problem.lines)) or printable(problem.subject))
    if not plan.unused:
        _show_row(screen, "unused", "nothing")


def _show_row(screen: Screen, name: str, text: str) -> None:
    screen.raw(Text.assemble((f"{name:<10}", "dim"), text))
