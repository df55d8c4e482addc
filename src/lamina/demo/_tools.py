"""The demo's tools: three that read, and one that writes and is asked for first."""

from __future__ import annotations

from typing import Annotated

import attrs
from annotated_types import MaxLen, MinLen

from lamina.approval import Ask
from lamina.demo._folder import AccessRefused, FileName, Label, Listing, Matches, ReadProblem, ReportFolder
from lamina.effect import Try
from lamina.tools import tool

LONGEST_TEXT = 8_000


@attrs.frozen
class ListFiles:
    """The input of `list_files`: nothing."""


@attrs.frozen
class ReadFile:
    """The input of `read_file`.

    Attributes:
        name: The name of the file.
    """

    name: FileName


@attrs.frozen
class SearchFiles:
    """The input of `search_files`.

    Attributes:
        text: The text to search for.
    """

    text: Annotated[str, MinLen(1), MaxLen(200)]


@attrs.frozen
class WriteLabel:
    """The input of `write_label`.

    Attributes:
        name: The name of the file.
        label: The label.
    """

    name: FileName
    label: Label


@attrs.frozen
class FileText:
    """A file's text, or its beginning.

    Attributes:
        name: The file.
        text: At most 8,000 characters.
        complete: Whether this is all of it.
    """

    name: str
    text: str
    complete: bool = True


@attrs.frozen
class Labelled:
    """A label that was written."""

    name: str
    label: Label


@tool(execution="readonly")
async def list_files(call: ListFiles, ok: Try[AccessRefused], folder: ReportFolder) -> Listing:
    """List the reports in the folder."""
    return ok(await folder.files())


@tool(execution="readonly")
async def read_file(call: ReadFile, ok: Try[ReadProblem], folder: ReportFolder) -> FileText:
    """Read one report."""
    text = ok(await folder.read(call.name))
    return FileText(call.name, text[:LONGEST_TEXT], complete=len(text) <= LONGEST_TEXT)


@tool(execution="readonly")
async def search_files(call: SearchFiles, ok: Try[AccessRefused], folder: ReportFolder) -> Matches:
    """Search all reports for a text."""
    return ok(await folder.search(call.text))


@tool(
    execution="uncertain",
    needs_approval=True,
    approval=Ask[WriteLabel](
        summary=lambda call: f"Label {call.name} as {call.label}",
        targets=lambda call: [call.name],
        risk="low",
        recoverable=True,
        expires=120,
    ),
)
async def write_label(call: WriteLabel, ok: Try[ReadProblem], folder: ReportFolder) -> Labelled:
    """Write the label of one report into the folder."""
    ok(await folder.set_label(call.name, call.label))
    return Labelled(call.name, call.label)
