"""The suite that every `Steering` passes, ours and yours (TEST-004)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Never
from uuid import uuid4

from lamina.effect import Clock, Layer, handler
from lamina.steering import Steering
from lamina.testing._clock import VirtualClock
from lamina.testing._steering_cases import CASES, Case, Ground
from lamina.testing._suite import ConformanceReport, hold_to, service_of


async def check_steering(
    make: Callable[[Clock], Layer[Never, Steering, Any]], *, patience: float = 60.0
) -> ConformanceReport:
    """Hold steering to its port: in order, once, bounded, and nothing that was admitted is lost (RUN-014, RUN-015).

    Args:
        make: Gives its layer, with the clock that tells when something was admitted. It is called many times, and where
            it is durable, each time for the same place; every case uses ids of its own there. Its limit has to be 16
            or more.
        patience: How many seconds one case may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        ConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.steering import memory_steering
        >>> anyio.run(check_steering, lambda clock: memory_steering(clock=clock)).left_out
        ('it keeps what was admitted', 'two processes race with the end')
    """
    clock = VirtualClock()

    def again() -> AbstractAsyncContextManager[Steering]:
        return service_of(make(clock), _the_steering)

    async def run(case: Case) -> None:
        async with again() as steering:
            await case(Ground(steering, clock, uuid4().hex[:12], again))

    async with again() as steering:
        durable = steering.durable
    return await hold_to(CASES, run, durable=durable, patience=patience)


@handler
async def _the_steering(_: None, steering: Steering) -> Steering:
    """Give the steering of a runtime."""
    return steering
