"""A cancel at any step: each resource that was acquired is released, once and to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from returns.result import Failure, Result, Success

from lamina.effect import Environment, Layer, bind, handler, layer, plan
from tests.unit.effect.ledger import Ledger, resource


class A: ...


class B: ...


class C: ...


class Tx: ...


class Unit: ...


Scenario = Callable[..., Awaitable[Any]]


@handler
async def work(fails: bool, unit: Unit, tx: Tx) -> Result[int, str]:
    await checkpoint()
    await checkpoint()
    return Failure("no") if fails else Success(1)


def app(ledger: Ledger, *, group_in_request: bool) -> Layer[Any, Any, Any]:
    """A cancelled scope reaches the tasks of a group that a request's resource holds before anything can be shielded;
    the group then is cancelled, too, and such a resource has to shield its own release."""
    return (
        resource(ledger, C, B, A)
        | resource(ledger, B, A, holds_group=True)
        | resource(ledger, A)
        | resource(ledger, Tx, B, life="request", holds_group=group_in_request)
        | resource(ledger, Unit, Tx, life="request")
    )


async def open_and_close(ledger: Ledger, *, native: bool) -> None:
    environment = Environment(plan(app(ledger, group_in_request=native)))
    await environment.open()
    try:
        await checkpoint()
        await checkpoint()
    finally:
        await environment.close()


async def requests(ledger: Ledger, *, native: bool) -> None:
    environment = Environment(plan(app(ledger, group_in_request=native), [work]))
    with anyio.CancelScope(shield=True):
        await environment.open()
    try:
        call = (await environment.admit(work)).compile(work.needs, work.fn)
        assert await call(False) == Success(1)
        assert await call(True) == Failure("no")
    finally:
        await environment.close()


SCENARIOS = [open_and_close, requests]


@pytest.mark.asyncio
@pytest.mark.parametrize("times", [1, 2, 8])
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_native_cancel_at_any_step_leaves_nothing_behind(scenario: Scenario, times: int) -> None:
    for step in count():
        ledger = Ledger()
        task = asyncio.ensure_future(scenario(ledger, native=True))
        for _ in range(step):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        done, _ = await asyncio.wait([task], timeout=5)
        assert done, f"step {step} hangs"
        ledger.assert_balanced()
        others = [one.get_name() for one in asyncio.all_tasks() if one.get_name().startswith("lamina")]
        assert others == [], f"step {step}"
        if not task.cancelled():
            assert task.exception() is None
            assert step > 20, "the scenario ended before it was cancelled"
            return


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_cancelled_scope_at_any_step_leaves_nothing_behind(scenario: Scenario) -> None:
    for step in count():
        ledger = Ledger()
        finished = False
        async with anyio.create_task_group() as group:

            async def cancel(scope: anyio.CancelScope = group.cancel_scope, after: int = step) -> None:
                for _ in range(after):
                    await checkpoint()
                scope.cancel()

            group.start_soon(cancel)
            with anyio.fail_after(5):
                await scenario(ledger, native=False)
            finished = not group.cancel_scope.cancel_called
            group.cancel_scope.cancel()
        ledger.assert_balanced()
        if finished:
            assert step > 20, "the scenario ended before it was cancelled"
            return


async def test_what_is_released_in_a_cancelled_request_may_use_anyio() -> None:
    """`checkpoint_if_cancelled` waits for a cancel that a shield put up too late would keep away for ever."""
    lock = anyio.Lock()
    ledger = Ledger()

    async def make() -> Any:
        yield Tx()
        async with lock:
            ledger.released.append("tx")

    async def cancelled_but_not_yet_told(command: anyio.CancelScope, tx: Tx) -> int:
        command.cancel()
        return 1

    make.__annotations__["return"] = Tx
    asked = handler(cancelled_but_not_yet_told)
    environment = Environment(plan(bind(Tx).to(make, life="request"), [asked]))
    await environment.open()
    call = (await environment.admit(asked)).compile(asked.needs, asked.fn)
    with anyio.fail_after(5):
        with anyio.CancelScope() as scope:
            await call(scope)
    assert ledger.released == ["tx"]
    await environment.close()


def _cancel_unbegun(name: str) -> int:
    """Cancel the root tasks whose name begins so before their first step, as a loop does that shuts down."""
    found = [task for task in asyncio.all_tasks() if task.get_name().startswith(name)]
    for task in found:
        task.cancel()
    return len(found)


@pytest.mark.asyncio
async def test_a_settlement_that_is_cancelled_before_its_first_step_keeps_nobody_waiting() -> None:
    environment = Environment(plan(layer(A)), close_timeout=60)
    await environment.open()

    async def work_on() -> None:
        raise AssertionError("it never began")

    async def settle() -> None:
        await environment.settle(work_on, 60)

    settling = asyncio.create_task(settle())
    await asyncio.sleep(0)
    assert _cancel_unbegun("lamina settlement") == 1
    async with asyncio.timeout(10):
        with pytest.raises(RuntimeError, match="cancelled before it began"):
            await settling
        await environment.close()


@pytest.mark.asyncio
async def test_a_resource_that_is_cancelled_before_its_first_step_keeps_no_environment_from_closing() -> None:
    ledger = Ledger()
    environment = Environment(plan(resource(ledger, A)), close_timeout=60)
    opening = asyncio.create_task(environment.open())
    for _ in range(10):
        await asyncio.sleep(0)
        if _cancel_unbegun("lamina layer A"):
            break
    async with asyncio.timeout(10):
        with pytest.raises(RuntimeError, match="was cancelled while it came up"):
            await opening
        await environment.close()
    assert ledger.acquired == []
