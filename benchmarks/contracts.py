"""What a dispatch costs: one capability without completion, audited, beside the floor and the parts of the way.

`python benchmarks/contracts.py` prints CPU time for each call. The floor is what nobody gets round: pydantic reads the
payload, `uuid4` names the call, and an entry is appended to a bounded log. Rounds are interleaved, so that a slow
moment of the machine hits all of them; the median is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import uuid4

import attrs
from pydantic import BaseModel, ConfigDict
from returns.result import Failure

from lamina.call import Invocation, NoCaller, Signal
from lamina.contract import Contract, MemoryHost, audit_log, completes

TARGET_US = 40.0


@attrs.frozen
class Model:
    titles: int = 0


@attrs.frozen
class Create:
    title: str
    priority: int = 0
    tags: tuple[str, ...] = ()


@attrs.frozen
class Created:
    title: str


@attrs.frozen
class Save:
    title: str


@attrs.frozen
class Saved:
    title: str


class CreateModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    title: str
    priority: int = 0
    tags: list[str] = []


PAYLOAD = {"title": "Buy milk", "priority": 2, "tags": ["shop", "food"]}


@attrs.frozen
class Entry:
    at: datetime
    invocation: str
    capability: str
    outcome: str


def floor() -> Callable[[], Awaitable[object]]:
    entries: deque[Entry] = deque(maxlen=500)
    validate = CreateModel.model_validate

    async def call() -> object:
        made = validate(PAYLOAD)
        entries.append(Entry(datetime.now(UTC), str(uuid4()), "create", "dispatched"))
        return made

    return call


def calls() -> dict[str, Callable[[], Awaitable[object]]]:
    host: MemoryHost[Model, Create | Save | Saved] = MemoryHost(Model(), lambda model, message: model)
    base = Contract.of(Model, messages=Create | Created | Save | Saved)
    todo = base.variant(Create, "Create a todo", available=lambda m: True, authorize=lambda attempt: True)
    bound = todo.bind(host, audit=audit_log(include_input=False))
    bare = todo.bind(host)
    saving: MemoryHost[Model, Save | Saved] = MemoryHost(Model(), lambda model, message: model)
    saving.observe(lambda message: saving.dispatch(Saved(message.title)) if isinstance(message, Save) else None)
    ended = base.variant(
        Save, "Save", completion=completes(Saved, correlate=lambda request, result, call: request.title == result.title)
    ).bind(saving, audit=audit_log())
    nobody, create = NoCaller(), Create("Buy milk", 2, ("shop", "food"))

    async def unknown() -> object:
        answered = await bound.dispatch_unknown("create", PAYLOAD)  # type: ignore[arg-type]
        assert not isinstance(answered, Failure)
        return answered

    async def instance() -> object:
        return await bound.dispatch(create)

    async def unaudited() -> object:
        return await bare.dispatch_unknown("create", PAYLOAD)  # type: ignore[arg-type]

    async def surface() -> object:
        invocation = Invocation.new("mcp", signal=Signal())
        return await bound.invoke("create", PAYLOAD, invocation, nobody)  # type: ignore[arg-type]

    async def completed() -> object:
        return await ended.dispatch(Save("Buy milk"))

    return {
        "floor: pydantic + uuid4 + entry": floor(),
        "dispatch_unknown, audited": unknown,
        "dispatch of an instance, audited": instance,
        "dispatch_unknown, not audited": unaudited,
        "invoke as a surface, with a signal": surface,
        "dispatch that completes at once": completed,
    }


async def timed(call: Callable[[], Awaitable[object]], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        await call()
    return (time.process_time() - began) / count * 1e6


async def measure(rounds: int, count: int) -> dict[str, float]:
    ways = calls()
    found: dict[str, list[float]] = {name: [] for name in ways}
    for call in ways.values():
        await timed(call, count // 4)
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in ways.items():
                found[name].append(await timed(call, count))
            gc.collect()
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=2_000)
    options = parser.parse_args()
    found = asyncio.run(measure(options.rounds, options.count))
    base = next(iter(found.values()))
    print(f"{'':38}{'µs CPU':>8}{'x floor':>9}")
    for name, micros in found.items():
        print(f"{name:38}{micros:8.1f}{micros / base:9.1f}")
    audited = found["dispatch_unknown, audited"]
    print(f"\ntarget: {TARGET_US:g} µs for an audited dispatch; {'met' if audited <= TARGET_US else 'MISSED'}")


if __name__ == "__main__":
    main()
