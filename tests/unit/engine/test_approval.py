"""Stage 6 in runs: what is asked, when, in which bounds, and what each kind of answer, or none, comes to."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Never

import attrs
import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, ApprovalRequest, ApprovalUnavailable, Approved, Ask, Denied, ScriptedApproval
from lamina.call import CallKey
from lamina.conversation import CallStarted, Journal, MemoryJournal
from lamina.effect import Clock, Ids, Try, bind
from lamina.engine import ApprovalDecided, ApprovalDenied, ApprovalRequested
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.testing._clock import VirtualClock
from lamina.testing._ids import FixedIds
from lamina.tools import Tool, tool
from tests.unit.engine.world import Ran, Word, after_steps, agent_with, echo, events_of, run_turns, write, write_or_end

YES = ScriptedApproval(lambda request: True)


def asking(ran_with: list[str] | None = None, **ask: Any) -> Tool[Any, Any, Any]:
    @tool(needs_approval=True, approval=Ask[Word](**{"recoverable": True, **ask}))
    async def act(call: Word, ok: Try[Never]) -> str:
        if ran_with is not None:
            ran_with.append(call.text)
        return call.text

    return act


async def asked_with(approval: Approval, made: Any, *turns: Any, layer: Any = None, **options: Any) -> Ran:
    offered: Any = bind(Approval).value(approval)
    return await run_turns(made, *(turns or (ACT, say("done"))), layer=offered | layer if layer else offered, **options)


ACT = call_tool("act", text="x")


async def test_a_request_says_everything_about_the_call() -> None:
    approval = ScriptedApproval([True])
    made = asking(
        summary=lambda word: f"Say {word.text}", targets=lambda word: [word.text, "log"], risk="high", expires=5
    )
    clock = VirtualClock()
    await asked_with(approval, made, layer=bind(Ids).to(FixedIds) | bind(Clock).value(clock))

    key = CallKey("run-1", 1, "call-1")
    assert approval.requests == [
        ApprovalRequest(
            id="approval:run-1/1/call-1",
            key=key,
            agent="tester",
            conversation=None,
            tool="act",
            execution="uncertain",
            summary="Say x",
            targets=("x", "log"),
            risk="high",
            preview={"text": "x"},
            arguments_digest=hashlib.sha256(b'{"text":"x"}').hexdigest(),
            recoverable=True,
            expires_at=clock.now() + timedelta(seconds=5),
        )
    ]
    assert clock.pending == 0


async def test_a_request_has_defaults_and_a_fixed_summary() -> None:
    approval = ScriptedApproval([True, True])
    await asked_with(approval, asking())
    await asked_with(approval, asking(summary="Act."))

    assert [(each.summary, each.targets, each.expires_at) for each in approval.requests] == [
        ("Call act.", (), None),
        ("Act.", (), None),
    ]


async def test_a_request_is_bounded_and_says_that_it_was_cut() -> None:
    def without_end(word: Word) -> Iterator[str]:
        while True:
            yield "t" * 3_000

    approval = ScriptedApproval([True])
    made = asking(summary=lambda word: "s" * 5_000, targets=without_end)
    await asked_with(approval, made, call_tool("act", text="x" * 20_000), say("done"))

    (request,) = approval.requests
    assert len(request.summary) == 2_048
    assert [len(target) for target in request.targets] == [2_048] * 32
    assert request.more_targets
    preview: Any = request.preview
    assert preview["truncatedToolResult"] is True
    assert len(str(preview)) < 8_192 + 100


@pytest.mark.parametrize(("targets", "more"), [(32, False), (33, True)])
async def test_targets_that_are_not_shown_are_told_of(targets: int, more: bool) -> None:
    approval = ScriptedApproval([True])
    await asked_with(approval, asking(targets=lambda word: [str(n) for n in range(targets)]))

    assert (len(approval.requests[0].targets), approval.requests[0].more_targets) == (32, more)


async def test_the_digest_binds_to_the_arguments_and_not_to_how_they_are_written() -> None:
    approval, journal = ScriptedApproval(lambda request: True), MemoryJournal()
    texts = ['{"text":"x"}', ' { "text" : "\\u0078" } ', '{"text":"y"}']
    turn = call_tool("act", raw=texts[0]) & call_tool("act", raw=texts[1]) & call_tool("act", raw=texts[2])
    await asked_with(approval, asking(), turn, say("done"), layer=bind(Journal).value(journal))

    digests = [request.arguments_digest for request in approval.requests]
    assert (digests[0] == digests[1], digests[0] == digests[2]) == (True, False)
    started = [record for record in journal.records if isinstance(record, CallStarted)]
    assert [record.arguments_digest for record in started] == digests
    assert {record.approved_by for record in started} == {"script"}


async def test_numbers_beyond_64_bits_have_digests_of_their_own() -> None:
    @attrs.frozen
    class Pay:
        amount: int

    @tool(needs_approval=True)
    async def pay(call: Pay, ok: Try[Never]) -> int:
        return call.amount

    approval = ScriptedApproval(lambda request: True)
    turn = call_tool("pay", raw=f'{{"amount": {10**20 + 1}}}') & call_tool("pay", raw=f'{{"amount": {10**20 + 2}}}')
    ran = await asked_with(approval, pay, turn, say("done"))

    assert approval.requests[0].arguments_digest != approval.requests[1].arguments_digest
    assert [request.preview for request in approval.requests] == [{"amount": 10**20 + 1}, {"amount": 10**20 + 2}]
    assert ran.told == [10**20 + 1, 10**20 + 2]


async def test_only_the_inputs_that_the_tool_names_are_asked_for() -> None:
    approval, ran_with = ScriptedApproval([True]), list[str]()
    turn = call_tool("act", text="small") & call_tool("act", text="LARGE")
    await asked_with(approval, asking(ran_with, when=lambda word: word.text.isupper()), turn, say("done"))

    assert [request.preview for request in approval.requests] == [{"text": "LARGE"}]
    assert sorted(ran_with) == ["LARGE", "small"]


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("canary")


@pytest.mark.parametrize(
    "broken",
    [
        {"when": lambda word: 1 / 0},
        {"summary": lambda word: 1 / 0},
        {"summary": lambda word: Unprintable()},
        {"targets": lambda word: 1 / 0},
        {"targets": lambda word: [Unprintable()]},
        {"targets": lambda word: 5},
        {"expires": 1e300},
    ],
)
async def test_an_ask_that_breaks_is_a_defect_of_that_call_alone(broken: dict[str, Any]) -> None:
    ran_with: list[str] = []
    ran = await asked_with(YES, asking(ran_with, **broken) | echo, ACT & call_tool("echo", text="e"), say("done"))

    assert ran.told == [{"_tag": "ToolDefect", "message": ran.told[0]["message"]}, "e"]
    assert ran_with == []


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
        (Failure(ApprovalUnavailable("asleep")), "The call was denied: The approval service gave no decision: asleep."),
        (Success(True), "The call was denied: There was no decision."),
        (Success(None), "The call was denied: There was no decision."),
        (None, "The call was denied: There was no decision."),
        ("yes", "The call was denied: There was no decision."),
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
    async with build(RuntimeBuilder().provide(bind(Approval).value(approval)).agent(binding)) as rt:
        async with rt.start(binding, "go") as run:
            while len(approval.waiting) < 2:
                await asyncio.sleep(0)
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
        while len(approval.waiting) < 2:
            await asyncio.sleep(0)
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
    async with build(RuntimeBuilder().provide(bind(Approval).value(Deaf())).agent(binding)) as rt:
        async with rt.start(binding, "go") as run:
            await run.result()

    assert ran_with == []
    assert run.history.messages[-1].results[0].content["reason"] == "not-started"


async def test_the_request_event_shows_what_the_person_is_shown() -> None:
    ran = await asked_with(YES, write, call_tool("write", text="x"), say("done"), observed=True)

    (event,) = [event for event in ran.events if isinstance(event, ApprovalRequested)]
    assert (event.tool, event.summary, event.risk, event.call) == ("write", "Write x", "medium", "call-1")
