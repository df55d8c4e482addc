"""What every adapter runs, and how its fake model answers.

An adapter is a module of `adapters/` with

    IMPORT = "the import statements that a user of the framework writes"      # scenario e times them
    def build(delay: float) -> dict[str, Callable[[], Awaitable[str]]]: ...

`build` gives one coroutine function for each of "a", "b" and "c"; each call of one is a complete fresh run that answers
`FINAL`. An adapter without `build` is measured in scenario e alone. The fake model awaits `model_wait(delay)` before it
answers, and the tool adds one to `HITS[0]`, so that the worker can prove that the tools ran.

- a: one model turn, no tools.
- b: a turn that asks for `FANOUT` parallel calls of `add`, then an answer.
- c: `TURNS` turns of one call each, then an answer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeAlias

FANOUT = 8
TURNS = int(os.environ.get("BENCH_TURNS", "50"))
FINAL = "done"
HITS = [0]

Runs: TypeAlias = dict[str, Callable[[], Awaitable[str]]]


async def model_wait(delay: float) -> None:
    """Wait as the fake model does before it answers; 0 gives way to the loop once."""
    await asyncio.sleep(delay)


def plan(scenario: str, turn: int) -> list[tuple[str, dict[str, int]]] | None:
    """Give what the model says on a turn, counted from 0: calls as (id, arguments), or None for the final text."""
    if scenario == "b" and turn == 0:
        return [(f"c0_{i}", {"x": i}) for i in range(FANOUT)]
    if scenario == "c" and turn < TURNS:
        return [(f"c{turn}_0", {"x": turn})]
    return None
