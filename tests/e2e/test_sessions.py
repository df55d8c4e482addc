"""Sessions of real processes: interrupted, two at once, killed, on PostgreSQL, and with a database that breaks."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.e2e.terminal import LAMINA, PATIENCE, environment, run_lamina
from tests.e2e.test_cli import SLOW
from tests.postgres import cluster

Start: TypeAlias = Callable[..., subprocess.Popen[str]]
APP = "lamina.demo.refunds:app"


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


@pytest.fixture
def started(tmp_path: Path) -> Generator[Start]:
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        processes.append(
            subprocess.Popen(
                [*LAMINA, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env=environment(),
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=PATIENCE)


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read what a process says on standard error until a text is there; one that never says it is killed."""
    assert process.stderr is not None
    said = ""
    patience = threading.Timer(PATIENCE, process.kill)
    patience.start()
    try:
        while text not in said:
            line = process.stderr.readline()
            assert line, f"{text!r} never came; what came is:\n{said}"
            said += line
    finally:
        patience.cancel()


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, object]]:
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, json.loads(out.splitlines()[-1])


def test_an_interrupted_run_leaves_a_session_that_goes_on(slow: Path, started: Start) -> None:
    process = started("run", "slow:app", "slow", "go", "--session", "s", "--json")
    wait_for(process, "the write has begun")
    process.send_signal(signal.SIGINT)
    code, last = ended(process)
    after = run_lamina("run", "slow:app", "talker", "hello", "--session", "s", "--json", cwd=slow)
    shown = run_lamina("sessions", "show", "s", cwd=slow)

    assert (code, last["result"]) == (130, "interrupted")
    assert after.returncode == 0, after.stderr
    assert "the run interrupted: RunInterrupted\n" in shown.stdout
    assert "ended with ToolUnknownOutcome" in shown.stdout
    assert "  free  " in run_lamina("sessions", "list", cwd=slow).stdout


def test_of_two_at_once_the_second_is_refused_or_waits_its_turn(slow: Path, started: Start) -> None:
    first = started("run", "slow:app", "slow", "go", "--session", "s", "--json")
    wait_for(first, "the write has begun")
    refused = run_lamina("run", "slow:app", "talker", "hello", "--session", "s", cwd=slow)
    resumed = run_lamina("run", "slow:app", "--session", "s", "--resume", cwd=slow)
    queued = started("run", "slow:app", "talker", "hello", "--session", "s", "--busy", "queue", "--json")
    wait_for(queued, "The session s is in use, so this run waits")
    listed = run_lamina("sessions", "list", "--json", cwd=slow)
    first.send_signal(signal.SIGINT)

    assert refused.returncode == resumed.returncode == 1
    assert "ConversationBusy: The conversation s is in use: the run" in refused.stdout
    assert "\n  lamina run slow:app talker --session s --busy queue " in refused.stdout
    assert "is in use: the run" in resumed.stderr
    assert json.loads(listed.stdout)["state"] == "busy"
    assert ended(first)[0] == 130
    code, last = ended(queued)
    assert (code, last["output"]) == (0, "hello")
    lines = run_lamina("sessions", "show", "s", "--json", cwd=slow).stdout.splitlines()[1:]
    runs = [
        json.loads(line)["payload"]["run"] for line in lines if json.loads(line)["kind"] in ("RunBegan", "RunEnded")
    ]
    assert [runs[0] == runs[1], runs[2] == runs[3], len(runs)] == [True, True, 4], "the two were never interleaved"


def test_a_session_that_is_made_by_eight_at_once_is_one(slow: Path, started: Start) -> None:
    arguments = ("run", "slow:app", "talker", "hello", "--session", "s", "--busy", "queue", "--json")
    processes = [started(*arguments) for _ in range(8)]

    assert [ended(process)[0] for process in processes] == [0] * 8
    (listed,) = run_lamina("sessions", "list", "--json", cwd=slow).stdout.splitlines()
    assert json.loads(listed)["conversations"][0]["id"] == "s"


