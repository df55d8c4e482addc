"""The demo's model knows nothing but its request, and reacts to what it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from returns.result import Result, Success

from lamina.approval import Approval, ApprovalRequest, Approved, Denied, ScriptedApproval, TerminalApproval
from lamina.demo import (
    DiskFolder,
    Label,
    Listing,
    Matches,
    NoSuchFile,
    ReadProblem,
    ReportFile,
    ReportFolder,
    Triage,
    TriageModel,
    incomplete,
    triage_app,
)
from lamina.effect import bind
from lamina.engine import Completed
from lamina.model import AssistantMessage, ModelRequest, Reducer, ToolCall, ToolSpec, UserMessage, reduce
from lamina.runtime import build

TEXTS = {
    "crash.md": "It closes with a KeyError.",
    "lost.md": "All my notes are lost. See output.log, and the KeyError.",
    "vague.md": "Please help.",
}


@pytest.fixture(autouse=True)
def copies_go_with_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


class MemoryFolder(ReportFolder):
    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.labels: dict[str, Label] = {}

    async def files(self) -> Result[Listing, object]:
        return Success(Listing("memory", tuple(ReportFile(name, len(text)) for name, text in self.texts.items())))

    async def read(self, name: str) -> Result[str, ReadProblem]:
        return Success(self.texts[name]) if name in self.texts else Result.from_failure(NoSuchFile(name))

    async def search(self, text: str) -> Result[Matches, object]:
        return Success(Matches(()))

    async def set_label(self, name: str, label: Label) -> Result[None, ReadProblem]:
        self.labels[name] = label
        return Success(None)


async def run(folder: MemoryFolder, approval: ScriptedApproval) -> Completed[Triage]:
    app = triage_app().replace(bind(ReportFolder).value(folder), bind(Approval).value(approval))
    async with build(app) as rt:
        return (await rt.run(app.agents["triage"], "Triage.")).unwrap()


def calls_in(completed: Completed[Triage]) -> list[list[tuple[str, object]]]:
    messages: Sequence[object] = completed.report.history.messages
    return [
        [(call.name, json.loads(call.arguments)) for call in message.calls]
        for message in messages
        if isinstance(message, AssistantMessage) and message.calls
    ]


async def test_an_allowed_label_is_written_and_said_so() -> None:
    folder, approval = MemoryFolder(TEXTS), ScriptedApproval([Approved("Ada")])

    completed = await run(folder, approval)

    assert calls_in(completed) == [
        [("list_files", {})],
        [("read_file", {"name": name}) for name in TEXTS],
        [("search_files", {"text": "KeyError"}), ("read_file", {"name": "output.log"})],
        [("write_label", {"name": "crash.md", "label": "crash"})],
    ]
    assert [(request.tool, request.targets) for request in approval.requests] == [("write_label", ("crash.md",))]
    assert folder.labels == {"crash.md": "crash"}
    assert completed.output.labelled == ("crash.md",)
    assert [finding.report for finding in completed.output.findings] == ["crash.md", "lost.md", "vague.md"]


async def test_a_denied_label_is_not_claimed() -> None:
    folder = MemoryFolder(TEXTS)

    completed = await run(folder, ScriptedApproval([Denied("Ada", "not today")]))

    assert folder.labels == {}
    assert completed.output.labelled == ()
    assert "No label was written: The call was denied: not today" in completed.output.summary


async def test_many_reports_are_read_up_to_a_limit() -> None:
    folder = MemoryFolder({f"{number:02}.md": "It is slow." for number in range(20)})

    completed = await run(folder, ScriptedApproval([True]))

    assert len(completed.output.findings) == 8
    assert "12 were left unread." in completed.output.summary


REQUEST = ModelRequest((UserMessage.of("Triage."),), (ToolSpec("list_files", "List.", {}),))


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(REQUEST, id="calls"),
        pytest.param(ModelRequest(REQUEST.messages), id="no tools"),
        pytest.param(ModelRequest(REQUEST.messages, REQUEST.tools, "none"), id="tools forbidden"),
    ],
)
async def test_whole_and_streamed_answers_are_equal(request_: ModelRequest) -> None:
    model, reducer = TriageModel(), Reducer()

    whole = reduce((await model.generate(request_)).unwrap()).unwrap()
    await model.stream(request_, reducer.feed)

    assert reducer.finish().unwrap() == whole
    offered = request_.tool_choice != "none" and bool(request_.tools)
    assert [part.name for part in whole.message.parts if isinstance(part, ToolCall)] == ["list_files"] * offered


def test_what_is_left_out_is_the_only_problem() -> None:
    (problem,) = incomplete.app.plan().problems

    assert (problem.kind, problem.subject) == ("MISSING", "Approval")
    assert triage_app().plan().problems == ()
    assert triage_app().plan().unused == ()


def test_an_approval_can_be_put_in_its_place() -> None:
    class Never(Approval):
        async def request(self, request: ApprovalRequest) -> Result[Denied, object]:
            return Success(Denied("nobody"))

    replaced = triage_app().replace(bind(Approval).to(Never), bind(ReportFolder).to(DiskFolder))

    assert replaced.plan().problems == ()


def test_the_line_that_the_report_says_to_write_is_the_one() -> None:
    (problem,) = incomplete.app.plan().problems
    assert problem.write is not None
    names = {"bind": bind, "Approval": Approval, "TerminalApproval": TerminalApproval}
    written = eval(problem.write.removeprefix("| "), names)

    assert incomplete.app.provide(written).plan().problems == ()
