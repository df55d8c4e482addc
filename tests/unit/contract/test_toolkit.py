"""A contract as an agent's toolkit."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, ScriptedApproval
from lamina.contract import Contract, audit_log, completes
from lamina.effect import ConstructionError, bind
from lamina.model import LanguageModel, ToolMessage
from lamina.runtime import build
from lamina.testing import ScriptedModel, call_tool, say
from tests.unit.contract.scene import Clear, Delete, Deleted, FailedDelete, Host, Message, Model, Rename


class OurHost(Host):
    """The application's own class of hosts."""


base = Contract.of(Model, messages=Message, name="todo")


async def run(contract: Any, host: OurHost, *calls: Any, approval: Any = None) -> list[Any]:
    """Run the calls as one batch, and give what the model was told of each."""
    model = ScriptedModel(*calls, say("done"))
    agent = Agent(
        "worker",
        instructions="Work.",
        policy=AgentPolicy(max_turns=8, max_tool_calls=8, max_duration=300, tool_concurrency=1),
        toolkit=contract.toolkit(OurHost, audit=audit_log()),
    )
    app: Any = bind(OurHost).value(host)
    if approval is not None:
        app = app | bind(Approval).value(approval)
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
    host = OurHost(on_dispatch=lambda message: host.happen(FailedDelete("a")))
    contract = base.variant(Delete, "d", completion=completes(Deleted, failure=FailedDelete)).variant(
        Clear, "c", authorize=lambda attempt: False
    )
    failed, refused = await run(contract, host, call_tool("delete", raw='{"id": "a"}'), call_tool("clear"))

    assert (failed["_tag"], failed["message"]) == ("AgentCompletionFailed", "Failed: FailedDelete")
    assert (refused["_tag"], refused["message"]) == ("AgentAuthorizationError", 'Not authorized to invoke "clear"')


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
