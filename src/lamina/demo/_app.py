"""The demo as an application: three services, one agent, and what it takes to leave one out."""

from __future__ import annotations

from pathlib import Path
from typing import Never

from lamina.approval import Approval, TerminalApproval
from lamina.demo._agent import triage
from lamina.demo._disk import DiskFolder, Workspace, shipped_reports
from lamina.demo._folder import ReportFolder
from lamina.demo._planner import TriageModel
from lamina.effect import Layer, bind, scoped
from lamina.model import LanguageModel
from lamina.runtime import RuntimeBuilder


def ask_at_the_terminal() -> Approval:
    """Ask whoever sits at the terminal; where nobody does, the answer is no."""
    return TerminalApproval()


def in_folder(root: Path | None = None) -> Layer[Never, Workspace, Never]:
    """Work on a folder in place; without one, on a copy of the reports that come with the package."""
    return scoped(shipped_reports) if root is None else bind(Workspace).value(Workspace(root))


def triage_app(
    workspace: Layer[Never, Workspace, Never] | None = None,
) -> RuntimeBuilder[Workspace | ReportFolder | Approval, Workspace | ReportFolder | Approval, Never]:
    """Put the triage agent together.

    Args:
        workspace: Where the reports are; a copy of the shipped ones without it.
    """
    return (
        RuntimeBuilder()
        .provide(in_folder() if workspace is None else workspace)
        .provide(bind(ReportFolder).to(DiskFolder))
        .provide(bind(Approval).to(ask_at_the_terminal))
        .agent(triage.on(bind(LanguageModel).to(TriageModel)))
    )
