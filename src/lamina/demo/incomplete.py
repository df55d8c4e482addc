"""The triage application with `Approval` left out: `lamina check lamina.demo.incomplete:app` says what is missing."""

from __future__ import annotations

from lamina.demo._agent import triage
from lamina.demo._app import in_folder
from lamina.demo._disk import DiskFolder
from lamina.demo._folder import ReportFolder
from lamina.demo._planner import TriageModel
from lamina.effect import bind
from lamina.model import LanguageModel
from lamina.runtime import RuntimeBuilder

app = (
    RuntimeBuilder()
    .provide(in_folder())
    .provide(bind(ReportFolder).to(DiskFolder))
    .agent(triage.on(bind(LanguageModel).to(TriageModel)))
)
