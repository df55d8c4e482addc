"""A contract served by a runtime: approval, and the services that are used where they are offered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from returns.result import Result, Success

from lamina.approval import Approval, Ask, CallerApproval, DeferredApproval, Denied, ScriptedApproval
from lamina.audit import Audit, MemoryAudit
from lamina.call import (
    Caller,
    CallerUnable,
    Elicited,
    Invocation,
    NoCaller,
    Signal,
    ToolRejected,
    ToolSuccess,
)
from lamina.contract import AgentApprovalError, AgentCancelledError, Contract
from lamina.effect import Clock, ConstructionError, bind, empty_layer, seed
from lamina.redaction import Secrets
from lamina.runtime import RuntimeBuilder, build
from lamina.schema import JsonValue
from lamina.telemetry import MemoryTelemetry, Telemetry
from lamina.testing import VirtualClock
from tests.unit.contract.scene import Clear, Delete, Host, Message, Model

base = Contract.of(Model, messages=Message, name="todo")
asking = base.variant(
    Delete,
    "Delete a todo",
    needs_approval=True,
    approval=Ask(summary=lambda call: f"Delete {call.id}", when=lambda call: call.id != "free", expires=60),
)
CALL = Invocation(id="call-1", transport="mcp")


async def test_a_yes_sends_and_a_no_sends_nothing() -> None:
    approval, host = ScriptedApproval([True, Denied("ada", "Keep it"), False]), Host()
    async with build(bind(Approval).value(approval), programs=[asking]) as rt:
        bound = rt.bind(asking, host)
        yes, no, flat = [await bound.dispatch(Delete("a"), CALL) for _ in range(3)]

    assert yes.unwrap().tag == "Delete"
    assert no.failure() == AgentApprovalError("delete", "Delete", "denied", "Keep it")
    assert str(no.failure()) == "Keep it"
    assert str(flat.failure()) == '"delete" was not approved'
    assert host.sent == [Delete("a")]
    (first, *_) = approval.requests
    assert (first.agent, first.tool, first.summary, first.preview) == (
        "todo",
        "delete",
        "Delete a",
        {"id": "a", "request_id": ""},
    )


async def test_what_needs_no_asking_is_not_asked() -> None:
    approval = ScriptedApproval([])
    async with build(bind(Approval).value(approval)) as rt:
        assert (await rt.bind(asking, Host()).dispatch(Delete("free"))).unwrap().tag == "Delete"
    assert approval.requests == []


async def test_authorization_comes_before_approval() -> None:
    approval = ScriptedApproval([])
    contract = base.variant(Delete, "d", needs_approval=True, authorize=lambda attempt: False)
    async with build(bind(Approval).value(approval)) as rt:
        await rt.bind(contract, Host()).dispatch(Delete("a"))
    assert approval.requests == []


class Silent(Approval):
    async def request(self, request: Any) -> Any:
        await asyncio.Event().wait()


class Broken(Approval):
    async def request(self, request: Any) -> Any:
        raise RuntimeError("secret")


async def test_nobody_answering_in_time_is_a_no() -> None:
    clock, host = VirtualClock(), Host()
    async with build(bind(Approval).to(Silent) | bind(Clock).value(clock)) as rt:
        task = asyncio.create_task(rt.bind(asking, host).invoke("delete", {"id": "a"}, CALL, NoCaller()))
        await clock.advance(60)
        outcome = await task

    assert isinstance(outcome, ToolRejected)
    assert (outcome.reason, outcome.message) == ("expired", 'Nobody approved "delete" in time')
    assert (host.sent, clock.pending) == ([], 0)


async def test_an_abort_ends_the_asking() -> None:
    signal, host = Signal(), Host()
    async with build(bind(Approval).to(Silent)) as rt:
        task = asyncio.create_task(rt.bind(asking, host).dispatch(Delete("a"), Invocation(id="call-1", signal=signal)))
        await asyncio.sleep(0)
        signal.abort()
        assert (await task).failure() == AgentCancelledError("delete", "none")
    assert host.sent == []


async def test_an_approval_that_breaks_is_a_no() -> None:
    async with build(bind(Approval).to(Broken)) as rt:
        answered = await rt.bind(asking, Host()).dispatch(Delete("a"))
    assert answered.failure() == AgentApprovalError("delete", "Delete")


class Person(NoCaller):
    def __init__(self, decision: str) -> None:
        self._decision = decision

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        return Success(Elicited("accept", {"decision": self._decision}))


async def test_whoever_calls_is_asked_where_approval_is_theirs() -> None:
    app = bind(Approval).to(CallerApproval, life="request")
    async with build(app, seeds=seed(Caller)) as rt:
        bound = rt.bind(asking, Host())
        yes = await bound.invoke("delete", {"id": "a"}, CALL, Person("approve"))
        no = await bound.invoke("delete", {"id": "a"}, CALL, Person("deny"))
        nobody = await bound.dispatch(Delete("a"))

    assert bound.capabilities[0].asks == {"elicit"}
    assert isinstance(yes, ToolSuccess)
    assert isinstance(no, ToolRejected)
    assert isinstance(nobody.failure(), AgentApprovalError)


async def test_the_runtimes_services_are_used() -> None:
    audit, telemetry, clock = MemoryAudit(inputs=True), MemoryTelemetry(), VirtualClock()
    app = (
        bind(Audit).value(audit)
        | bind(Telemetry).value(telemetry)
        | bind(Clock).value(clock)
        | bind(Secrets).value(Secrets("t0psecret"))
    )
    contract = base.variant(Delete, "d")
    async with build(app) as rt:
        await rt.bind(contract, Host()).dispatch(Delete("t0psecret"), CALL)

    assert [(one.invocation, one.at) for one in audit.entries] == [("call-1", clock.now())]
    assert "t0psecret" not in repr(audit.entries)
    assert [one.began.name for one in telemetry.observed] == ["Agent.dispatch"]


async def test_an_approval_that_is_not_there_is_found_when_it_is_built() -> None:
    app: Any = RuntimeBuilder().contract(asking)
    with pytest.raises(ConstructionError, match="MISSING Approval"):
        build(app)

    async with build(empty_layer()) as rt:
        loose: Any = rt
        with pytest.raises(ConstructionError, match="MISSING Approval"):
            loose.bind(asking, Host())


async def test_an_approval_that_decides_later_is_refused() -> None:
    async with build(bind(Approval).value(DeferredApproval(same_process=True))) as rt:
        with pytest.raises(ConstructionError, match="its decisions come later"):
            rt.bind(asking, Host())


async def test_two_capabilities_of_one_name_are_found_by_the_plan() -> None:
    twice = base.variant(Delete, "d", name="x").variant(Clear, "c", name="x")

    assert "Duplicate exposed capability name" in str(RuntimeBuilder().contract(twice).plan().problems[0])
