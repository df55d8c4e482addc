"""The suite that every `Steering` passes, ours and yours (TEST-004)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Never
from uuid import uuid4

import anyio
import attrs
from returns.result import Failure

from lamina.effect import Clock, Layer, handler
from lamina.runtime import try_build
from lamina.steering import Steering
from lamina.testing._clock import VirtualClock
from lamina.testing._conversations import what_of
from lamina.testing._outcomes import Broken
from lamina.testing._steering_cases import CASES, FOR_DURABLE, Ground


@attrs.frozen
class SteeringReport:
    """What a suite has looked at.

    Attributes:
        checked: The cases that the steering passed.
        left_out: Those that are only for durable one, where this is not.
    """

    checked: tuple[str, ...]
    left_out: tuple[str, ...]


class SteeringConformanceError(AssertionError):
    """Steering does not do what its port says; `problems` has every one, as `case: what`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join((f"{len(problems)} problems", *problems)))
        self.problems = problems


async def check_steering(
    make: Callable[[Clock], Layer[Never, Steering, Any]], *, patience: float = 60.0
) -> SteeringReport:
    """Hold steering to its port: in order, once, bounded, and nothing that was admitted is lost (RUN-014, RUN-015).

    Args:
        make: Gives its layer, with the clock that tells when something was admitted. It is called many times, and where
            it is durable, each time for the same place; every case uses ids of its own there. Its limit has to be 16
            or more.
        patience: How many seconds one case may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        SteeringConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.steering import memory_steering
        >>> anyio.run(check_steering, lambda clock: memory_steering(clock=clock)).left_out
        ('it keeps what was admitted', 'two processes race with the end')
    """
    checked: list[str] = []
    left_out: list[str] = []
    problems: list[str] = []
    clock = VirtualClock()
    async with _opened(make(clock)) as steering:
        durable = steering.durable
    for case in (*CASES, *FOR_DURABLE):
        name = case.__name__.replace("_", " ")
        if case in FOR_DURABLE and not durable:
            left_out.append(name)
            continue
        try:
            with anyio.fail_after(patience):
                async with _opened(make(clock)) as steering:
                    await case(Ground(steering, clock, uuid4().hex[:12], lambda: _opened(make(clock))))
            checked.append(name)
        except TimeoutError:
            problems.append(f"{name}: not done after {patience:g} s")
        except Exception as error:  # what raises breaks its port; go on and look at the rest
            problems.append(f"{name}: {what_of(error)}")
    if problems:
        raise SteeringConformanceError(tuple(problems))
    return SteeringReport(tuple(checked), tuple(left_out))


@handler
async def _the_steering(_: None, steering: Steering) -> Steering:
    """Give the steering of a runtime."""
    return steering


@asynccontextmanager
async def _opened(app: Layer[Never, Steering, Any]) -> AsyncGenerator[Steering, None]:
    async with try_build(app) as built:
        if isinstance(built, Failure):
            raise Broken(f"it does not open: {built.failure()}")
        yield await built.unwrap().run(_the_steering, None)
