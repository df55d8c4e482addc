"""A program on a terminal of its own, and programs without one: what it prints is what tests wait for."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

LAMINA = (sys.executable, "-m", "lamina.cli")
# The longest that a busy machine may take; a test that waits so long has failed.
PATIENCE = 300.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(**extra: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color", **extra}


def lamina_without(package: str) -> tuple[str, ...]:
    """Give the command as it is where a package is not installed."""
    program = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, package=None: None if name == {package!r} else find(name, package)\n"
        "from lamina.cli import main\n"
        "sys.exit(main())\n"
    )
    return (sys.executable, "-c", program)


def run_lamina(
    *arguments: str,
    cwd: Path | None = None,
    given: str = "",
    extra: Mapping[str, str] | None = None,
    command: Sequence[str] = LAMINA,
) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal, to its end."""
    return subprocess.run(
        [*command, *arguments],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment(**(extra or {})),
        timeout=PATIENCE,
    )


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """The command on a pseudo-terminal, which it controls: Ctrl-C typed there is a SIGINT.

    Attributes:
        raw: Everything that it printed so far, escapes included.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path | None = None,
        columns: int = 80,
        command: Sequence[str] = LAMINA,
        **extra: str,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.raw = ""
        self._process = subprocess.Popen(
            [*command, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environment(**extra),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            os.close(self._ours)

    @property
    def text(self) -> str:
        """What it printed, without escapes."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def expect(self, text: str, *, times: int = 1) -> None:
        """Wait until a text was printed, so many times in all."""
        deadline = time.monotonic() + PATIENCE
        while self.text.count(text) < times:
            assert self._read(deadline), f"{text!r} never came; what came is:\n{self.text}"

    def type(self, keys: str) -> None:
        """Type: a line break is the Enter key, \\x03 is Ctrl-C, \\x04 the end of the input."""
        os.write(self._ours, keys.encode())

    def signal(self) -> None:
        """Send a SIGINT to the program alone."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Wait for the end, and give the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return self._process.wait(timeout=PATIENCE)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing was printed for {PATIENCE} s; what came is:\n{self.text}"
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # the program has gone, and with it the other side of the terminal
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
