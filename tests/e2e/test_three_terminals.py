"""Suspended in one terminal, approved in a second, gone on with in a third (issue 3, Shows 3)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from returns.result import Success

from lamina.conversation import (
    ApprovalDecided,
    CallStarted,
    Entry,
    ResponseDeclared,
    ResultSettled,
    RunResumed,
    RunSuspended,
    stored_conversations,
)
from lamina.runtime import try_build
from lamina.store import sqlite_store
from tests.conversing import the_conversations
from tests.e2e.panes import Panes

pytestmark = pytest.mark.needs("tmux")
APP = "lamina.demo.refunds:app"


async def log_of(file: Path) -> tuple[Entry, ...]:
    """Read the session's log, whose digests are all right."""
    async with try_build(stored_conversations() | sqlite_store(file), programs=[the_conversations]) as built:
        conversations = await built.unwrap().run(the_conversations, None)
        assert isinstance(await conversations.verify("ada"), Success)
        return (await conversations.read("ada")).unwrap()


def records(log: tuple[Entry, ...], kind: type[object]) -> list[Entry]:
    return [entry for entry in log if isinstance(entry.record, kind)]


async def test_suspended_here_approved_there_resumed_elsewhere(tmp_path: Path) -> None:
    file, paid = tmp_path / "lamina.db", tmp_path / "refunds.txt"
    with Panes(tmp_path, 3) as panes:
        code, first = panes.run(0, f'lamina run {APP} "Refund order 1042." --session ada')
        assert code == 3, first
        assert "The session ada is new; it is kept in lamina.db." in first
        assert "refund waits for a decision: Refund 12.50 for order 1042 (high risk)" in first
        assert "suspended: 1 decision to be made" in first
        approve, resume = (line.strip() for line in first.splitlines() if line.startswith("  lamina "))
        assert not paid.exists()
        suspended = await log_of(file)
        assert (len(records(suspended, RunSuspended)), records(suspended, CallStarted)) == (1, [])

        code, too_early = panes.run(2, resume)
        assert code == 3, too_early
        assert "waits for a decision still" in too_early
        assert await log_of(file) == suspended

        code, listed = panes.run(1, "lamina approvals list")
        assert code == 0, listed
        approval = approve.split()[-1]
        for shown in (approval, "Refund 12.50 for order 1042", "high risk", "order 1042", '"cents": 1250'):
            assert shown in listed
        code, approved = panes.run(1, f"{approve} --by ada")
        assert code == 0, approved
        assert "approved by ada: refund: Refund 12.50 for order 1042" in approved
        assert "--session ada --resume" in approved
        assert not paid.exists()

        code, done = panes.run(2, resume)
        assert code == 0, done
        assert "Done: 12.50 for order 1042." in done
        assert paid.read_text() == "order 1042: 1250 cents\n"
        log = await log_of(file)

        code, again = panes.run(0, resume)
        assert code == 1, again
        assert re.search(r"AlreadyDecided: The run run-[0-9a-f]{32} is not suspended any more\.", again)
        code, decided = panes.run(1, f"{approve} --by ada")
        assert code == 1, decided
        assert paid.read_text() == "order 1042: 1250 cents\n"
        assert await log_of(file) == log

        code, goes_on = panes.run(0, f'lamina run {APP} "What was refunded?" --session ada')
        assert code == 0, goes_on
        assert "Refunded so far: 12.50 for order 1042." in goes_on

    assert log[: len(suspended)] == suspended
    kinds = Counter(entry.kind for entry in log)
    assert [kinds[kind.__name__] for kind in (RunSuspended, ApprovalDecided, RunResumed, CallStarted)] == [1, 1, 1, 1]
    assert kinds["ResponseDeclared"] == 3, "the model was not asked again for the batch"
    (start,) = [entry.record for entry in records(log, CallStarted)]
    assert isinstance(start, CallStarted)
    assert (start.approved_by, start.approval_id) == ("ada", approval)
    results = [each.record for each in records(log, ResultSettled) if each.record.key == start.key]  # type: ignore[union-attr]
    assert len(results) == 1
    assert records(log, ResponseDeclared)[-1].seq > records(log, RunResumed)[0].seq
