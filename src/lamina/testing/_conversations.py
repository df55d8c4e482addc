"""The suite that every `Conversations` passes, ours and yours (TEST-004)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Never
from uuid import uuid4

from lamina.conversation import Conversations
from lamina.effect import Clock, Layer, handler
from lamina.testing._clock import VirtualClock
from lamina.testing._conversation_cases import CASES
from lamina.testing._conversation_scene import Case, Scene
from lamina.testing._suite import ConformanceReport, hold_to, service_of


async def check_conversations(
    make: Callable[[Clock], Layer[Never, Conversations, Any]], *, lease: float = 30.0, patience: float = 60.0
) -> ConformanceReport:
    """Hold conversations to their port: one owner at a time, whole batches, valid histories, and nothing told twice.

    Args:
        make: Gives their layer, with the clock that leases are measured by. It is called many times, and where they
            are durable, each time for the same place; every case uses ids of its own there.
        lease: Seconds for which an append keeps a conversation there.
        patience: How many seconds one case may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        ConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.conversation import stored_conversations
        >>> from lamina.store import memory_store
        >>> make = lambda clock: stored_conversations(clock=clock).provide(memory_store())
        >>> anyio.run(check_conversations, make).left_out
        ('it keeps what was appended', 'two processes race for each position')
    """
    clock = VirtualClock()

    def again() -> AbstractAsyncContextManager[Conversations]:
        return service_of(make(clock), _the_conversations)

    async def run(case: Case) -> None:
        async with again() as conversations:
            await case(Scene(conversations, clock, lease, uuid4().hex[:12], again))

    async with again() as conversations:
        durable = conversations.durable
    return await hold_to(CASES, run, durable=durable, patience=patience)


@handler
async def _the_conversations(_: None, conversations: Conversations) -> Conversations:
    """Give the conversations of a runtime."""
    return conversations
