"""The command in this process: what it prints and how it ends, in a folder of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from lamina.cli import main

APP = "lamina.demo.refunds:app"


@attrs.frozen
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        return self.lines[-1]


class Commands:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ended:
        code = main(arguments)
        captured = self._capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    def ask(self, text: str, *more: str, session: str = "ada") -> Ended:
        return self("run", APP, text, "--session", session, "--json", *more)

    def suspended(self, *more: str, session: str = "ada") -> dict[str, Any]:
        """Let a run wait, and give the one call that waits."""
        ended = self.ask("Refund order 1042.", *more, session=session)
        assert ended.code == 3, ended
        (waiting,) = ended.last["suspended"]["waiting"]
        return waiting


@pytest.fixture
def lamina(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LAMINA_STORE", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Commands(tmp_path, capsys)
