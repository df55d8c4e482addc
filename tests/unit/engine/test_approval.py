"""Stage 6 in runs: when is asked, and what each kind of answer, or none, comes to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, ApprovalRequest, ApprovalUnavailable, Approved, Denied
from lamina.effect import Clock, bind
from lamina.engine import ApprovalDecided, ApprovalDenied, ApprovalRequested
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.testing._clock import VirtualClock
from tests.unit.engine.asking import ACT, YES, asked_with, asking
from tests.unit.engine.world import (
    after_steps,
    agent_with,
    echo,
    events_of,
    until,
    write,
    write_or_end,
)


class Answering(Approval):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def request(self, request: ApprovalRequest) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Success(Denied("Ada", "not today")), "The call was denied: not today"),
        (Success(Denied("Ada")), "The call was denied."),
        (Success(Denied("Ada", "x" * 9_000)), "The call was denied: " + "x" * 2_048),
        (Failure(ApprovalUnavailable("asleep")), "The call was denied: The approval service gave no decision: asleep."),
        (Success(True), "The call was denied: There was no decision."),
        (Success(None), "The call was denied: There was no decision."),
        (None, "The call was denied: There was no decision."),
        ("yes", "The call was denied: There was no decision."),
        (Success(Approved("\ud800")), "The call was denied: There was no decision."),
        (Success(Approved(None)), "The call was denied: There was no decision."),  # type: ignore[arg-type]
        (Success(Approved("Ada", covers="all")), "The call was denied: There was no decision."),  # type: ignore[arg-type]
        (Success(Denied("Ada", "\ud800")), "The call was denied: There was no decision."),
        (Success(Denied("Ada", 5)), "The call was denied: There was no decision."),  # type: ignore[arg-type]
        (RuntimeError("canary"), "The call was denied: The approval service broke."),
    ],
)
@pytest.mark.parametrize("expires", [None, 60.0])
async def test_whatever_is_no_approval_is_a_denial(answer: Any, reason: str, expires: float | None) -> None:
    ran_with: list[str] = []
    ran = await asked_with(Answering(answer), asking(ran_with, expires=expires), observed=True)

    assert ran.told == [{"_tag": "ToolRejected", "reason": "denied", "message": reason}]
    assert ran_with == []
    assert "canary" not in str(ran.events) + str(ran.requests)


@pytest.mark.parametrize("answer", [Success(Denied("Ada", "no")), RuntimeError("canary")])
async def test_a_denial_that_is_not_recoverable_ends_the_run(answer: Any) -> None:
    ran = await asked_with(Answering(answer), write_or_end, call_tool("write_or_end", text="x"))

    cause = ran.result.failure().cause
    assert isinstance(cause, ApprovalDenied)
    assert (cause.tool, cause.key.call) == ("write_or_end", "call-1")
    assert str(cause) == "The call of write_or_end was not approved."


async def test_a_bare_decision_is_taken_for_what_it_is() -> None:
    assert (await asked_with(Answering(Approved("Ada")), asking())).told == ["x"]


class Waiting(Approval):
    """Waits until the test says so, each request for itself."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Future[bool]] = {}
        self.cancelled: list[str] = []

    async def request(self, request: ApprovalRequest) -> Any:
        answer = self.waiting[request.key.call] = asyncio.get_running_loop().create_future()
        try:
            return Success(Approved("Ada") if await answer else Denied("Ada"))
        except asyncio.CancelledError:
            self.cancelled.append(request.key.call)
            raise


