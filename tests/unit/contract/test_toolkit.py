"""A contract as an agent's toolkit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import attrs
import pytest

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, Approved, DeferredApproval, ScriptedApproval
from lamina.audit import Audit, MemoryAudit
from lamina.call import Invocation, NoCaller, ToolFailure, ToolRejected, ToolSuccess
from lamina.contract import (
    AgentAuthorizationError,
    AgentCompletionTimeoutError,
    Contract,
    Denied,
    Nothing,
    audit_log,
    completes,
)
from lamina.conversation import CallStarted, ResultSettled
from lamina.effect import Clock, ConstructionError, Ids, bind
from lamina.engine import RunSuspended
from lamina.model import LanguageModel, ToolMessage
from lamina.redaction import Secrets
from lamina.runtime import build
from lamina.testing import FixedIds, ScriptedModel, VirtualClock, call_tool, say
from tests.conversing import talking
from tests.stores import STORES, Place
from tests.unit.contract.scene import Clear, Delete, Deleted, FailedDelete, Host, Message, Model, Rename


class OurHost(Host):
    """The application's own class of hosts."""


base = Contract.of(Model, messages=Message, name="todo")


async def run(
    contract: Any, host: OurHost, *calls: Any, approval: Any = None, audit: Any = None, more: Any = None
) -> list[Any]:
    """Run the calls as one batch, and give what the model was told of each."""
    model = ScriptedModel(*calls, say("done"))
    agent = Agent(
        "worker",
        instructions="Work.",
        policy=AgentPolicy(max_turns=8, max_tool_calls=8, max_duration=300, tool_concurrency=1),
        toolkit=contract.toolkit(OurHost, audit=audit or audit_log()),
    )
    app: Any = bind(OurHost).value(host)
    if approval is not None:
        app = app | bind(Approval).value(approval)
    if more is not None:
        app = app | more
    async with build(app) as rt:
        (await rt.run(agent.on(bind(LanguageModel).value(model)), "go")).unwrap()
    said = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    return [result.content for message in said for result in message.results]


async def test_a_capability_is_a_tool() -> None:
    host = OurHost(on_dispatch=lambda message: host.happen(Deleted("a")))
    told = await run(
        base.variant(Delete, "d", completion=completes(Deleted)), host, call_tool("delete", raw='{"id": "a"}')
    )

    assert told == [
        {
            "capability": "delete",
            "tag": "Delete",
            "completion": {"status": "completed", "message": {"_tag": "Deleted", "id": "a", "request_id": ""}},
        }
    ]
    assert host.sent == [Delete("a")]


async def test_the_model_is_told_what_is_wrong_with_its_input() -> None:
    (told,) = await run(base.variant(Delete, "d"), OurHost(), call_tool("delete", raw='{"idd": "a"}'))

    assert told["_tag"] == "ToolInvalidInput"
    assert "$.id: missing" in told["problems"]


async def test_a_refusal_and_a_failure_message_are_failures() -> None:
    host = OurHost(on_dispatch=lambda message: host.happen(FailedDelete("a", "locked")))
    contract = base.variant(Delete, "d", completion=completes(Deleted, failure=FailedDelete)).variant(
        Clear, "c", authorize=lambda attempt: False
    )
    failed, refused = await run(contract, host, call_tool("delete", raw='{"id": "a"}'), call_tool("clear"))

    assert (failed["_tag"], failed["message"]) == ("AgentCompletionFailed", "Failed: FailedDelete")
    ended = {"status": "failed", "message": {"_tag": "FailedDelete", "id": "a", "why": "locked"}}
    assert failed["completion"] == ended
    assert refused == {
        "_tag": "ToolRejected",
        "reason": "unauthorized",
        "message": 'Not authorized to invoke "clear"',
    }


