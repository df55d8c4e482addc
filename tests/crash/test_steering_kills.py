"""A process whose run is spoken to may die at any write: nothing is delivered twice, and nothing is lost unsaid."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_what_was_admitted_is_in_the_log_once_or_known_to_be_dropped(
    tmp_path: Path, count_kills: Callable[[str, Mapping[str, int], int], None]
) -> None:
    command = [sys.executable, "-m", "tests.crash.steering_victims", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    count_kills("runs that were spoken to", seen["killed"], 0)
    assert seen["problems"] == []
    assert set(seen["killed"]) == {"before a unit", "before its commit", "after its commit", "after its answer"}
    assert all(count >= 10 for count in seen["killed"].values())
