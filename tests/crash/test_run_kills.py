"""A process with a run in a conversation may die at any moment: another goes on, and all that was done is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.crash.run_scene import BODY, UNIT

LANES = 2
AT_RANDOM = 200
SEED = 20261130
ROOT = Path(__file__).parents[2]


MEMORY = Path("/dev/shm")  # noqa: S108 - what is in it is made by tempfile


@pytest.fixture
def lanes_folders(tmp_path: Path) -> Iterator[list[Path]]:
    """Give a folder to each lane, in memory where that can be: what a killed process wrote is there as on a disk."""
    with ExitStack() as stack:
        where = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else tmp_path
        made = [stack.enter_context(TemporaryDirectory(prefix="lamina-crash-", dir=where)) for _ in range(LANES)]
        yield [Path(each) for each in made]


@pytest.mark.timeout(600)
def test_whatever_a_killed_run_did_is_told_and_nothing_is_lost_or_done_twice(
    lanes_folders: list[Path], count_kills: Callable[[str, Mapping[str, int], int], None]
) -> None:
    seed = int(os.environ.get("LAMINA_CRASH_SEED", SEED))
    lanes: list[subprocess.Popen[str]] = []
    for lane, folder in enumerate(lanes_folders):
        arguments = [str(folder), f"{lane}", f"{LANES}", f"{AT_RANDOM}", f"{seed}"]
        command = [sys.executable, "-m", "tests.crash.run_victims", *arguments]
        pipe = subprocess.PIPE
        lanes.append(subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True))
    killed: Counter[str] = Counter()
    points: Counter[str] = Counter()
    cases, problems = 0, list[str]()
    try:
        for process in lanes:
            out, err = process.communicate(timeout=400)
            assert process.returncode == 0, err
            seen = json.loads(out.splitlines()[-1])
            killed.update(seen["killed"])
            points.update(seen["points"])
            cases += seen["cases"]
            problems += [*seen["problems"], *seen["missing"]]
    finally:
        for process in lanes:
            process.kill()
            process.wait()
    count_kills("processes with a run in a conversation", killed, seed)
    assert problems == [], f"seed {seed}"
    assert killed["at random"] == AT_RANDOM
    assert killed["at failpoints"] >= cases > 200
    assert {*UNIT, *BODY} <= set(points)
    # Each unit has a point at either side of it, of its commit and of its answer; so has each body.
    assert points["before a unit"] == points["after its answer"] > 30
    assert points["before its commit"] == points["after its commit"] == points["before a unit"] + 1  # the schema's
    assert points["before a body"] == points["in a body"] == points["after a body"] + 1 > 8  # one never ends
    assert points["after its commit while taking up"] > 30
    assert points["after a body while taking up"] > 8