async def test_each_call_of_a_batch_takes_a_fresh_snapshot_and_is_checked_on_it_again() -> None:
    host = OurHost(Model(selected="A"), on_dispatch=lambda message: host.become(Model(selected=None)))
    contract = base.variant(Clear, "c", available=lambda m: m.selected is not None)
    both = call_tool("clear").parts + call_tool("clear").parts
    first, second = await run(contract, host, attrs.evolve(call_tool("clear"), parts=both))

    assert first == {"capability": "clear", "tag": "Clear"}
    assert (second["_tag"], second["message"]) == (
        "AgentCapabilityUnavailableError",
        'Capability "clear" is not available right now',
    )
    assert host.sent == [Clear()]


async def test_a_capability_that_needs_approval_is_asked_for_once() -> None:
    host = OurHost()
    approval = ScriptedApproval([True])
    (told,) = await run(
        base.variant(Delete, "d", needs_approval=True), host, call_tool("delete", raw='{"id": "a"}'), approval=approval
    )

    assert told == {"capability": "delete", "tag": "Delete"}
    assert len(approval.requests) == 1


def test_what_a_toolkit_cannot_be_made_of() -> None:
    class NoHost: ...

    twice = base.variant(Delete, "d", name="x").variant(Rename, "r", name="x")
    long = base.variant(Delete, "d", name="x" * 65)

    with pytest.raises(ConstructionError, match="Duplicate exposed capability name"):
        twice.toolkit(OurHost)
    with pytest.raises(ConstructionError, match="at most 64 characters"):
        long.toolkit(OurHost)
    with pytest.raises(ConstructionError, match=r"This host has no model\(\)"):
        base.variant(Delete, "d").toolkit(NoHost)


async def test_cancelling_a_run_leaves_no_listener() -> None:
    host = OurHost()
    contract = base.variant(Delete, "d", completion=completes(Deleted))
    task = asyncio.create_task(run(contract, host, call_tool("delete", raw='{"id": "a"}')))
    for _ in range(500):
        if host.sent:
            break
        await asyncio.sleep(0)
    assert host.listeners == 1
    task.cancel()
    await asyncio.wait([task])

    assert host.listeners == 0


DELETE = call_tool("delete", raw='{"id": "a"}', id="d")


async def test_nobody_is_asked_to_approve_what_is_refused() -> None:
    host, approval, audit = OurHost(), ScriptedApproval([]), audit_log()
    contract = base.variant(Delete, "d", needs_approval=True, authorize=lambda attempt: Denied("Not that one."))
    (told,) = await run(contract, host, DELETE, approval=approval, audit=audit)

    assert told == {"_tag": "ToolRejected", "reason": "unauthorized", "message": "Not that one."}
    assert (approval.requests, host.sent) == ([], [])
    # The refused attempt is in the contract's own audit, once.
    assert [(entry.decision, entry.outcome, entry.transport) for entry in audit.entries] == [
        ("refused", "AgentAuthorizationError", "agent")
    ]


async def test_a_whole_batch_is_authorized_before_anything_of_it_is_sent() -> None:
    host = OurHost()

    def authorize(attempt: Any) -> bool:
        host.calls.append(f"authorize {attempt.input.name}")
        return True

    await run(
        base.variant(Rename, "r", authorize=authorize),
        host,
        call_tool("rename", raw='{"name": "x"}', id="1") & call_tool("rename", raw='{"name": "y"}', id="2"),
    )

    checked = host.calls[: host.calls.index("dispatch")]
    assert [call for call in checked if call != "model"][:2] == ["authorize x", "authorize y"]
    assert host.sent == [Rename("x"), Rename("y")]


async def test_what_an_attempt_is_authorized_on_is_what_it_is_available_in_and_what_it_is_sent_from() -> None:
    # Each read of the model gives another one: `available`, `authorize` and the message see one of them, each time.
    numbers = iter(range(100))
    host = OurHost()
    host.model = lambda: Model(selected=str(next(numbers)))
    available: list[str] = []
    authorized: list[str] = []

    def note(model: Model) -> bool:
        available.append(model.selected or "")
        return True

    def allow(attempt: Any) -> bool:
        authorized.append(attempt.model.selected)
        return True

    contract = base.variant(
        Delete,
        "d",
        name="drop",
        input=Nothing,
        available=note,
        authorize=allow,
        to_message=lambda _, at: Delete(at.model.selected or ""),
    )
    await run(contract, host, call_tool("drop"))

    assert len(authorized) == 2  # before anybody could be asked, and where it is sent
    assert set(authorized) <= set(available)
    assert host.sent == [Delete(authorized[-1])]