@pytest.mark.needs("postgres")
def test_all_of_it_on_postgresql_and_the_password_is_never_shown(tmp_path: Path) -> None:
    dsn = cluster().database()
    extra = {"LAMINA_STORE": dsn}
    first = run_lamina("run", APP, "Refund order 1042.", "--session", "ada", "--json", cwd=tmp_path, extra=extra)
    id_ = json.loads(first.stdout.splitlines()[-1])["suspended"]["waiting"][0]["approval"]
    approved = run_lamina("approvals", "approve", id_, "--by", "ada", cwd=tmp_path, extra=extra)
    resumed = run_lamina("run", APP, "--session", "ada", "--resume", cwd=tmp_path, extra=extra)
    again = run_lamina("run", APP, "--session", "ada", "--resume", cwd=tmp_path, extra=extra)
    wrong = run_lamina("sessions", "list", "--store", "postgresql://ada:s3cret@127.0.0.1:1/none", cwd=tmp_path)

    assert [each.returncode for each in (first, approved, resumed, again, wrong)] == [3, 0, 0, 1, 2]
    assert "AlreadyDecided" in again.stderr
    assert wrong.stderr.startswith("lamina: The store postgresql://ada@127.0.0.1:1/none: The store cannot be used: ")
    assert "s3cret" not in wrong.stderr + wrong.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["refunds.txt"]


STEERED = '''
import asyncio
import sys
from pathlib import Path
from typing import Never

import attrs

from lamina.agent import Agent, AgentPolicy
from lamina.effect import Try, bind
from lamina.model import Finish, LanguageModel, Text, TextDelta, TextEnd, TextStart, ToolCall, Usage, UserMessage
from lamina.runtime import RuntimeBuilder
from lamina.tools import tool
from returns.result import Success


@attrs.frozen
class Wait:
    pass


@tool(execution="readonly")
async def wait(call: Wait, ok: Try[Never]) -> str:
    """Wait for a file."""
    print("waiting", file=sys.stderr, flush=True)
    while not Path("let-go").exists():
        await asyncio.sleep(0.01)
    return "waited"


class Listener(LanguageModel):
    provider, model = "test", "listener"

    async def generate(self, request):
        said = [message.text for message in request.messages if isinstance(message, UserMessage)]
        if len(request.messages) < 3:
            return Success([ToolCall("w", "wait", "{}"), Finish("tool-calls", Usage(1, 1))])
        return Success([Text(" + ".join(said)), Finish("stop", Usage(1, 1))])

    async def stream(self, request, emit):
        for part in (await self.generate(request)).unwrap():
            emit(part)
        return Success(None)


def app_with(steering):
    policy = AgentPolicy(max_turns=3, max_tool_calls=3, max_duration=600, tool_concurrency=1, run_status="off",
                         steering=steering)
    agent = Agent("a", instructions="Wait.", policy=policy, toolkit=wait)
    return RuntimeBuilder().agent(agent.on(bind(LanguageModel).to(Listener)))


app, deaf = app_with(True), app_with(False)
'''


def test_what_is_said_to_a_busy_session_reaches_the_run_that_has_it(tmp_path: Path, started: Start) -> None:
    (tmp_path / "listening.py").write_text(STEERED)
    run = ("run", "listening:app", "first", "--session", "s", "--json")
    first = started(*run)
    wait_for(first, "waiting")
    second = run_lamina("run", "listening:app", "second", "--session", "s", "--busy", "steer", cwd=tmp_path)
    third = run_lamina("run", "listening:app", "third", "--session", "s", "--busy", "steer", "--json", cwd=tmp_path)
    (tmp_path / "let-go").touch()

    assert (second.returncode, third.returncode) == (0, 0), second.stderr
    assert "handed over: it goes into that run's next request" in second.stdout
    last = json.loads(third.stdout.splitlines()[-1])
    code, told = ended(first)
    assert (code, told["result"]) == (0, "completed")
    assert str(told["output"]).startswith("first + second")
    assert (last["result"], last["steered"]["run"], last["steered"]["position"]) == ("steered", told["run"], 2)
    (listed,) = run_lamina("sessions", "list", "--json", cwd=tmp_path).stdout.splitlines()
    assert json.loads(listed)["state"] == "free"


def test_a_run_that_listens_to_nobody_is_busy(tmp_path: Path, started: Start) -> None:
    (tmp_path / "listening.py").write_text(STEERED)
    first = started("run", "listening:deaf", "first", "--session", "s", "--json")
    wait_for(first, "waiting")
    second = run_lamina("run", "listening:deaf", "second", "--session", "s", "--busy", "steer", cwd=tmp_path)
    (tmp_path / "let-go").touch()

    assert second.returncode == 1
    assert "ConversationBusy: " in second.stdout
    assert ended(first)[1]["output"] == "first"