async def test_all_requests_of_a_batch_surface_at_once_and_nothing_starts_before_all_are_decided() -> None:
    approval, ran_with = Waiting(), list[str]()
    turn = call_tool("act", text="a") & call_tool("echo", text="e") & call_tool("act", text="b")
    binding = agent_with(asking(ran_with) | echo).on(ScriptedModel(turn, say("done")))
    builder = RuntimeBuilder().provide(bind(Approval).value(approval)).agent(binding)
    async with build(builder) as rt, rt.start(binding, "go") as run:
        await until(lambda: len(approval.waiting) == 2)
        approval.waiting["call-3"].set_result(True)
        await after_steps(10)
        assert ran_with == []
        approval.waiting["call-1"].set_result(False)
        await run.result()
        events = await events_of(run)

    kinds = [type(event).__name__ for event in events if not isinstance(event, ApprovalDecided)]
    assert kinds.index("ToolCallStarted") > max(
        place for place, kind in enumerate(kinds) if kind == "ApprovalRequested"
    )
    decided = [(event.call, event.decision) for event in events if isinstance(event, ApprovalDecided)]
    assert decided == [("call-3", "approved"), ("call-1", "denied")]
    assert ran_with == ["b"]


@pytest.mark.parametrize("recoverable", [True, False])
async def test_nobody_answering_in_time_is_a_denial(recoverable: bool) -> None:
    approval, clock, ran_with = Waiting(), VirtualClock(), list[str]()
    made = asking(ran_with, expires=30, recoverable=recoverable)
    layer = bind(Clock).value(clock)
    task = asyncio.ensure_future(asked_with(approval, made, ACT, say("done"), layer=layer, observed=True))
    await clock.advance(29.9)
    assert (task.done(), approval.cancelled) == (False, [])
    await clock.advance(0.2)
    ran = await task

    assert approval.cancelled == ["call-1"], "the service is told that nobody waits any more"
    assert [(event.decision, event.by) for event in ran.events if isinstance(event, ApprovalDecided)] == [
        ("expired", "nobody")
    ]
    assert ran_with == []
    if recoverable:
        assert ran.told[0]["reason"] == "expired"
    else:
        cause = ran.result.failure().cause
        assert isinstance(cause, ApprovalDenied)
        assert cause.reason == "Nobody answered in time."


async def test_a_service_that_breaks_when_its_time_is_over_was_too_late() -> None:
    class Sore(Approval):
        async def request(self, request: ApprovalRequest) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                raise RuntimeError("canary")

    clock = VirtualClock()
    task = asyncio.ensure_future(asked_with(Sore(), asking(expires=30), layer=bind(Clock).value(clock)))
    await clock.advance(31)

    assert (await task).told[0]["reason"] == "expired"


@pytest.mark.parametrize("expires", [None, 60.0])
async def test_a_cancelled_run_cancels_what_was_asked(expires: float | None) -> None:
    approval, ran_with, clock = Waiting(), list[str](), VirtualClock()
    binding = agent_with(asking(ran_with, expires=expires)).on(ScriptedModel(ACT & ACT))
    layer = bind(Approval).value(approval) | bind(Clock).value(clock)
    async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt, rt.start(binding, "go") as run:
        await until(lambda: len(approval.waiting) == 2)
        run.interrupt()
        await run.result()

    assert sorted(approval.cancelled) == ["call-1", "call-2"]
    assert [each.content["reason"] for each in run.history.messages[-1].results] == ["not-started"] * 2
    assert (ran_with, clock.pending) == ([], 0)


async def test_an_approver_that_swallows_the_cancel_starts_nothing() -> None:
    ran_with: list[str] = []

    class Deaf(Approval):
        async def request(self, request: ApprovalRequest) -> Any:
            run.interrupt()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return Success(Approved("nobody"))

    binding = agent_with(asking(ran_with)).on(ScriptedModel(ACT))
    builder = RuntimeBuilder().provide(bind(Approval).value(Deaf())).agent(binding)
    async with build(builder) as rt, rt.start(binding, "go") as run:
        await run.result()

    assert ran_with == []
    assert run.history.messages[-1].results[0].content["reason"] == "not-started"


async def test_the_request_event_shows_what_the_person_is_shown() -> None:
    ran = await asked_with(YES, write, call_tool("write", text="x"), say("done"), observed=True)

    (event,) = [event for event in ran.events if isinstance(event, ApprovalRequested)]
    assert (event.tool, event.summary, event.risk, event.call) == ("write", "Write x", "medium", "call-1")
