"""Decisions of a run in the audit: each with its reason and what follows; an audit that breaks changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Never

import pytest

from lamina.approval import Approved, Ask, DeferredApproval, Denied, ScriptedApproval
from lamina.audit import Audit, AuditEntry, MemoryAudit
from lamina.call import Allowed, Authorization, AuthorizationAnswer, AuthorizationRequest, NotAllowed
from lamina.effect import Clock, Ids, Try, bind
from lamina.engine import PolicyExceeded
from lamina.runtime import build
from lamina.testing import FixedIds, ScriptedModel, VirtualClock, call_tool, say
from lamina.tools import tool
from tests.conversing import talking
from tests.stores import STORES, Place
from tests.unit.engine.asking import asked_with
from tests.unit.engine.world import Word, agent_with, echo, run_turns, write, write_or_end

Short = tuple[str, str, str, str, str]


def short(entry: AuditEntry) -> Short:
    return entry.kind, entry.subject, entry.decision, entry.reason, entry.outcome


def kept(audit: MemoryAudit) -> list[Short]:
    return [short(entry) for entry in audit.entries]


class Strict(Authorization):
    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        word = request.input
        assert isinstance(word, Word)
        if word.text == "break":
            raise RuntimeError("canary")
        return Allowed() if word.text == "yes" else NotAllowed("canary")


def open_now() -> bool:
    return True


def closed() -> bool:
    return False


def breaks() -> bool:
    raise RuntimeError("canary")


def named(name: str, available: Any) -> Any:
    async def fn(call: Word, ok: Try[Never]) -> str:
        return call.text

    fn.__name__, fn.__doc__ = name, "Say it."
    return tool(execution="readonly", available=available)(fn)


async def test_what_may_be_used_and_who_may_use_it() -> None:
    audit = MemoryAudit(principal=str)
    kit = named("always", open_now) | named("never", closed) | named("odd", breaks) | echo
    turn = call_tool("always", text="yes", id="1") & call_tool("never", text="yes", id="2")
    turn = turn & call_tool("odd", text="yes", id="3") & call_tool("echo", text="no", id="4")
    turn = turn & call_tool("echo", text="break", id="5") & call_tool("made-up", text="x", id="6")
    model = ScriptedModel(turn, say("done"))
    offered: Any = bind(Audit).value(audit) | bind(Authorization).to(Strict)
    offered = offered | bind(Ids).value(FixedIds()) | bind(Clock).value(VirtualClock())
    async with build(offered) as rt:
        await rt.run(agent_with(kit).on(model), "go", principal="ada")

    assert kept(audit) == [
        ("availability", "always", "allowed", "", "goes-on"),
        ("authorization", "always", "allowed", "", "goes-on"),
        ("availability", "never", "refused", "unavailable", "not-run"),
        ("availability", "odd", "failed", "raised", "not-run"),
        ("authorization", "echo", "refused", "unauthorized", "not-run"),
        ("authorization", "echo", "failed", "raised", "not-run"),
    ]
    first, second = audit.entries[0], audit.entries[1]
    assert (first.id, first.agent, first.run, first.turn, first.call, first.by) == (
        ("audit-1", "tester", "run-1", 1, "1", "tool")
    )
    assert {entry.principal for entry in audit.entries} == {"ada"}
    assert (first.shape, second.shape) == (None, {"text": "[REDACTED:string]"})
    assert "canary" not in repr(audit.entries)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (True, ("allowed", "approved", "goes-on", "script")),
        (Denied("ada", "canary"), ("refused", "denied", "not-run", "ada")),
        (RuntimeError("canary"), ("failed", "denied", "not-run", "runtime")),
    ],
    ids=["allowed", "refused", "broken"],
)
async def test_what_somebody_was_asked_and_said(answer: Any, expected: tuple[str, ...]) -> None:
    def decide(_: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    audit = MemoryAudit()
    turn = call_tool("write", text="x")
    await asked_with(ScriptedApproval(decide), write, turn, say("done"), layer=bind(Audit).value(audit))

    assert kept(audit)[0] == ("approval", "write", "asked", "needs-approval", "waits")
    decided = audit.entries[1]
    assert (decided.decision, decided.reason, decided.outcome, decided.by) == expected
    assert "canary" not in repr(audit.entries)


async def test_a_denial_that_ends_the_run_says_so_and_words_are_kept_where_they_are_asked_for() -> None:
    audit = MemoryAudit(details=True)
    approval = ScriptedApproval([Denied("ada", "not today")])
    await asked_with(approval, write_or_end, call_tool("write_or_end", text="x"), layer=bind(Audit).value(audit))
    assert kept(audit)[-1] == ("approval", "write_or_end", "refused", "denied", "run-ends")
    assert audit.entries[-1].detail == "not today"


async def test_an_ask_that_breaks_is_a_decision_that_nobody_could_make() -> None:
    def summary(_: Word) -> str:
        raise ValueError("canary")

    @tool(needs_approval=True, approval=Ask[Word](summary=summary))
    async def odd(call: Word, ok: Try[Never]) -> str:
        return call.text

    audit = MemoryAudit()
    turn = call_tool("odd", text="x")
    await asked_with(ScriptedApproval([True]), odd, turn, say("done"), layer=bind(Audit).value(audit))
    assert kept(audit) == [("approval", "odd", "failed", "raised", "not-run")]


@pytest.mark.parametrize("kind", STORES)
async def test_what_is_decided_later_is_recorded_where_the_run_goes_on(kind: str, tmp_path: Path) -> None:
    audit, clock = MemoryAudit(), VirtualClock()

    @tool(needs_approval=True, approval=Ask[Word](recoverable=True, expires=60))
    async def soon(call: Word, ok: Try[Never]) -> str:
        return call.text

    turn = call_tool("write", text="a", id="yes") & call_tool("soon", text="b", id="late")
    model = ScriptedModel(turn, say("done"))
    binding = agent_with(write | soon).on(model)
    approval = DeferredApproval(same_process=True)
    async with talking(Place(kind, tmp_path), approval=approval, clock=clock, more=bind(Audit).value(audit)) as talk:
        suspended = (await talk.run(binding)).failure().cause
        await clock.advance(61)
        await talk.rt.resume(binding, suspended, {"yes": Approved("ada")})

    assert sorted(kept(audit)) == [
        ("approval", "soon", "asked", "needs-approval", "waits"),
        ("approval", "soon", "expired", "expired", "not-run"),
        ("approval", "write", "allowed", "approved", "goes-on"),
        ("approval", "write", "asked", "needs-approval", "waits"),
    ]
    assert {entry.conversation for entry in audit.entries} == {"c"}


async def test_budgets_and_the_policy_that_ends_a_run() -> None:
    audit = MemoryAudit()
    turn = call_tool("echo", text="a") & call_tool("echo", text="b") & call_tool("made-up", text="c")
    offered = bind(Audit).value(audit)
    ran = await run_turns(echo, turn, say("done"), layer=offered, max_tool_calls=1, on_exhaustion="final-answer")
    assert ran.result.unwrap().exhausted == "tool-calls"
    assert kept(audit) == [
        ("budget", "echo", "refused", "tool-calls", "not-run"),
        ("budget", "echo", "refused", "tool-calls", "not-run"),
        ("budget", "unknown-tool", "refused", "tool-calls", "not-run"),
    ]
    audit.clear()
    ran = await run_turns(echo, call_tool("echo", text="a"), layer=offered, max_turns=1, on_exhaustion="fail")
    assert isinstance(ran.result.failure().cause, PolicyExceeded)
    assert kept(audit) == [("policy", "tester", "refused", "turns", "run-ends")]


class Broken(Audit):
    def record(self, entry: AuditEntry) -> None:
        raise RuntimeError("canary")

    def project(self, principal: object) -> str | None:
        raise RuntimeError("canary")


@pytest.mark.parametrize("observed", [True, False])
async def test_an_audit_that_breaks_changes_nothing(observed: bool) -> None:
    def results(offered: Any) -> Any:
        turn = call_tool("write", text="x") & call_tool("echo", text="y")
        approval = ScriptedApproval(lambda request: True)
        kit = write | echo
        return asked_with(approval, kit, turn, say("done"), layer=offered, observed=observed)

    without, broken = await results(None), await results(bind(Audit).to(Broken))
    assert broken.result.unwrap().output == without.result.unwrap().output == "done"
    assert broken.told == without.told
    assert [type(event) for event in broken.events] == [type(event) for event in without.events]
