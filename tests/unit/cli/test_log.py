"""`--log FILE`: for its owner's eyes only, and without what the application knows as secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lamina.cli._log import application_log, hint_at_log
from lamina.effect import log
from tests.unit.cli.commands import Commands, lamina

__all__ = ["lamina"]

SECRET = "s3cr3t-token"
LEAKY = f'''
from typing import Never
import attrs
from lamina import Agent, AgentPolicy, RuntimeBuilder, Try, bind, tool
from lamina.redaction import Secrets
from lamina.testing import ScriptedModel, call_tool, say

@attrs.frozen
class Nothing: ...

@tool(execution="readonly")
async def leak(call: Nothing, ok: Try[Never]) -> str:
    """Raise."""
    raise ValueError("the door said: {SECRET}")

policy = AgentPolicy(max_turns=9, max_tool_calls=30, max_duration=60, tool_concurrency=2)
binding = Agent("a", instructions="x", policy=policy, toolkit=leak).on(ScriptedModel(call_tool("leak"), say("done")))
app = RuntimeBuilder().provide(bind(Secrets).value(Secrets("{SECRET}"))).agent(binding)
'''


def test_what_an_exception_says_is_logged_without_the_secrets_of_the_application(lamina: Commands) -> None:
    (lamina.folder / "leaky_log.py").write_text(LEAKY)

    ended = lamina("run", "leaky_log:app", "x", "--log", "app.log")

    log = (lamina.folder / "app.log").read_text()
    assert ended.code == 0
    assert "ValueError: the door said: [REDACTED:secret]" in log
    assert SECRET not in log


def test_a_new_log_is_for_its_owner_and_one_that_is_there_stays_as_it_is(lamina: Commands) -> None:
    (lamina.folder / "leaky_log.py").write_text(LEAKY)
    there = lamina.folder / "there.log"
    there.write_text("before\n")
    there.chmod(0o640)

    for name in ("new.log", "there.log"):
        lamina("run", "leaky_log:app", "x", "--log", name)

    assert [_mode(lamina.folder / "new.log"), _mode(there)] == [0o600, 0o640]
    assert there.read_text().startswith("before\n")


def test_a_session_is_not_named_with_a_secret(lamina: Commands) -> None:
    (lamina.folder / "leaky_log.py").write_text(LEAKY)

    by_name = lamina("run", "leaky_log:app", "x", "--session", f"a-{SECRET}")
    by_principal = lamina("run", "leaky_log:app", "x", "--session", "a", "--principal", SECRET)

    assert (by_name.code, by_principal.code) == (2, 2)
    assert by_name.err.startswith("lamina: The session id is refused: it holds a secret.\n")
    assert by_principal.err.startswith("lamina: The principal is refused: it holds a secret.\n")
    assert SECRET not in by_name.out + by_name.err + by_principal.out + by_principal.err
    assert lamina("sessions", "list").out == "There are no sessions of nobody in particular in lamina.db.\n"
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in lamina.folder.glob("lamina.db*"))


def _mode(file: Path) -> int:
    return os.stat(file).st_mode & 0o777


def test_without_a_log_it_is_said_once_that_something_broke(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def breaking(file: Path | None) -> str:
        with application_log(file), hint_at_log(file):
            log().warning("this is nothing")
            for _ in range(3):
                try:
                    raise ValueError(SECRET)
                except ValueError:
                    log().exception("a handler broke")
        return capsys.readouterr().err

    assert breaking(None) == "lamina: Something broke, and no client is told what: --log FILE keeps it.\n"
    assert breaking(tmp_path / "app.log") == ""
