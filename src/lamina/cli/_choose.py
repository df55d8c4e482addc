"""Which agent, which input, which model: what the command line says, against what the application has."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import Any, TypeAlias

from returns.result import Failure

from lamina.agent import Binding
from lamina.approval import Approval, Approved, DeferredApproval, ScriptedApproval
from lamina.cli._exits import UsageError
from lamina.cli._load import AnyApp
from lamina.cli._plain import printable
from lamina.effect import bind
from lamina.runtime import RuntimeBuilder

AnyBinding: TypeAlias = Binding[Any, Any, Any]  # Any: the agents of whatever application was named


def choose_agent(app: AnyApp, target: str, words: list[str]) -> tuple[AnyBinding, str]:
    """Tell the agent from the input: one word is the input of the only agent, two are agent and input.

    Raises:
        UsageError: There is no such agent, or several to choose from, or no input.
    """
    agents = app.agents
    if not agents:
        raise UsageError(f"{target} has no agent.", "Add one with .agent(agent.on(model)).")
    listed = ", ".join(map(printable, agents))
    if len(words) > 2:
        raise UsageError("There are too many words: put the input into quotes.", f"The agents are: {listed}")
    if len(words) == 2:
        name, given = words
        if name not in agents:
            near = get_close_matches(name, list(agents), 3)
            hint = f"There is {', '.join(map(printable, near))}." if near else f"The agents are: {listed}"
            raise UsageError(f"{target} has no agent {printable(name)!r}.", hint)
        return agents[name], given
    if words[0] in agents:
        raise UsageError("The input is missing.", f'Write: lamina run {target} {printable(words[0])} "…"')
    if len(agents) > 1:
        raise UsageError(f"{target} has several agents: {listed}.", f"Write: lamina run {target} AGENT INPUT")
    return next(iter(agents.values())), words[0]


def choose_suspended(app: AnyApp, target: str, words: list[str]) -> AnyBinding | None:
    """Give the agent of a run that is resumed; None where only the run itself can tell which of several it is.

    Raises:
        UsageError: There is no such agent, or an input is given: the run has had its own.
    """
    agents = app.agents
    if not agents:
        raise UsageError(f"{target} has no agent.", "Add one with .agent(agent.on(model)).")
    if len(words) > 1 or (words and words[0] not in agents):
        raise UsageError(
            "A run that is resumed takes no input.",
            f"Write the agent or nothing. The agents are: {', '.join(map(printable, agents))}",
        )
    if words:
        return agents[words[0]]
    return next(iter(agents.values())) if len(agents) == 1 else None


def read_input(binding: AnyBinding, given: str) -> object:
    """Give the agent's input: its text as it is, or JSON for any other type; `-` is standard input.

    Raises:
        UsageError: It is no text, or the JSON does not fit the type; every problem is named.
    """
    text = _text_of(given)
    agent = binding.agent
    if agent.plain_input:
        return text
    decoded = agent.input.decode_json(text)
    if isinstance(decoded, Failure):
        raise UsageError(
            f"The input does not fit agent {printable(agent.id)}, which takes JSON:", *decoded.failure().problems
        )
    return decoded.unwrap()


def _text_of(given: str) -> str:
    if given == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, where it was closed
        raise UsageError("There is no standard input to read.")
    try:
        text = sys.stdin.read() if given == "-" else given
        text.encode()  # bytes that are no UTF-8 may have come in as lone surrogates
    except UnicodeError:
        raise UsageError("The input is no UTF-8 text.") from None
    return text


def on_model(app: AnyApp, binding: AnyBinding, model: Any) -> tuple[AnyApp, AnyBinding]:  # Any: a model's layer
    """Put one agent of an application onto another model; its own is then never opened."""
    bound = binding.agent.on(model)
    return _with_programs(app, binding, bound), bound


def _with_programs(app: AnyApp, old: AnyBinding, new: AnyBinding) -> AnyApp:
    rebuilt: AnyApp = RuntimeBuilder().provide(app.layer)
    for program in app.programs:
        rebuilt = rebuilt.program(new if program is old else program)
    return rebuilt


def allowing_all(app: AnyApp) -> AnyApp:
    """Answer every approval with yes, where the application asks for any."""
    if not _asks(app):
        return app
    return app.replace(bind(Approval).value(ScriptedApproval(lambda _: Approved("--yes"))))


def deferring(app: AnyApp) -> AnyApp:
    """Leave every approval to later, where the application asks for any."""
    return app.replace(bind(Approval).value(DeferredApproval())) if _asks(app) else app


def _asks(app: AnyApp) -> bool:
    return any(tool.ask is not None for binding in app.agents.values() for tool in binding.agent.toolkit)
