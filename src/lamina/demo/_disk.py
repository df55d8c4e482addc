"""The report folder on disk. Whatever name a model comes up with, nothing outside the folder is read or written."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeVar

import anyio.to_thread
import attrs
from returns.result import Failure, Result, Success

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

T = TypeVar("T")

LARGEST_FILE = 64 * 1024
MOST_FILES = 100
MOST_MATCHES = 20
LONGEST_LINE = 160
LABEL = ".label"
# Neither follows a link, nor waits at a pipe that somebody put there.
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@attrs.frozen
class Workspace:
    """Where the reports are: the one thing that a `DiskFolder` needs."""

    root: Path


@contextmanager
def copied_reports(*, keep: bool = False) -> Generator[Workspace]:
    """Copy the reports that come with the package into a new folder, and remove it at the end.

    Args:
        keep: Whether the folder stays, for whoever wants to look.
    """
    root = Path(tempfile.mkdtemp(prefix="lamina-demo-"))
    try:
        with as_file(files("lamina.demo") / "reports") as reports:
            for report in sorted(reports.glob("*.md")):
                shutil.copyfile(report, root / report.name)
        yield Workspace(root)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


async def shipped_reports() -> AsyncIterator[Workspace]:
    """Work on a copy of the reports that come with the package, for as long as the runtime is open."""
    with copied_reports() as workspace:
        yield workspace


class DiskFolder(ReportFolder):
    """The files directly in one folder; a label is written beside its report, as `<name>.label`."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root

    async def files(self) -> Result[Listing, AccessRefused]:
        """List the files, by name."""
        return await _in_thread(self._files)

    async def read(self, name: str) -> Result[str, ReadProblem]:
        """Give a file's text."""
        return await _in_thread(lambda: self._read(name))

    async def search(self, text: str) -> Result[Matches, AccessRefused]:
        """Find the lines that hold a text, in any case."""
        return await _in_thread(lambda: self._search(text))

    async def set_label(self, name: str, label: Label) -> Result[None, ReadProblem]:
        """Write `<name>.label`; a reader sees the old label or the new one, never half of one."""
        return await _in_thread(lambda: self._set_label(name, label))

    def _names(self) -> Result[list[str], AccessRefused]:
        try:
            with os.scandir(self._root) as entries:
                names = [one.name for one in entries if one.is_file(follow_symlinks=False) and _is_report(one.name)]
        except OSError:
            return Failure(AccessRefused("the folder"))
        return Success(sorted(names))

    def _files(self) -> Result[Listing, AccessRefused]:
        listed = self._names()
        if isinstance(listed, Failure):
            return Failure(listed.failure())
        names = listed.unwrap()
        shown = [self._file(name) for name in names[:MOST_FILES]]
        return Success(Listing(str(self._root), tuple(shown), len(names) - len(shown)))

    def _file(self, name: str) -> ReportFile:
        label = self._read(name + LABEL)
        size = 0
        with suppress(OSError):  # it was there when the folder was listed
            size = (self._root / name).lstat().st_size
        return ReportFile(name, size, None if isinstance(label, Failure) else label.unwrap().strip()[:LONGEST_LINE])

    def _read(self, name: str) -> Result[str, ReadProblem]:
        if _leads_away(name):
            return Failure(OutsideFolder(name))
        path = self._root / name
        try:
            if path.is_symlink():
                return Failure(OutsideFolder(name))
            descriptor = os.open(path, _OPEN)
        except OSError as error:
            return Failure(_problem(error, name))
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return Failure(NoSuchFile(name))
            if status.st_size > LARGEST_FILE:
                return Failure(FileTooLarge(name, status.st_size, LARGEST_FILE))
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(LARGEST_FILE + 1)
        except OSError as error:
            return Failure(_problem(error, name))
        finally:
            os.close(descriptor)
        if len(data) > LARGEST_FILE:  # it has grown meanwhile
            return Failure(FileTooLarge(name, len(data), LARGEST_FILE))
        return _as_text(data, name)

    def _search(self, text: str) -> Result[Matches, AccessRefused]:
        listed = self._names()
        if isinstance(listed, Failure):
            return Failure(listed.failure())
        wanted, matches = text.casefold(), list[Match]()
        for name in listed.unwrap():
            read = self._read(name)
            for number, line in enumerate([] if isinstance(read, Failure) else read.unwrap().splitlines(), start=1):
                if wanted in line.casefold():
                    if len(matches) == MOST_MATCHES:
                        return Success(Matches(tuple(matches), complete=False))
                    matches.append(Match(name, number, line.strip()[:LONGEST_LINE]))
        return Success(Matches(tuple(matches)))

    def _set_label(self, name: str, label: Label) -> Result[None, ReadProblem]:
        if not _is_report(name):
            return Failure(OutsideFolder(name) if _leads_away(name) else NoSuchFile(name))
        read = self._read(name)
        if isinstance(read, Failure):
            return Failure(read.failure())
        try:
            # Its own new file, moved over whatever has the name: a link there is replaced, not followed.
            descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=LABEL, dir=self._root)
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.write(f"{label}\n")
                os.replace(temporary, self._root / (name + LABEL))
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError:
            return Failure(AccessRefused(name))
        return Success(None)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


def _leads_away(name: str) -> bool:
    """Tell whether a name is anything but a plain file name; no file has such a name on any system."""
    return name in ("", ".", "..") or any(character in name for character in "/\\:\0")


def _is_report(name: str) -> bool:
    return not (_leads_away(name) or name.startswith(".") or name.endswith(LABEL))


def _problem(error: OSError, name: str) -> ReadProblem:
    match error.errno:
        case errno.ENOENT | errno.EISDIR | errno.ENAMETOOLONG | errno.EINVAL | errno.ENXIO:
            return NoSuchFile(name)
        case errno.ELOOP:
            return OutsideFolder(name)
        case _:
            return AccessRefused(name)


def _as_text(data: bytes, name: str) -> Result[str, ReadProblem]:
    if b"\0" in data:
        return Failure(NotText(name))
    try:
        return Success(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Failure(NotText(name))
