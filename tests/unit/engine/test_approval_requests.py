"""Stage 6 in runs: what is asked about a call, and in which bounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Never

import attrs
import pytest

from lamina.approval import ApprovalRequest, ScriptedApproval
from lamina.call import CallKey
from lamina.conversation import CallStarted, Journal, MemoryJournal
from lamina.effect import Clock, Ids, Try, bind
from lamina.testing import call_tool, say
from lamina.testing._clock import VirtualClock
from lamina.testing._ids import FixedIds
from lamina.tools import tool
from tests.unit.engine.asking import ACT, YES, asked_with, asking
from tests.unit.engine.world import (
    Word,
    echo,
)


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


async def test_targets_have_a_bound_in_all_which_counts_bytes() -> None:
    approval = ScriptedApproval([True])
    await asked_with(approval, asking(targets=lambda word: ["\N{GRINNING FACE}" * 2_048] * 9))

    (request,) = approval.requests
    assert (len(request.targets), request.more_targets) == (8, True)
    assert sum(len(target.encode()) for target in request.targets) == 65_536


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
