"""Where the demo's runs are shown."""

from __future__ import annotations

import sys

from rich.text import Text

from lamina.cli._choose import AnyBinding, allowing_all, on_model
from lamina.cli._execute import Alone, execute
from lamina.cli._findings import show_triage
from lamina.cli._load import AnyApp
from lamina.cli._models import ModelChoice
from lamina.cli._output import JsonLines
from lamina.cli._plain import printable
from lamina.cli._screen import Screen
from lamina.cli._timeline import Timeline
from lamina.demo import TASK, Workspace, triage_app
from lamina.effect import bind


class Stage:
    """Where the demo's runs are shown, and on what they work.

    Args:
        workspace: The reports.
        stays: Whether they are there afterwards.
        allow: Whether every approval is answered with yes.
        json: Whether events are printed in place of a timeline.
    """

    def __init__(self, workspace: Workspace, *, stays: bool, allow: bool, json: bool) -> None:
        self.workspace = workspace
        self._stays = stays
        self.place = (
            f"The reports are in {workspace.root}"
            if stays
            else "The reports are a copy, which goes at the end; --keep keeps it."
        )
        self.allow = allow
        self.json = json
        self.screen = Screen()
        self._titles = 0

    def title(self, text: str) -> None:
        """Print a heading with the next number."""
        if self.json:
            return
        self._titles += 1
        if self._titles > 1:
            self.screen.line()
        self.screen.line(Text.assemble((f"{self._titles}  ", "bold cyan"), (text, "bold")))
        self.screen.line()

    def say(self, text: str) -> None:
        """Print a sentence; with `--json` it goes to standard error."""
        if self.json:
            print(text, file=sys.stderr)
        else:
            self.screen.line(Text(printable(text), style="dim"))

    def run(self, choice: ModelChoice) -> int:
        """Triage the reports on a model.

        Raises:
            ConstructionError: What the model stands on is missing.
        """
        triage_reports = triage_app(bind(Workspace).value(self.workspace))
        application, binding = triage_reports, triage_reports.agents["triage"]
        if choice.kind != "scripted":
            application, binding = on_model(application, binding, choice.layer())
        if self.allow:
            application = allowing_all(application)
        if not self.json:
            line = self.screen.raw if self._stays else self.screen.line  # a path is not broken into lines
            line(Text(printable(self.place), style="dim"))
        return self.show(application, binding, TASK, choice.title)

    def show(self, application: AnyApp, binding: AnyBinding, task: str, title: str) -> int:
        """Run an agent where everybody can see it."""
        if self.json:
            return execute(application, Alone(binding, task), JsonLines(), binding.agent.id, title)
        with self.screen.shared():
            timeline = Timeline(self.screen, lambda answer: show_triage(self.screen, answer))
            return execute(application, Alone(binding, task), timeline, binding.agent.id, title, self.screen.tick)
