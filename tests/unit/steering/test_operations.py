"""Every operation of steering goes through the wrapper, and tells nothing of what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lamina.steering import Command, MemorySteering, Steering, StoredSteering
from lamina.store import memory_store
from lamina.testing import VirtualClock, check_operations
from lamina.testing._store_ground import opened

CANARY = "canary-7f3a"
SAID = Command(
    id="c",
    run="r",
    conversation="t",
    kind="steering",
    author=CANARY,
    text=CANARY,
    created=VirtualClock().now(),
)


@asynccontextmanager
async def in_memory() -> AsyncIterator[Steering]:
    yield await filled(MemorySteering(VirtualClock()))


@asynccontextmanager
async def in_a_store() -> AsyncIterator[Steering]:
    async with opened(memory_store()) as store:
        yield await filled(StoredSteering(store, VirtualClock()))


async def filled(steering: Steering) -> Steering:
    for run in ("r", "empty"):
        (await steering.open(run, conversation=f"t-{run}", principal=CANARY)).unwrap()
    (await steering.submit("r", CANARY, id="c", author=CANARY, principal=CANARY)).unwrap()
    return steering


@pytest.mark.parametrize("make", [in_memory, in_a_store])
async def test_steering(make: Any) -> None:
    report = await check_operations(
        Steering,
        make,
        {
            "open": lambda it: it.open("q", conversation="t-q", principal=CANARY),
            "submit": lambda it: it.submit("r", CANARY, id="d", author=CANARY, principal=CANARY),
            "waiting": lambda it: it.waiting("r", "steering", 4),
            "delivered": lambda it: it.delivered("r", [SAID]),
            "close": lambda it: it.close("empty"),
            "pause": lambda it: it.pause("r"),
            "end": lambda it: it.end("r", [SAID]),
            "find": lambda it: it.find("t-r", "c", principal=CANARY),
            "commands": lambda it: it.commands("r", principal=CANARY),
        },
        canary=CANARY,
    )
    assert len(report.checked) == 9
