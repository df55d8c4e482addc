"""Decisions on a tool: they answer what has no decision of its own, are recorded, and a denial is the stronger one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lamina.approval import ApprovalRequest, Approved, Denied, ScriptedApproval
from lamina.conversation import ApprovalDecided, ApprovalRequested, CallStarted, Journal, MemoryJournal
from lamina.effect import bind
from lamina.testing import call_tool, say
from tests.unit.engine.asking import asked_with, asking


def acts(*texts: str) -> Any:
    """Give one turn with a call for each text, which is its id, too."""
    turn = call_tool("act", text=texts[0], id=texts[0])
    for text in texts[1:]:
        turn = turn & call_tool("act", text=text, id=text)
    return turn


async def played(answers: dict[str, Any], *turns: Any, recoverable: bool = True) -> tuple[Any, list[str], Any, Any]:
    """Run turns with answers by call id; give the run, what ran, who was asked, and the records of decisions."""
    ran_with, journal = list[str](), MemoryJournal()
    approval = ScriptedApproval(lambda request: answers[request.key.call])
    made = asking(ran_with, recoverable=recoverable)
    ran = await asked_with(approval, made, *turns, layer=bind(Journal).value(journal), observed=True)
    decided = [
        (record.key.call, record.decision, record.by, record.under)
        for record in journal.records
        if isinstance(record, ApprovalDecided)
    ]
    return ran, ran_with, [request.key.call for request in approval.requests], (decided, journal.records)


async def test_a_grant_of_the_tool_answers_later_requests_which_are_recorded_all_the_same() -> None:
    grant = {"a": Approved("ada", covers="tool")}
    ran, ran_with, asked, (decided, records) = await played(grant, acts("a"), acts("b", "c"), say("done"))
    assert ran.result.unwrap().output == "done"
    assert (ran_with, asked) == (["a", "b", "c"], ["a"])
    under = next(record.approval_id for record in records if isinstance(record, ApprovalDecided))
    assert decided == [
        ("a", "approved", "ada", None),
        ("b", "approved", "ada", under),
        ("c", "approved", "ada", under),
    ]
    requests = [record.request.key.call for record in records if isinstance(record, ApprovalRequested)]
    assert requests == ["a", "b", "c"]
    assert {record.approved_by for record in records if isinstance(record, CallStarted)} == {"ada"}


async def test_a_decision_on_a_call_covers_no_other_call() -> None:
    answers = {"a": Approved("ada"), "b": Denied("ada", "no")}
    _, ran_with, asked, _ = await played(answers, acts("a"), acts("b"), say("done"))
    assert (ran_with, asked) == (["a"], ["a", "b"])


async def test_a_denial_of_the_tool_answers_later_requests() -> None:
    ran, ran_with, asked, (decided, _) = await played(
        {"a": Denied("ada", "never", covers="tool")}, acts("a"), acts("b"), say("done")
    )
    assert (ran_with, asked) == ([], ["a"])
    assert [each[:3] for each in decided] == [("a", "denied", "ada"), ("b", "denied", "ada")]
    assert ran.told[-1]["message"] == "The call was denied: never"


@pytest.mark.parametrize("order", ["ab", "ba"])
async def test_a_denial_of_the_tool_beats_a_grant_of_it_wherever_it_stands(order: str) -> None:
    answers = {"a": Approved("ada", covers="tool"), "b": Denied("bob", "no", covers="tool")}
    _, ran_with, _, (decided, _) = await played(answers, acts(*order), acts("c"), say("done"))
    assert ran_with == []
    last = {call: (verdict, by) for call, verdict, by, _ in decided}
    assert last == {"a": ("denied", "bob"), "b": ("denied", "bob"), "c": ("denied", "bob")}


@pytest.mark.parametrize("order", ["ab", "ba"])
async def test_a_decision_on_the_very_call_beats_one_on_its_tool(order: str) -> None:
    answers: dict[str, Any] = {"a": Approved("ada"), "b": Denied("bob", covers="tool")}
    assert (await played(answers, acts(*order), say("done")))[1] == ["a"]
    answers = {"a": Denied("ada"), "b": Approved("bob", covers="tool")}
    assert (await played(answers, acts(*order), say("done")))[1] == ["b"]


async def test_a_denial_that_undoes_a_grant_ends_a_run_that_cannot_recover() -> None:
    answers = {"a": Approved("ada", covers="tool"), "b": Denied("bob", "no", covers="tool")}
    ran, ran_with, _, _ = await played(answers, acts("a", "b"), recoverable=False)
    assert type(ran.result.failure().cause).__name__ == "ApprovalDenied"
    assert ran_with == []


async def test_a_grant_ends_with_its_run() -> None:
    approval = ScriptedApproval(lambda request: Approved("ada", covers="tool"))
    for _ in range(2):
        await asked_with(approval, asking(), acts("a"), acts("b"), say("done"))
    assert [request.key.call for request in approval.requests] == ["a", "a"]


async def test_a_name_without_end_is_cut() -> None:
    _, _, _, (decided, _) = await played({"a": Approved("x" * 10_000)}, acts("a"), say("done"))
    assert decided == [("a", "approved", "x" * 256, None)]


async def test_requests_of_a_batch_are_asked_at_once_before_a_grant_can_answer_them() -> None:
    asked: list[str] = []
    both = asyncio.Event()

    class Both(ScriptedApproval):
        async def request(self, request: ApprovalRequest) -> Any:
            asked.append(request.key.call)
            if len(asked) == 2:
                both.set()
            await both.wait()
            return await super().request(request)

    ran_with: list[str] = []
    await asked_with(Both(lambda _: Approved("ada", covers="tool")), asking(ran_with), acts("a", "b"), say("done"))
    assert (asked, sorted(ran_with)) == (["a", "b"], ["a", "b"])