async def test_what_changes_while_somebody_is_asked_is_refused_all_the_same() -> None:
    host = OurHost(Model(selected="A"))

    def answer(request: Any) -> bool:
        host.become(Model(selected="B"))
        return True

    contract = base.variant(
        Delete, "d", needs_approval=True, authorize=lambda attempt: attempt.model.selected == attempt.input.id
    )
    call = call_tool("delete", raw='{"id": "A"}')
    (told,) = await run(contract, host, call, approval=ScriptedApproval(answer))

    assert told["_tag"] == "AgentAuthorizationError"
    assert host.sent == []


async def test_what_became_unavailable_before_it_was_authorized_is_unavailable() -> None:
    reads = iter([Model(selected="A")])
    host = OurHost()
    host.model = lambda: next(reads, Model())
    asked: list[Any] = []
    contract = base.variant(
        Clear, "c", available=lambda m: m.selected is not None, authorize=lambda at: asked.append(at)
    )
    (told,) = await run(contract, host, call_tool("clear"))

    assert (told["_tag"], told["reason"]) == ("ToolRejected", "unavailable")
    assert (asked, host.sent) == ([], [])


async def test_an_authorize_that_breaks_refuses_and_says_nothing_of_why() -> None:
    def broken(attempt: Any) -> bool:
        raise RuntimeError("canary")

    host, approval, audit = OurHost(), ScriptedApproval([]), audit_log()
    contract = base.variant(Delete, "d", needs_approval=True, authorize=broken)
    (told,) = await run(contract, host, DELETE, approval=approval, audit=audit)

    assert told == {"_tag": "ToolRejected", "reason": "unauthorized", "message": "The call is not authorized."}
    assert (approval.requests, host.sent) == ([], [])
    assert [entry.outcome for entry in audit.entries] == ["AgentDefect"]


async def test_a_cancel_of_the_applications_own_in_authorize_refuses_and_ends_no_run() -> None:
    async def cancelled(attempt: Any) -> bool:
        raise asyncio.CancelledError

    host = OurHost()
    (told,) = await run(base.variant(Delete, "d", authorize=cancelled), host, DELETE)

    assert (told["_tag"], told["reason"]) == ("ToolRejected", "unauthorized")
    assert host.sent == []


async def test_an_availability_that_only_looks_like_a_yes_is_none() -> None:
    (told,) = await run(base.variant(Delete, "d", available=lambda m: 1), OurHost(), DELETE)

    assert (told["_tag"], told["reason"]) == ("ToolRejected", "unavailable")


