"""Kill processes whose run is spoken to, wherever they write: `-m tests.crash.steering_victims FOLDER`.

A process has a run to which three things are said, and is killed at each point that a dry run comes to. Another one
takes its conversation up; then everything that was admitted is in the log once, or is known to be dropped. What is
printed is one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from returns.result import Failure

from lamina.conversation import Conversations, history_problems, stored_conversations
from lamina.effect import Clock, Ids, bind
from lamina.runtime import Runtime, build
from lamina.steering import Steering, stored_steering
from lamina.store import Store, sqlite_store
from lamina.testing import VirtualClock, call_tool, say
from lamina.testing._store_ground import opened
from tests.conversing import the_conversations
from tests.crash.forking import fork, tell
from tests.crash.run_scene import Killer, OwnIds, Point, Watched
from tests.speaking import Listener, recorded
from tests.unit.engine.world import agent_with, echo
from tests.unit.runtime.test_steering import the_steering

SAID = (("s1", "steering"), ("f1", "follow-up"), ("s2", "steering"))


@attrs.frozen
class Scene:
    rt: Runtime[Any]
    conversations: Conversations
    steering: Steering


@asynccontextmanager
async def scene(folder: Path, process: str, nth: int, killer: Killer) -> AsyncGenerator[Scene, None]:
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC) + nth * timedelta(hours=1))
    async with opened(sqlite_store(folder / "log.db", readers=1)) as store:
        kept: Any = stored_conversations(clock=clock) | stored_steering(clock=clock)
        app: Any = kept.provide(bind(Store).value(Watched(store, killer)))
        app = app | bind(Clock).value(clock) | bind(Ids).value(OwnIds(process))
        async with build(app) as rt:
            yield Scene(rt, await rt.run(the_conversations, None), await rt.run(the_steering, None))


async def spoken_to(folder: Path, at: Point | None, pipe: int) -> None:
    killer = Killer(pipe, at)
    killer.watch_commits()
    async with scene(folder, "p0", 0, killer) as here:

        async def speak() -> None:
            for text, kind in SAID:
                answer = await (run.steer if kind == "steering" else run.follow_up)(text, id=text)
                if not isinstance(answer, Failure):
                    tell(pipe, f"admitted {text}")

        model = Listener(call_tool("echo", text="x"), say("a"), say("b"), say("c"), during={1: speak})
        async with here.rt.start(agent_with(echo, steering=True).on(model), "go", conversation="c") as run:
            ended: Any = await run.result()
        if isinstance(ended, Failure) or ended.unwrap().report.undelivered:
            tell(pipe, f"problem: the run gave {ended}".replace("\n", " "))


async def taken_up(folder: Path, nth: int, admitted: set[str], pipe: int) -> None:
    """Go on in the conversation, and look at what became of everything."""
    async with scene(folder, f"p{nth}", nth, Killer(pipe, ("nowhere", 1))) as here:
        ended: Any = await here.rt.run(agent_with(echo, steering=True).on(Listener(say("z"))), "on", conversation="c")
        log = [entry.record for entry in (await here.conversations.read("c")).unwrap()]
        verified = await here.conversations.verify("c")
        placed = (await here.steering.commands("run-p0-1")).unwrap()
        late = await here.steering.submit("run-p0-1", "late", id="late")
    delivered = [text for _, kind, _, text in recorded(log) if kind != "user"]
    became = {each.command.text: each.state for each in placed}
    for wrong, what in (
        (isinstance(ended, Failure), f"the next run gave {ended}"),
        (isinstance(verified, Failure), f"the log does not verify: {verified}"),
        (len(set(delivered)) != len(delivered), f"something was delivered twice: {delivered}"),
        (not admitted <= set(became), f"something that was admitted is gone: {sorted(admitted)}, {became}"),
        ({each for each, state in became.items() if state == "delivered"} != set(delivered), f"{became}, {delivered}"),
        ("queued" in became.values(), f"something waits for a run that is gone: {became}"),
        (not isinstance(late, Failure), "a run that is gone takes something"),
        (history_problems(ended.unwrap().report.history.messages) != [], "the history is not valid"),
    ):
        if wrong:
            tell(pipe, f"problem: {what}".replace("\n", " ")[:1500])


def play(folder: Path, at: Point | None) -> tuple[list[str], list[str], bool]:
    """Kill a process at a point, and look at what it left; give what it told, what is wrong, and whether it died."""
    folder.mkdir()
    died, told = fork(partial(spoken_to, folder, at))
    admitted = {line.removeprefix("admitted ") for line in told if line.startswith("admitted ")}
    _, looked = fork(partial(taken_up, folder, 1, admitted))
    wrong = [line for line in (*told, *looked) if line.startswith(("problem", "failed"))]
    return told, [f"{at}: {each}" for each in wrong], died


def main(folder: Path) -> None:
    told, problems, died = play(folder / "dry", None)
    points = [tuple(json.loads(line.removeprefix("point "))[:2]) for line in told if line.startswith("point ")]
    killed: Counter[str] = Counter()
    for number, point in enumerate(points):
        _, wrong, died = play(folder / f"{number}", point)
        problems += wrong if died else [*wrong, f"{point}: it was not killed"]
        killed[point[0]] += died
    print(json.dumps({"killed": killed, "problems": problems}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
