"""Kill processes that run an agent in a conversation: `-m tests.crash.run_victims FOLDER LANE LANES RANDOM SEED`.

Where a process can be killed is found by letting it run through once, so that no list of it can be out of date. Each
kill is followed by another process, which looks at everything and goes on; it is killed at each of its points, too,
where it takes up what was lost in the middle of a batch, was suspended, or had just been resumed. What is printed is
one line of JSON. Several lanes share the work.
"""

from __future__ import annotations

import gc
import json
import random
import shutil
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio

from lamina.effect import log
from tests.crash.forking import fork
from tests.crash.run_looking import Told, take_up, wrong_with_file
from tests.crash.run_scene import BODY, UNIT, Killer, Point, scene, talk

LATEST = 0.005
"""Seconds, after a point that is chosen at random, within which a process is killed from outside."""
Case: TypeAlias = tuple[Point, ...]
"""Where the first process is killed that talks, and where the one is that takes up what it left, if it is."""


async def talking(folder: Path, at: Point | None, process: str, nth: int, pipe: int) -> None:
    killer = Killer(pipe, at)
    killer.watch_commits()
    async with scene(folder, process, nth, killer) as here:
        await talk(here)


async def taking_up(folder: Path, at: Point | None, process: str, nth: int, told: Told, pipe: int) -> None:
    killer = Killer(pipe, at)
    killer.watch_commits()
    async with scene(folder, process, nth, killer) as here:
        await take_up(here, told, folder)


def without_what(points: list[tuple[str, int, str]]) -> list[Point]:
    return [(name, number) for name, number, _ in points]


def follow(folder: Path, told: Told, nth: int, at: Point | None = None) -> bool:
    """Let another process take up what was left; give whether it was killed."""
    told.problems += wrong_with_file(folder / "log.db")
    process = f"p{nth}"
    dead, lines = fork(partial(taking_up, folder, at, process, nth, told))
    told.hear(lines)
    if dead and at is None:
        told.problems.append(f"{process} hung, or died by itself")
    return dead


class Harness:
    """Kills, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.killed: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.problems: list[str] = []
        self._made = 0

    def new(self) -> Path:
        self._made += 1
        made = self.folder / f"{self._made}"
        made.mkdir()
        return made

    def done(self, folder: Path, told: Told, what: object) -> None:
        self.problems += [f"{what}: {each}" for each in told.problems]
        if not told.problems:
            shutil.rmtree(folder)

    def dry_run(self) -> list[tuple[str, int, str]]:
        """Talk without being killed, and give where a process came to."""
        folder, told = self.new(), Told()
        dead, lines = fork(partial(talking, folder, None, "p0", 0))
        told.hear(lines)
        points = list(told.points)
        follow(folder, told, 1)
        assert not dead
        self.done(folder, told, "nobody was killed")
        return points

    def dry_take_up(self, first: Point) -> list[Point]:
        """Give where a process comes to that takes up what was killed there."""
        folder, told = self.new(), Told()
        fork(partial(talking, folder, first, "p0", 0))
        follow(folder, told, 1)
        self.done(folder, told, first)
        return without_what(told.points)

    def at_points(self, case: Case) -> None:
        folder, told = self.new(), Told()
        first, *more = case
        dead, lines = fork(partial(talking, folder, first, "p0", 0))
        told.hear(lines)
        died = [dead]
        for nth, at in enumerate(more, 1):
            died.append(follow(folder, told, nth, at))
        if [json.loads(each) for each in told.died_at] != [list(each) for each in case] or not all(died):
            told.problems.append(f"it was to be killed at {case}, and was at {told.died_at}")
        follow(folder, told, len(case))
        self.killed["at failpoints"] += sum(died)
        self.points[f"{case[-1][0]}{' while taking up' if more else ''}"] += 1
        self.done(folder, told, case)

    def at_random(self, kills: int, points: int) -> None:
        """Kill at random moments, several times in one conversation, and look at it after each."""
        folder, told, nth = self.new(), Told(), 0
        while self.killed["at random"] < kills and len(self.problems) < 10:
            come_to, moment = random.randrange(points), random.uniform(0.0, LATEST)
            dead, lines = fork(partial(talking, folder, None, f"p{nth}", nth), moment, lines=come_to)
            told.hear([line for line in lines if not line.startswith("point ")])
            self.killed["at random"] += dead
            follow(folder, told, nth + 1)
            nth += 2
            if nth >= 10 or told.problems or self.killed["at random"] >= kills:
                self.done(folder, told, "at random")
                folder, told, nth = self.new(), Told(), 0


def second_kills(harness: Harness, points: list[tuple[str, int, str]]) -> list[Case]:
    """Give the points of a process that takes up what was left in the middle of something, after that."""
    firsts: list[Point] = []
    for name, what in (("in a body", "p0-act"), ("after its answer", "suspended:"), ("in a body", "p0-asked")):
        firsts += [(at, number) for at, number, told in points if at == name and what in told][:1]
    assert len(firsts) == 3, firsts
    return [
        (first, second)
        for first in firsts
        for second in harness.dry_take_up(first)
        if second[0] in ("after its commit", "after a body")
    ]


async def warm(folder: Path) -> None:
    """Do everything once, so that what is forked has imported and compiled it."""
    with (folder / "told").open("wb") as told:
        for nth, work in enumerate((talk, partial(take_up, told=Told(), folder=folder))):
            async with scene(folder, f"p{nth}", nth, Killer(told.fileno(), None)) as here:
                await work(here)


def main(folder: Path, lane: int, lanes: int, kills: int, seed: int) -> None:
    random.seed(seed + lane)
    harness = Harness(folder)
    log().debug("imported")
    anyio.run(warm, harness.new())
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    gc.collect()
    gc.freeze()
    points = harness.dry_run()
    firsts = without_what(points)
    # Sorted, so that the lanes agree: what threads do comes in any order.
    cases: list[Case] = sorted([*[(point,) for point in firsts], *second_kills(harness, points)])
    for case in cases[lane::lanes]:
        if len(harness.problems) >= 10:
            break
        harness.at_points(case)
    harness.at_random(kills // lanes + (lane < kills % lanes), len(points))
    seen: dict[str, Any] = {
        "killed": harness.killed,
        "points": harness.points,
        "cases": len(cases[lane::lanes]),
        "missing": sorted({*UNIT, *BODY} - {name for name, _ in firsts}),
        "problems": harness.problems[:10],
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *[int(each) for each in sys.argv[2:]])
