"""`lamina run`: one run of one agent of an application."""

from __future__ import annotations

import argparse

from lamina.cli._choose import AnyBinding, allowing_all, choose_agent, on_model, read_input
from lamina.cli._execute import execute
from lamina.cli._exits import UsageError
from lamina.cli._load import AnyApp, load_app
from lamina.cli._models import ModelChoice, model_choice
from lamina.cli._output import JsonLines
from lamina.cli._screen import Screen
from lamina.cli._timeline import Timeline


def run(options: argparse.Namespace) -> int:
    """Run what the command line says.

    Raises:
        UsageError: The command line does not fit the application.
        ConstructionError: The application has problems, or a package that the model needs is missing.
    """
    choice = model_choice(options.model, options.base_url)
    app = load_app(options.app)
    binding, given = choose_agent(app, options.app, options.words)
    title = "its own model"
    if choice is not None:
        app, binding = _rebound(app, binding, choice)
        title = choice.title
    app.plan().raise_problems()
    if options.yes:
        app = allowing_all(app)
    value = read_input(binding, given)
    if options.json:
        return execute(app, binding, value, JsonLines(), title)
    screen = Screen()
    with screen.shared():
        return execute(app, binding, value, Timeline(screen), title, screen.tick if screen.is_live else None)


def _rebound(app: AnyApp, binding: AnyBinding, choice: ModelChoice) -> tuple[AnyApp, AnyBinding]:
    if choice.kind != "scripted":
        return on_model(app, binding, choice.layer())
    from lamina.demo import triage

    if binding.agent is not triage:
        raise UsageError(
            "--model scripted is the demo's own.", "Leave it out, or write local, openai:NAME or anthropic:NAME."
        )
    return app, binding
