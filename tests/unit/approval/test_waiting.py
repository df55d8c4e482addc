"""Approval that waits in the process: bounded, decided once, bound to its arguments, and gone when it is cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from returns.result import Failure, Success

from lamina.approval import ApprovalUnavailable, Approved, Denied, NotWaiting, WaitingApproval
from lamina.call import CallKey
from lamina.effect import ConstructionError
from tests.unit.approval.requests import request
from tests.unit.engine.asking import asked_with, asking
from tests.unit.engine.world import until

DIGEST = "0" * 64


def ask(call: str = "c", *, run: str = "r", **changes: Any) -> Any:
    key = CallKey(run, 1, call)
    return request(id=f"approval:{key}", key=key, **changes)


async def test_it_waits_until_somebody_decides() -> None:
    approval, asked = WaitingApproval(), ask()
    task = asyncio.create_task(approval.request(asked))
    await until(lambda: bool(approval.waiting))
    assert approval.waiting == (asked,)
    assert approval.decide(asked.id, Denied("ada", "no"), DIGEST) == Success(asked)
    assert approval.waiting == ()
    assert approval.decide(asked.id, Approved("bob"), DIGEST) == Failure(NotWaiting(asked.id))
    assert await task == Success(Denied("ada", "no"))


async def test_a_decision_on_other_arguments_is_none() -> None:
    approval, asked = WaitingApproval(), ask()
    task = asyncio.create_task(approval.request(asked))
    await until(lambda: bool(approval.waiting))
    assert approval.decide(asked.id, Approved("ada"), "1" * 64) == Failure(NotWaiting(asked.id))
    assert approval.decide("approval:other", Approved("ada"), DIGEST) == Failure(NotWaiting("approval:other"))
    assert approval.waiting == (asked,)
    approval.decide(asked.id, Approved("ada"), DIGEST)
    assert await task == Success(Approved("ada"))


async def test_what_is_cancelled_waits_no_more() -> None:
    approval, asked = WaitingApproval(), ask()
    task = asyncio.create_task(approval.request(asked))
    await until(lambda: bool(approval.waiting))
    task.cancel()
    await asyncio.wait({task})
    assert (task.cancelled(), approval.waiting) == (True, ())
    assert approval.decide(asked.id, Approved("ada"), DIGEST) == Failure(NotWaiting(asked.id))


async def test_a_request_that_waits_again_is_not_taken_off_by_the_one_before() -> None:
    approval, asked = WaitingApproval(), ask()
    first = asyncio.create_task(approval.request(asked))
    await until(lambda: bool(approval.waiting))
    approval.decide(asked.id, Denied("ada"), DIGEST)
    second = asyncio.create_task(approval.request(asked))
    await first
    await until(lambda: bool(approval.waiting))
    approval.decide(asked.id, Approved("ada"), DIGEST)
    assert await second == Success(Approved("ada"))


async def test_no_more_wait_than_the_limit() -> None:
    approval = WaitingApproval(limit=2)
    tasks = [asyncio.create_task(approval.request(ask(call))) for call in "ab"]
    await until(lambda: len(approval.waiting) == 2)
    assert await approval.request(ask("c")) == Failure(ApprovalUnavailable("2 requests wait already"))
    approval.decide(ask("a").id, Approved("ada"), DIGEST)
    again = asyncio.create_task(approval.request(ask("b")))
    assert await again == Failure(ApprovalUnavailable("the same request waits already"))
    approval.decide(ask("b").id, Approved("ada"), DIGEST)
    assert await asyncio.gather(*tasks) == [Success(Approved("ada"))] * 2
    assert approval.waiting == ()


@pytest.mark.parametrize("limit", [0, -1, float("inf"), float("nan")])
def test_the_limit_is_positive(limit: Any) -> None:
    with pytest.raises(ConstructionError, match="limit is a positive number"):
        WaitingApproval(limit=limit)


async def test_a_decision_on_the_tool_answers_the_other_requests_of_its_run_for_it() -> None:
    approval = WaitingApproval()
    asked = [ask("a"), ask("b"), ask("c", tool="other"), ask("d", run="another")]
    tasks = [asyncio.create_task(approval.request(each)) for each in asked]
    await until(lambda: len(approval.waiting) == 4)
    approval.decide(asked[0].id, Approved("ada", covers="tool"), DIGEST)
    assert approval.waiting == (asked[2], asked[3])
    for each in asked[2:]:
        approval.decide(each.id, Denied("bob"), DIGEST)
    decided = [answer.unwrap() for answer in await asyncio.gather(*tasks)]
    assert decided == [Approved("ada", covers="tool")] * 2 + [Denied("bob")] * 2


async def test_a_run_goes_on_when_it_is_decided() -> None:
    approval, ran_with = WaitingApproval(), list[str]()
    running = asyncio.create_task(asked_with(approval, asking(ran_with)))
    await until(lambda: bool(approval.waiting))
    (waiting,) = approval.waiting
    approval.decide(waiting.id, Approved("ada"), waiting.arguments_digest)
    assert (await running).told == ["x"]
    assert ran_with == ["x"]
