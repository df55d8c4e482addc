"""Processes that resume one suspended run at once: exactly one runs what was approved, and runs it once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lamina.approval import Approved
from lamina.conversation import StoredConversations
from lamina.effect import SystemClock
from lamina.engine import RunSuspended
from lamina.runtime import RuntimeBuilder, try_build
from lamina.testing import ScriptedModel, call_tool
from lamina.testing._store_ground import opened
from tests.crash import resume_racers
from tests.crash.resume_racers import app_of, binding_of, store_of
from tests.postgres import cluster
from tests.stores import DURABLE

RACERS = 3
ROUNDS = 2


@pytest.mark.parametrize("kind", DURABLE)
async def test_of_processes_that_resume_at_once_exactly_one_runs(kind: str, tmp_path: Path) -> None:
    where = cluster().database() if kind == "postgres" else str(tmp_path / "store.db")
    notes = tmp_path / "notes"
    names = [f"till-{at}" for at in range(ROUNDS)]
    binding = binding_of(notes, ScriptedModel(*[call_tool("pay", cents=at) for at in range(ROUNDS)]))
    async with try_build(RuntimeBuilder().provide(app_of(kind, where)).agent(binding)) as built:
        for name in names:
            ended = await built.unwrap().run(binding, "Pay.", conversation=name)
            assert isinstance(ended.failure().cause, RunSuspended)
    async with opened(store_of(kind, where)) as store:
        conversations = StoredConversations(store, SystemClock())
        for each in (await conversations.pending()).unwrap():
            digest = each.request.arguments_digest
            (await conversations.decide(each.conversation, each.run, each.call, Approved("ada"), digest)).unwrap()
    for at, name in enumerate(names):
        assert sorted(race(kind, where, name, notes)) == ["AlreadyDecided"] * (RACERS - 1) + ["done"]
        assert notes.read_text().split() == [str(paid) for paid in range(at + 1)]


def race(kind: str, where: str, conversation: str, notes: Path) -> list[str]:
    """Let processes resume one run, and give what each of them said."""
    command = [sys.executable, str(resume_racers.__file__), kind, where, conversation, str(notes)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(RACERS)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline().strip() == "ready"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        return [racer.communicate(timeout=60)[0].strip() for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()
