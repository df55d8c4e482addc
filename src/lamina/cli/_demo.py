"""`lamina demo`: the graph, the report of a mistake, and runs on real files; `lamina demo todo` is its own."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.text import Text

from lamina.cli._check import show_problems
from lamina.cli._choose import AnyBinding, allowing_all, on_model
from lamina.cli._demo_local import run_local, tour_local
from lamina.cli._execute import Alone, execute
from lamina.cli._exits import OK, UsageError
from lamina.cli._findings import show_triage
from lamina.cli._graph import trees_of
from lamina.cli._load import AnyApp
from lamina.cli._models import ModelChoice, model_choice
from lamina.cli._output import JsonLines
from lamina.cli._plain import printable
from lamina.cli._screen import Screen
from lamina.cli._timeline import Timeline
from lamina.demo import TASK, Workspace, app, copied_reports, incomplete, triage_app
from lamina.effect import bind


def demo(options: argparse.Namespace) -> int:
    """Show what the command line says: one model, or the tour with two.

    Returns:
        The exit code of the run, or of the first run of the tour that did not go well.
    """
    choice = model_choice(options.model, options.base_url)
    if options.keep and options.folder is not None:
        raise UsageError("--keep keeps the copy that is made where no folder is named.", "Leave one of them out.")
    if options.folder == "todo":
        from lamina.cli._demo_todo import run_todo  # the tour does without

        return run_todo(choice or ModelChoice("scripted"), json=options.json)
    with _workspace(None if options.folder is None else Path(options.folder), keep=options.keep) as workspace:
        stays = options.keep or options.folder is not None
        stage = Stage(workspace, stays=stays, allow=options.yes, json=options.json)
        if options.keep and options.json:
            stage.say(stage.place)
        if choice is None:
            return _tour(stage)
        return run_local(stage) if choice.kind == "local" else stage.run(choice)


def _workspace(folder: Path | None, *, keep: bool) -> AbstractContextManager[Workspace]:
    if folder is None:
        return copied_reports(keep=keep)
    if not folder.is_dir():
        raise UsageError(f"There is no folder {printable(str(folder))}.", "Name one with text files, or leave it out.")
    return nullcontext(Workspace(folder.resolve()))


def _tour(stage: Stage) -> int:
    if not stage.json:
        stage.title("What the application consists of")
        for tree in trees_of(app.plan().mermaid()):
            stage.screen.console.print(tree)
        stage.title("The same with Approval left out: found before anything was opened")
        show_problems(stage.screen, "lamina.demo.incomplete:app", incomplete.app.plan().problems)
    stage.title("A run on a scripted model, which does the same each time")
    code = stage.run(ModelChoice("scripted"))
    return tour_local(stage) if code == OK else code


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
