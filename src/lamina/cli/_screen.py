"""The terminal: lines that stay, and below them one status line that steps aside for everybody else.

Whatever the application or an approval question writes while a run is shown comes through the two streams that
`Screen.shared` puts into place, so the status line is wiped before it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from typing import Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from lamina.cli._plain import cut

_WIPE = "\r\x1b[2K"
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_SPINNER = "|/-\\"


class Screen:
    """Writes to one stream; on a terminal that can, it keeps a status line at the bottom.

    Args:
        stream: Where the lines go; standard output without it.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self.console = _Console(file=self._stream, highlight=False, markup=False, emoji=False)
        self.is_live = self.console.is_terminal and not self.console.is_dumb_terminal and os.name != "nt"
        self.is_unicode = "utf" in (getattr(self._stream, "encoding", None) or "").lower()
        self._status = ""
        self._shown = False
        self._held = False
        self._unfinished = False
        self._frame = 0

    @property
    def width(self) -> int:
        """The columns that a line may use."""
        return max(self.console.width, 20)

    def line(self, text: Text | str = "", hanging: int = 0) -> None:
        """Print a line that stays; a long one is wrapped at the terminal's width.

        Args:
            text: The line.
            hanging: How far the lines after the first are indented.
        """
        self._make_room()
        rest, indent = text if isinstance(text, Text) else Text(text), 0
        while rest.cell_len > self.width - indent:
            first = rest.wrap(self.console, self.width - indent)[0]
            taken = len(first)
            first.rstrip()
            self.console.print(Text.assemble(" " * indent, first), soft_wrap=True)
            rest = rest[taken:]
            rest = rest[len(rest) - len(rest.plain.lstrip(" ")) :]
            indent = min(hanging, self.width // 2)
        self.console.print(Text.assemble(" " * indent, rest), soft_wrap=True)

    def raw(self, text: Text | str) -> None:
        """Print a line that is never wrapped: a path in it can be copied, JSON stays JSON, and grep finds both."""
        self._make_room()
        self.console.print(text if isinstance(text, Text) else Text(text), soft_wrap=True)

    def prose(self, text: str) -> None:
        """Print a line of an answer: wrapped for a person at a terminal, and as it is into a file or a pipe."""
        if self.console.is_terminal:
            self.line(text)
        else:
            self.raw(text)

    def row(self, left: Text, right: str = "") -> None:
        """Print one line: what is left is cut to fit, what is right stands at the right edge where there is room."""
        width = min(self.width, 100)
        room = width - len(right) - 2 if right and width >= 40 else width
        if left.cell_len > room:
            left.truncate(room, overflow="ellipsis")
        if right and width >= 40:
            left.append(" " * max(1, width - left.cell_len - len(right)) + right, style="dim")
        self.raw(left)

    def status(self, text: str) -> None:
        """Say what is going on; an empty text takes the line away."""
        self._status = text
        if text:
            self.tick()
        else:
            self._wipe()

    def tick(self) -> None:
        """Draw the status line anew, if there is one and nobody else is using the screen."""
        if not (self.is_live and self._status and not self._held and not self._unfinished):
            return
        spinner = _SPINNER if self.is_unicode else _PLAIN_SPINNER
        self._frame += 1
        text = cut(f"{spinner[self._frame % len(spinner)]} {self._status}", self.width - 1)
        style = ("", "") if self.console.no_color else ("\x1b[2m", "\x1b[0m")
        self._stream.write(f"{_WIPE}{style[0]}{text}{style[1]}")
        self._stream.flush()
        self._shown = True

    def hold(self, held: bool) -> None:
        """Keep the status line away, from now on or no longer: somebody is asked something."""
        self._held = held
        if held:
            self._wipe()

    @contextlib.contextmanager
    def shared(self) -> Generator[None]:
        """Let everybody else write to the standard streams without meeting the status line."""
        before = sys.stdout, sys.stderr
        if self.is_live:
            sys.stdout, sys.stderr = (cast("TextIO", _Aside(self, stream)) for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before
            self._status = ""
            self._make_room()

    def step_aside(self, written: str) -> None:
        """Make room for what somebody else writes now."""
        self._wipe()
        if written:
            self._unfinished = not written.endswith("\n")

    def _make_room(self) -> None:
        self._wipe()
        if self._unfinished:
            self._unfinished = False
            self._stream.write("\n")
            self._stream.flush()

    def _wipe(self) -> None:
        if self._shown:
            self._shown = False
            self._stream.write(_WIPE)
            self._stream.flush()


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command, which has a run to end first; rich would exit from within it."""
        raise BrokenPipeError


class _Aside:
    """A stream that tells the screen before it writes, and is the original in everything else."""

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen = screen
        self._original = stream

    def write(self, text: str) -> int:
        self._screen.step_aside(text)
        return self._original.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # Any: whatever the original stream has
        return getattr(self._original, name)
