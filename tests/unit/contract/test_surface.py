"""A bound contract as a surface: outcomes, resources, summaries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lamina.call import (
    Invocation,
    NoCaller,
    Outcome,
    Signal,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
)
from lamina.contract import BoundContract, Contract, completes, pick, struct, summarize, when
from lamina.testing import VirtualClock
from tests.unit.contract.scene import Clear, Delete, Deleted, FailedDelete, Host, Message, Model, Rename

base = Contract.of(Model, messages=Message, context=pick("name"), name="todo", version="1.2.3")
name_of_model = struct(Model, str, lambda m: m.name)


async def invoke(bound: BoundContract[Any, Any], name: str, payload: Any, signal: Signal | None = None) -> Outcome:
    return await bound.invoke(name, payload, Invocation(id="call-1", transport="mcp", signal=signal), NoCaller())


async def test_refusals_are_outcomes_that_carry_the_error() -> None:
    bound = (
        base.variant(Delete, "d", available=lambda m: m.selected is not None)
        .variant(Clear, "c", authorize=lambda attempt: False)
        .variant(Rename, "r")
        .bind(Host())
    )
    outcomes = [
        await invoke(bound, "nothing", {}),
        await invoke(bound, "delete", {}),
        await invoke(bound, "clear", {}),
        await invoke(bound, "rename", {"name": 7}),
    ]

    assert [(type(one), one.message) for one in outcomes if not isinstance(one, ToolSuccess)] == [
        (ToolRejected, "No such capability: nothing"),
        (ToolRejected, 'Capability "delete" is not available right now'),
        (ToolRejected, 'Not authorized to invoke "clear"'),
        (ToolInvalidInput, 'Invalid input for "rename"'),
    ]
    assert [one.reason for one in outcomes if isinstance(one, ToolRejected)] == [
        "no-such-tool",
        "unavailable",
        "unauthorized",
    ]


async def test_an_abort_and_a_timeout_are_failures_that_say_how_far_it_got() -> None:
    clock, signal = VirtualClock(), Signal()
    bound = base.variant(Delete, "d", completion=completes(Deleted, timeout=1)).bind(Host(), clock=clock)
    signal.abort()
    aborted = await invoke(bound, "delete", {"id": "a"}, signal)
    task = asyncio.create_task(invoke(bound, "delete", {"id": "a"}))
    await clock.advance(1)
    late = await task

    assert isinstance(aborted, ToolFailure)
    assert aborted.value == {
        "_tag": "AgentCancelledError",
        "message": 'Invocation of "delete" was cancelled before it was dispatched',
        "capability": "delete",
        "delivery": "none",
        "dispatched": False,
    }
    assert isinstance(late, ToolFailure)
    assert late.message == '"delete" was dispatched but did not complete within 1s. The Message still reached update.'
    assert (late.value["delivery"], late.value["invocation"]) == ("sent", "call-1")  # type: ignore[call-overload, index]


async def test_a_defect_has_no_text() -> None:
    def breaks(message: object) -> None:
        raise RuntimeError("secret")

    outcome = await invoke(base.variant(Clear, "c").bind(Host(on_dispatch=breaks)), "clear", {})

    assert outcome == ToolDefect("raised")
    assert "secret" not in repr(outcome)


async def test_a_success_says_capability_tag_and_completion() -> None:
    host = Host(on_dispatch=lambda message: host.happen(Deleted("a", "r")))
    bound = (
        base.variant(Delete, "d", completion=completes(Deleted))
        .variant(Clear, "c")
        .variant(Rename, "r", completion=when(projection=name_of_model, predicate=lambda value, request: value == ""))
        .bind(host)
    )
    told = []
    for name, payload in (("delete", {"id": "a"}), ("clear", {}), ("rename", {"name": "x"})):
        outcome = await invoke(bound, name, payload)
        assert isinstance(outcome, ToolSuccess)
        told.append((outcome.value, bound.summary(name, outcome)))

    assert told == [
        (
            {
                "capability": "delete",
                "tag": "Delete",
                "completion": {"status": "completed", "message": {"_tag": "Deleted", "id": "a", "request_id": "r"}},
            },
            "Completed: Deleted",
        ),
        ({"capability": "clear", "tag": "Clear"}, "Dispatched Clear"),
        (
            {"capability": "rename", "tag": "Rename", "completion": {"status": "completed"}},
            "Completed: Rename reached its declared state",
        ),
    ]


async def test_what_is_told_fits_the_output_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    host = Host(on_dispatch=lambda message: host.happen(Deleted("a", "r")))
    bound = base.variant(Delete, "d", completion=completes(Deleted)).variant(Clear, "c").bind(host)

    for capability, payload in zip(bound.capabilities, ({"id": "a"}, {}), strict=True):
        outcome = await invoke(bound, capability.name, payload)
        assert isinstance(outcome, ToolSuccess)
        jsonschema.validate(outcome.value, capability.output_schema)


async def test_a_failure_message_is_a_failure_with_its_own_sentence() -> None:
    host = Host(on_dispatch=lambda message: host.happen(FailedDelete("a", "gone")))
    bound = base.variant(Delete, "d", completion=completes(Deleted, failure=FailedDelete)).bind(host)
    outcome = await invoke(bound, "delete", {"id": "a"})
    sent = (await bound.dispatch(Delete("a"))).unwrap()

    assert isinstance(outcome, ToolFailure)
    assert outcome.message == "Failed: FailedDelete"
    assert outcome.value == {
        "capability": "delete",
        "tag": "Delete",
        "completion": {"status": "failed", "message": {"_tag": "FailedDelete", "id": "a", "why": "gone"}},
    }
    assert (summarize(sent).ok, summarize(sent).text) == (False, "Failed: FailedDelete")


def test_what_a_surface_says_of_itself() -> None:
    bound = base.variant(
        Delete, "Delete a todo", execution="idempotent", available=lambda m: True, authorize=lambda attempt: True
    ).bind(Host())
    (one,) = bound.capabilities

    assert (bound.name, bound.version) == ("todo", "1.2.3")
    assert (one.name, one.tag, one.execution, one.conditional, one.authorized, one.needs_approval) == (
        "delete",
        "Delete",
        "idempotent",
        True,
        True,
        False,
    )
    assert [(one.name, one.uri, one.description) for one in bound.resources] == [
        ("context", "app://context", "The Model state projected for agents")
    ]


async def test_a_resource_named_context_takes_its_place() -> None:
    bound = (
        base.resource("other", "Another", str, lambda m: "other")
        .resource("context", "My own", str, lambda m: "mine")
        .bind(Host())
    )

    assert [(one.uri, one.description) for one in bound.resources] == [
        ("app://context", "My own"),
        ("app://other", "Another"),
    ]
    assert (await bound.read("app://context")).unwrap().text == '"mine"'
    assert bound.context().unwrap() == {"name": ""}


async def test_without_a_context_there_is_none() -> None:
    bound = Contract.of(Model, messages=Message).bind(Host())

    assert bound.resources == ()
    assert str(bound.context().failure()) == 'Cannot read resource "context": no such resource'


def test_subscribing_is_the_hosts() -> None:
    host, heard = Host(), list[str]()
    stop = base.bind(host).subscribe(lambda: heard.append("changed"))
    host.become(Model(name="x"))
    stop()
    host.become(Model(name="y"))

    assert heard == ["changed"]
    assert host.listeners == 0


def test_a_host_that_cannot_tell_of_changes_tells_none() -> None:
    class Bare:
        def model(self) -> Model:
            return Model()

        def dispatch(self, message: object, /) -> None: ...

    stop = base.bind(Bare()).subscribe(lambda: None)
    stop()
