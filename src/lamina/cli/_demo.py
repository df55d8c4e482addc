"""`lamina demo`: the graph, the report of a mistake, and runs on real files; `lamina demo todo` is its own."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from lamina.cli._check import show_problems
from lamina.cli._demo_local import run_local, tour_local
from lamina.cli._exits import OK, UsageError
from lamina.cli._graph import trees_of
from lamina.cli._models import ModelChoice, model_choice
from lamina.cli._plain import printable
from lamina.cli._stage import Stage
from lamina.demo import Workspace, app, copied_reports, incomplete


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
