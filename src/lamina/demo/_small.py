"""An agent for a very small model: told in short sentences, only tools that read, and an answer of bounded length."""

from __future__ import annotations

import re
from typing import Annotated, Any, Never

import attrs
from annotated_types import MaxLen

from lamina.agent import Agent, AgentPolicy
from lamina.demo._disk import DiskFolder, Workspace
from lamina.demo._folder import ReportFolder
from lamina.demo._reading import clue_in
from lamina.demo._tools import list_files, read_file, search_files
from lamina.effect import Layer, bind
from lamina.model import LanguageModel
from lamina.runtime import RuntimeBuilder

LONGEST_REPORT = 4_000
_PLAIN_NAME = re.compile(r"[\w-]+(?:\.\w+)+")


@attrs.frozen
class Note:
    """What the last text is about.

    Attributes:
        about: What it is about, in a few words.
    """

    about: Annotated[str, MaxLen(80)]


helper = Agent(
    "helper",
    instructions="You read bug reports. Say what the last one is about.",
    # Its prompt is short on purpose: a model of this size takes up whatever stands last, also a line on budgets.
    policy=AgentPolicy(max_turns=6, max_tool_calls=6, max_duration=300, tool_concurrency=1, run_status="off"),
    toolkit=list_files | search_files | read_file,
    output=Note,
)
"""Does one short sentence after the other; it can write nothing, so nobody has to be asked."""


def small_app(
    workspace: Layer[Never, Workspace, Never], model: Layer[Never, LanguageModel, Never]
) -> RuntimeBuilder[Any, Any, Never]:  # Any: the same services as the triage's, less Approval
    """Put the small agent together, on a model."""
    return RuntimeBuilder().provide(workspace).provide(bind(ReportFolder).to(DiskFolder)).agent(helper.on(model))


def small_task(workspace: Workspace) -> str:
    """Make a task of what is in the folder: three sentences, each of which wants one tool.

    The file to be read is the shortest with a plain name; the text to be searched for is an error that a report names.
    """
    texts: dict[str, str] = {}
    for path in sorted(workspace.root.iterdir()):
        if path.suffix != ".label" and _PLAIN_NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                texts[path.name] = file.read(LONGEST_REPORT + 1).decode(errors="replace")
    read = min(
        (name for name in texts if 0 < len(texts[name]) <= LONGEST_REPORT),
        key=lambda name: len(texts[name]),
        default=None,
    )
    sentences = ["Which files are there?", f"Search the reports for {clue_in(texts) or 'error'}."]
    return " ".join([*sentences, *([f"Read {read}."] if read else [])])
