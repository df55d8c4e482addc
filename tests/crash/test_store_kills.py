"""A process that writes to a SQLite store may die at any moment: nothing is torn, nothing that was answered is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash import store_victims

KILLS = 204


def test_nothing_is_torn_when_writers_are_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("LAMINA_CRASH_SEED", random.randrange(10**6)))
    done = subprocess.run(
        [sys.executable, str(store_victims.__file__), str(tmp_path), str(KILLS), str(seed)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    with capsys.disabled():
        counts = ", ".join(f"{count} {where}" for where, count in seen["killed"].items())
        print(f"\nkilled {sum(seen['killed'].values())} writers of a SQLite store: {counts} (seed {seed})")
    assert seen["problems"] == [], f"seed {seed}"
    assert seen["killed"]["at random"] + seen["killed"]["at failpoints"] >= KILLS
    assert seen["killed"]["while it was made"] >= 30
    assert len(seen["answered"]) == store_victims.CONVERSATIONS
    assert min(seen["answered"].values()) > 0
    assert {f"{when} {word}" for when in ("before", "after") for word in store_victims.WORDS} <= set(seen["points"])
