"""The demo: an agent that triages a folder of bug reports, on real files, through the whole pipeline.

`app` is the application, for `lamina run lamina.demo:app "…"`; `lamina.demo.incomplete` is the same with `Approval`
left out, to see what one is told.
"""

from lamina.demo._agent import TASK, Finding, Severity, Triage, triage
from lamina.demo._app import in_folder, triage_app
from lamina.demo._disk import DiskFolder, Workspace, copied_reports, shipped_reports
from lamina.demo._folder import (
    AccessRefused,
    FileTooLarge,
    Label,
    Listing,
    Match,
    Matches,
    NoSuchFile,
    NotText,
    OutsideFolder,
    ReadProblem,
    ReportFile,
    ReportFolder,
)
from lamina.demo._planner import TriageModel
from lamina.demo._small import Note, helper, small_app, small_task

app = triage_app()
"""The triage agent over a copy of the shipped reports, on a deterministic model."""

__all__ = [
    "TASK",
    "AccessRefused",
    "DiskFolder",
    "FileTooLarge",
    "Finding",
    "Label",
    "Listing",
    "Match",
    "Matches",
    "NoSuchFile",
    "NotText",
    "Note",
    "OutsideFolder",
    "ReadProblem",
    "ReportFile",
    "ReportFolder",
    "Severity",
    "Triage",
    "TriageModel",
    "Workspace",
    "app",
    "copied_reports",
    "helper",
    "in_folder",
    "shipped_reports",
    "small_app",
    "small_task",
    "triage",
    "triage_app",
]
