"""Terminals side by side in a real tmux, with a server of their own: what stands on them is what tests look at."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.e2e.terminal import PATIENCE, environment

_ENDED = re.compile(r"\[ended with (\d+)\]")


class Panes:
    """Some panes of one tmux window, each a shell in the same folder.

    The server is this test's own: its socket is in a folder of its own, it reads nobody's settings, and it is gone at
    the end.

    Args:
        folder: Where the shells are.
        count: How many there are.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self._count = count
        self._sockets = tempfile.TemporaryDirectory(prefix="tmux")  # a socket's path has to be short
        self._said = 0

    def __enter__(self) -> Self:
        shell = "env PS1='$ ' bash --noprofile --norc"
        self._tmux("new-session", "-d", "-s", "s", "-x", "240", "-y", "150", "-c", str(self._folder), shell)
        for _ in range(1, self._count):
            self._tmux("split-window", "-t", "s", "-c", str(self._folder), shell)
            self._tmux("select-layout", "-t", "s", "even-vertical")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._tmux("kill-server")
        self._sockets.cleanup()

    def run(self, pane: int, command: str) -> tuple[int, str]:
        """Type a command into a pane, wait for its end, and give its exit code and what it left on the screen."""
        self._said += 1
        done, before = f"done-{self._said}", len(_ENDED.findall(self.text(pane)))
        self.type(pane, f'{command}; echo "[ended with $?]"; tmux wait-for -S {done}')
        self._tmux("wait-for", done)
        deadline = time.monotonic() + PATIENCE
        while len(ended := list(_ENDED.finditer(text := self.text(pane)))) <= before:
            assert time.monotonic() < deadline, f"the pane never showed the end:\n{text}"
        begin = ended[-2].end() if len(ended) > 1 else 0
        return int(ended[-1][1]), text[begin : ended[-1].start()]

    def type(self, pane: int, line: str) -> None:
        """Type a line, and Enter."""
        self._tmux("send-keys", "-t", f"s.{pane}", "-l", line)
        self._tmux("send-keys", "-t", f"s.{pane}", "Enter")

    def text(self, pane: int) -> str:
        """Give all that a pane has shown, with wrapped lines put together again."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-", "-t", f"s.{pane}")

    def _tmux(self, *arguments: str) -> str:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        env = {**environment(PATH=path, TMUX_TMPDIR=self._sockets.name, LC_ALL="C.UTF-8"), "TERM": "screen-256color"}
        env.pop("TMUX", None)
        done = subprocess.run(
            ["tmux", "-u", "-f", os.devnull, *arguments],
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{shlex.join(['tmux', *arguments])}: {done.stderr}"
        return done.stdout
