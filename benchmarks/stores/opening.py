"""What a long conversation costs: opening it once is linear, and every run and every turn after that is flat.

A conversation is made of runs of ten turns of scenario c. It is opened by a runtime that has not read it before; then
runs begin in it in the same process. Turns of one run are measured as scenario g does.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from returns.result import Success

from adapters.lamina import Fake, add
from lamina.agent import Agent, AgentPolicy
from lamina.call import CallKey, ToolSuccess
from lamina.conversation import (
    CallStarted,
    Conversations,
    InputRecorded,
    Record,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    TurnAdvanced,
    stored_conversations,
)
from lamina.effect import handler
from lamina.model import AssistantMessage, Finish, LanguageModel, Text, ToolCall, Usage
from lamina.runtime import RuntimeBuilder, build
from lamina.store import sqlite_store
from scenario import FINAL
from verdict import Verdict

SIZES = (100, 1_250, 2_500, 5_000, 10_000)
TURNS_A_RUN = 10
MOST_LINEAR, MOST_WARM, MOST_GROWTH = 1.5, 2.0, 1.25


class Answers(LanguageModel):
    """Answers at once, whatever was said."""

    async def generate(self, request: Any) -> Any:
        return Success((Text(FINAL), Finish("stop", Usage(10, 5))))

    async def stream(self, request: Any, emit: Any) -> Any:
        raise AssertionError("nobody observes these runs")


class Counts(Fake):
    """Scenario c, but in a conversation that has something in it already."""

    def __init__(self, turns: int) -> None:
        super().__init__("c", 0.0)
        self.turns = turns
        self.turn = 0

    async def generate(self, request: Any) -> Any:
        self.turn += 1
        if self.turn > self.turns:
            self.turn = 0
            return Success((Text(FINAL), Finish("stop", Usage(10, 5))))
        call = ToolCall(f"c{self.turn}_0", "add", f'{{"x": {self.turn}}}')
        return Success((call, Finish("tool-calls", Usage(10, 5))))


POLICY = AgentPolicy(max_turns=400, max_tool_calls=400, max_duration=600, tool_concurrency=8)
ANSWER = Agent("answers", instructions="Add.", toolkit=add, policy=POLICY).on(Answers())


def said_in(run: str) -> list[Record]:
    """Give the records of one run, as a run writes them, without the first two and the last."""
    records: list[Record] = []
    for turn in range(1, TURNS_A_RUN + 1):
        key = CallKey(run, turn, f"c{turn}_0")
        call = ToolCall(key.call, "add", f'{{"x": {turn}}}')
        records += (
            ResponseDeclared(run, turn, AssistantMessage((call,)), Usage(10, 5)),
            CallStarted(key, "d" * 64, None),
            ResultSettled(key, ToolSuccess(turn + 1)),
            TurnAdvanced(run, turn),
        )
    return [*records, ResponseDeclared(run, TURNS_A_RUN + 1, AssistantMessage((Text(FINAL),)), Usage(10, 5))]


@handler
async def fill(records: int, conversations: Conversations) -> None:
    """Make a conversation of about so many records."""
    kept = 0
    while kept < records:
        run = f"run-{kept}"
        opening = (RunBegan(run, "c"), InputRecorded(run, f"{run}:0", "user", None, "go"))
        claim = (await conversations.claim(f"long-{records}", run, opening=opening)).unwrap()
        (await claim.log.append(*said_in(run), RunEnded(run, "completed"))).unwrap()
        kept = claim.log.tail.seq


async def one_run(rt: Any, binding: Any, conversation: str) -> float:
    begun = time.process_time()
    result = await rt.run(binding, "go", conversation=conversation)
    assert result.unwrap().output == FINAL
    return (time.process_time() - begun) * 1e6


def opening_on(path: Path, *bindings: Any) -> Any:
    builder: Any = RuntimeBuilder()
    for binding in bindings:
        builder = builder.agent(binding)
    return build(builder.provide(stored_conversations().provide(sqlite_store(path))))


async def compare(folder: Path, rounds: int) -> dict[str, Any]:
    path = folder / "opening.db"
    async with build(stored_conversations().provide(sqlite_store(path))) as rt:
        for size in SIZES:
            await rt.run(fill, size)
    cold: dict[int, list[float]] = {size: [] for size in SIZES}
    warm: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for size in SIZES:
            async with opening_on(path, ANSWER) as rt:
                await one_run(rt, ANSWER, "other")  # what is made at first use is made
                cold[size].append(await one_run(rt, ANSWER, f"long-{size}"))
                warm[size].append(statistics.median([await one_run(rt, ANSWER, f"long-{size}") for _ in range(20)]))
    growth: dict[str, list[float]] = {}
    for turns in (10, 50, 200):
        binding = Agent(f"c{turns}", instructions="Add.", toolkit=add, policy=POLICY).on(Counts(turns))
        async with opening_on(path, binding) as rt:
            for where in ("new", f"long-{SIZES[-1]}"):
                for number in range(rounds + 1):
                    conversation = f"{where}-{turns}-{number}" if where == "new" else where
                    cost = await one_run(rt, binding, conversation) / turns
                    if number:
                        growth.setdefault(f"{where} {turns}", []).append(cost)
    return {"cold": cold, "warm": warm, "growth": growth}


def measure_opening(folder: Path, rounds: int) -> list[Verdict]:
    """Measure, print the tables, and hold lamina to its bounds."""
    rounds = max(rounds, 5)
    found = asyncio.run(compare(folder, rounds))
    cold, warm, growth = found["cold"], found["warm"], found["growth"]
    print("\nopening: a run of one turn in a conversation, CPU us")
    print(f"{'records':>10}{'not read before':>18}{'us a record':>13}{'read before':>13}")
    per = {size: statistics.median(cold[size]) / size for size in SIZES}
    for size in SIZES:
        print(f"{size:10}{statistics.median(cold[size]):18.0f}{per[size]:13.1f}{statistics.median(warm[size]):13.0f}")
    print("\nopening: c of so many turns, CPU us a turn")
    print(f"{'':28}{'10':>8}{'50':>8}{'200':>8}{'200/10':>8}")
    ratios: dict[str, float] = {}
    for where, title in (("new", "a new conversation"), (f"long-{SIZES[-1]}", f"after {SIZES[-1]} records")):
        costs = [growth[f"{where} {turns}"] for turns in (10, 50, 200)]
        ratios[where] = statistics.median(late / early for late, early in zip(costs[2], costs[0], strict=True))
        medians = "".join(f"{statistics.median(each):8.0f}" for each in costs)
        print(f"{title:28}{medians}{ratios[where]:8.2f}")
    linear = statistics.median(
        (many / SIZES[-1]) / (few / SIZES[2]) for many, few in zip(cold[SIZES[-1]], cold[SIZES[2]], strict=True)
    )
    again = statistics.median(many / few for many, few in zip(warm[SIZES[-1]], warm[SIZES[0]], strict=True))
    return [
        Verdict(f"opening: a record of {SIZES[-1]} to one of {SIZES[2]}", linear, "x", MOST_LINEAR),
        Verdict(f"opening: a run after {SIZES[-1]} records, read before, to {SIZES[0]}", again, "x", MOST_WARM),
        *(
            Verdict(f"opening: a turn of 200 to one of 10, {where}", ratio, "x", MOST_GROWTH)
            for where, ratio in zip(("new", f"after {SIZES[-1]} records"), ratios.values(), strict=True)
        ),
    ]
