"""A process that writes to a SQLite store may die at any moment: nothing is torn, nothing that was answered is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.crash import store_victims

KILLS = 204


@pytest.mark.timeout(600)
def test_nothing_is_torn_when_writers_are_killed(
    tmp_path: Path, count_kills: Callable[[str, Mapping[str, int], int], None]
) -> None:
    seed = int(os.environ.get("LAMINA_CRASH_SEED", random.randrange(10**6)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.store_victims", str(tmp_path), str(KILLS), str(seed)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    count_kills("writers of a SQLite store", seen["killed"], seed)
    assert seen["problems"] == [], f"seed {seed}"
    assert seen["killed"]["at random"] + seen["killed"]["at failpoints"] >= KILLS
    assert seen["killed"]["while it was made"] >= 30
    assert len(seen["answered"]) == store_victims.CONVERSATIONS
    assert min(seen["answered"].values()) > 0
    assert {f"{when} {word}" for when in ("before", "after") for word in store_victims.WORDS} <= set(seen["points"])
