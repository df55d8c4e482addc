"""The demo's second run: a real model, small enough to come in a package, and what may be expected of it."""

from __future__ import annotations

from lamina.cli._exits import INTERRUPTED, OK, UsageError
from lamina.cli._models import ModelChoice
from lamina.cli._stage import Stage
from lamina.demo import Workspace, helper, small_app, small_task
from lamina.effect import bind

_TRUST = (
    "SmolLM2 has 135 million parameters. Told what to do in short sentences, one tool each, it got tool and arguments "
    "right in 18 of 20 (benchmarks/local_model.py). Nothing that it writes itself is to be relied on."
)


def tour_local(stage: Stage) -> int:
    """End the tour with the packaged model, or with how to get it.

    Returns:
        130 where it was interrupted; 0 otherwise: how well this model does says nothing about the tour.
    """
    stage.title("A run on a real model, in this process and offline")
    try:
        code = run_local(stage)
    except UsageError as error:  # it is not installed
        for line in (error.message, *error.hints):
            stage.say(line)
        return OK
    return INTERRUPTED if code == INTERRUPTED else OK


def run_local(stage: Stage) -> int:
    """Run the small agent on the packaged model.

    Raises:
        UsageError: The model is not installed; the error has the one command that fetches it.
    """
    choice = ModelChoice("local")
    app = small_app(bind(Workspace).value(stage.workspace), choice.layer())
    task = small_task(stage.workspace)
    stage.say(_TRUST)
    stage.say(f"Task: {task}")
    return stage.show(app, app.agents[helper.id], task, choice.title)
