"""The folder that the demo's agent works on, as a service: what it can do, and how each of it may fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Literal, TypeAlias

import attrs
from annotated_types import MaxLen, MinLen
from returns.result import Result

from lamina.effect import tagged

Label: TypeAlias = Literal["crash", "data-loss", "security", "slow", "wording", "unclear"]
"""What a report may be labelled."""

FileName: TypeAlias = Annotated[str, MinLen(1), MaxLen(255)]


@tagged("There is no file {name} in the folder.")
class NoSuchFile:
    """The folder holds no file of that name."""

    name: str


@tagged("{name} is not inside the folder.")
class OutsideFolder:
    """The name leads out of the folder, by a path or a link."""

    name: str


@tagged("{name} is no text file.")
class NotText:
    """The file holds something else than text in UTF-8."""

    name: str


@tagged("{name} has {size} bytes, and {limit} are the most that is read.")
class FileTooLarge:
    """The file is larger than a report is."""

    name: str
    size: int
    limit: int


@tagged("The system refuses access to {name}.")
class AccessRefused:
    """The operating system did not allow it, or the disk gave out."""

    name: str


ReadProblem: TypeAlias = NoSuchFile | OutsideFolder | NotText | FileTooLarge | AccessRefused
"""Why a report cannot be read."""


@attrs.frozen
class ReportFile:
    """A file in the folder.

    Attributes:
        name: Its name, without a path.
        size: Its size in bytes.
        label: The label that it has; None where it has none.
    """

    name: str
    size: int
    label: str | None = None


@attrs.frozen
class Listing:
    """The files of the folder, by name.

    Attributes:
        folder: Where the folder is.
        files: At most as many as the folder's limit.
        left_out: How many more there are.
    """

    folder: str
    files: tuple[ReportFile, ...]
    left_out: int = 0


@attrs.frozen
class Match:
    """A line that holds what was searched for."""

    file: str
    line: int
    text: str


@attrs.frozen
class Matches:
    """What a search found.

    Attributes:
        matches: At most as many as the folder's limit.
        complete: Whether these are all.
    """

    matches: tuple[Match, ...]
    complete: bool = True


class ReportFolder(ABC):
    """A folder of text files, of which the agent may see nothing but names and texts, and may write nothing but labels.

    When to use: tools ask for it by its class; `DiskFolder` is the one on disk, and a test puts its own in its place.
    """

    @abstractmethod
    async def files(self) -> Result[Listing, AccessRefused]:
        """List the files, by name; labels and hidden files are none."""

    @abstractmethod
    async def read(self, name: str) -> Result[str, ReadProblem]:
        """Give a file's text."""

    @abstractmethod
    async def search(self, text: str) -> Result[Matches, AccessRefused]:
        """Find the lines that hold a text, in any case."""

    @abstractmethod
    async def set_label(self, name: str, label: Label) -> Result[None, ReadProblem]:
        """Write a report's label, over an earlier one."""