async def test_on_a_surface_nobody_is_asked_to_approve_what_is_refused() -> None:
    host, approval = OurHost(), ScriptedApproval([True])
    contract = base.variant(Delete, "d", needs_approval=True, authorize=lambda attempt: attempt.input.id == "a")
    audit = MemoryAudit()
    app = bind(OurHost).value(host) | bind(Approval).value(approval) | bind(Audit).value(audit)
    async with build(app) as rt:
        surface = rt.surface(contract.toolkit(OurHost))
        refused = await surface.invoke("delete", {"id": "b"}, Invocation.new(), NoCaller())
        assert (approval.requests, host.sent) == ([], [])
        allowed = await surface.invoke("delete", {"id": "a"}, Invocation.new(), NoCaller())

    assert isinstance(refused, ToolRejected)
    assert (refused.reason, refused.message) == ("unauthorized", 'Not authorized to invoke "delete"')
    assert isinstance(refused.error, AgentAuthorizationError)
    assert isinstance(allowed, ToolSuccess)
    assert len(approval.requests) == 1
    assert surface.capabilities[0].authorized
    kinds = [(entry.kind, entry.decision, entry.by) for entry in audit.entries if entry.kind == "authorization"]
    assert kinds == [("authorization", "refused", "tool"), ("authorization", "allowed", "tool")]


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_that_waited_is_authorized_anew_where_it_goes_on(kind: str, tmp_path: Path) -> None:
    host, place = OurHost(), Place(kind, tmp_path)
    allowed = [True]
    contract = base.variant(Delete, "d", needs_approval=True, authorize=lambda attempt: allowed[-1])

    def agent(*turns: Any) -> Any:
        made = Agent(
            "worker",
            instructions="Work.",
            policy=AgentPolicy(max_turns=8, max_tool_calls=8, max_duration=300, tool_concurrency=1),
            toolkit=contract.toolkit(OurHost),
        )
        return made.on(bind(LanguageModel).value(ScriptedModel(*turns)))

    async with talking(place, approval=DeferredApproval(same_process=True), more=bind(OurHost).value(host)) as talk:
        waiting = (await talk.run(agent(DELETE))).failure().cause
        assert isinstance(waiting, RunSuspended)
        allowed.append(False)
        ended = await talk.rt.resume(agent(say("done")), waiting, {"d": Approved("ada")})
        assert ended.unwrap().output == "done"
        (outcome,) = [entry.record.outcome for entry in await talk.log() if isinstance(entry.record, ResultSettled)]
        assert outcome == ToolRejected("unauthorized", 'Not authorized to invoke "delete"')
        assert not any(isinstance(entry.record, CallStarted) for entry in await talk.log())

    assert host.sent == []


async def test_the_time_of_a_capability_is_the_runtimes() -> None:
    clock, sent, audit = VirtualClock(), asyncio.Event(), audit_log()
    host = OurHost(on_dispatch=lambda message: sent.set())
    contract = base.variant(Delete, "d", completion=completes(Deleted, timeout=60.0))
    working = asyncio.create_task(
        run(contract, host, DELETE, audit=audit, more=bind(Clock).value(clock) | bind(Ids).value(FixedIds()))
    )
    async with asyncio.timeout(30):
        await sent.wait()
        await clock.advance(59)
        assert not working.done()
        await clock.advance(1)
        (told,) = await working

    assert told["_tag"] == "AgentCompletionTimeoutError"
    (entry,) = audit.entries
    assert entry.at == clock.now()
    assert entry.invocation.startswith("invocation-")


async def test_one_toolkit_in_two_runtimes_has_the_clock_of_each() -> None:
    contract = base.variant(Delete, "d", completion=completes(Deleted, timeout=60.0))
    toolkit = contract.toolkit(OurHost)
    for _ in range(2):
        clock, sent = VirtualClock(), asyncio.Event()
        host = OurHost(on_dispatch=lambda message, sent=sent: sent.set())
        async with build(bind(OurHost).value(host) | bind(Clock).value(clock)) as rt, asyncio.timeout(30):
            surface = rt.surface(toolkit)
            working = asyncio.create_task(surface.invoke("delete", {"id": "a"}, Invocation.new(), NoCaller()))
            await sent.wait()
            await clock.advance(60)
            outcome = await working
            assert isinstance(outcome, ToolFailure)
            assert isinstance(outcome.error, AgentCompletionTimeoutError)
        assert clock.pending == 0


async def test_an_audit_of_inputs_keeps_no_secret_of_the_runtime() -> None:
    audit = audit_log(include_input=True)
    await run(
        base.variant(Rename, "r"),
        OurHost(),
        call_tool("rename", raw='{"name": "the s3cr3t-token of Ada"}'),
        audit=audit,
        more=bind(Secrets).value(Secrets("s3cr3t-token")),
    )

    assert [entry.input for entry in audit.entries] == [{"name": "the [REDACTED:secret] of Ada"}]
