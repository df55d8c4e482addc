"""Cases 66 to 75: one entry for every attempt, careful about what it keeps."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import anyio
import pytest

from lamina.audit import Audit, AuditEntry
from lamina.call import Invocation, Signal
from lamina.contract import AgentDefect, Contract, audit_log, completes
from lamina.testing import VirtualClock
from tests.unit.contract.scene import ById, Clear, Delete, Deleted, FailedDelete, Host, HostOf, Message, Model, User

base = Contract.of(Model, messages=Message)
CALL = Invocation(id="call-1", transport="test", request=7)


async def test_case_66_one_entry_for_every_attempt() -> None:
    audit = audit_log(clock=VirtualClock())

    def breaks(message: object) -> None:
        raise RuntimeError

    def happens(message: object) -> None:
        host.happen(Deleted("a") if message == Delete("a") else FailedDelete("b"))

    plain = base.variant(Clear, "c", authorize=lambda attempt: False).variant(
        Delete, "d", available=lambda m: m.selected is None
    )
    bound = plain.bind(Host(), audit=audit)
    await bound.dispatch_unknown("nothing", {}, CALL)
    await plain.bind(Host(Model(selected="A")), audit=audit).dispatch(Delete("a"), CALL)
    await bound.dispatch_unknown("delete", {}, CALL)
    await bound.dispatch(Clear(), CALL)
    await bound.dispatch(Delete("a"), CALL)
    host = Host(on_dispatch=happens)
    completing = base.variant(Delete, "d", completion=completes(Deleted, failure=FailedDelete)).bind(host, audit=audit)
    await completing.dispatch(Delete("a"), CALL)
    await completing.dispatch(Delete("b"), CALL)
    with pytest.raises(AgentDefect):
        await plain.bind(Host(on_dispatch=breaks), audit=audit).dispatch(Delete("a"), CALL)

    assert [(one.subject, one.tag, one.decision, one.outcome) for one in audit.entries] == [
        ("nothing", None, "refused", "AgentUnknownCapabilityError"),
        ("delete", "Delete", "refused", "AgentCapabilityUnavailableError"),
        ("delete", "Delete", "refused", "AgentInvalidInputError"),
        ("clear", "Clear", "refused", "AgentAuthorizationError"),
        ("delete", "Delete", "dispatched", "dispatched"),
        ("delete", "Delete", "dispatched", "completed"),
        ("delete", "Delete", "dispatched", "failed"),
        ("delete", "Delete", "unknown", "AgentDefect"),
    ]
    first = audit.entries[0]
    assert (first.kind, first.invocation, first.transport, first.request) == ("dispatch", "call-1", "test", 7)
    assert first.at == VirtualClock().now()


async def test_case_67_an_aborted_call_is_recorded_with_its_tag() -> None:
    signal, audit = Signal(), audit_log()
    signal.abort()
    await base.variant(Delete, "d").bind(Host(), audit=audit).dispatch(Delete("a"), Invocation(id="1", signal=signal))

    assert [(one.tag, one.decision, one.outcome) for one in audit.entries] == [
        ("Delete", "refused", "AgentCancelledError")
    ]


async def test_case_68_a_stuck_host_is_unknown() -> None:
    async def stuck(message: object) -> None:
        await anyio.sleep_forever()

    clock, audit, signal, host = VirtualClock(), audit_log(), Signal(), Host(on_dispatch=stuck)
    bound = base.variant(Delete, "d", completion=completes(Deleted)).bind(host, audit=audit, clock=clock)
    timed_out = asyncio.create_task(bound.dispatch(Delete("a")))
    await clock.advance(30)
    await timed_out
    aborted = asyncio.create_task(bound.dispatch(Delete("a"), Invocation(id="1", signal=signal)))
    await clock.advance(1)
    signal.abort()
    await aborted

    assert [(one.decision, one.outcome) for one in audit.entries] == [
        ("unknown", "timeout"),
        ("unknown", "AgentCancelledError"),
    ]


async def test_case_69_a_cancelled_task_is_recorded_as_interrupted() -> None:
    clock, audit = VirtualClock(), audit_log()
    bound = base.variant(Delete, "d", completion=completes(Deleted)).bind(Host(), audit=audit, clock=clock)
    task = asyncio.create_task(bound.dispatch(Delete("a")))
    await clock.advance(1)
    task.cancel()
    await asyncio.wait([task])

    assert [(one.decision, one.outcome) for one in audit.entries] == [("dispatched", "interrupted")]


class Broken(Audit):
    inputs = True

    def record(self, entry: AuditEntry) -> None:
        raise RuntimeError("full")


class BrokenInput(Broken):
    def keep_input(self, given: object) -> object:
        raise RuntimeError("full")


@pytest.mark.parametrize("sink", [Broken(), BrokenInput()])
async def test_case_70_a_sink_that_breaks_changes_nothing(sink: Audit) -> None:
    bound = base.variant(Delete, "d").bind(Host(), audit=sink)

    assert (await bound.dispatch(Delete("a"))).unwrap().tag == "Delete"
    assert (await bound.dispatch_unknown("delete", {"id": "a"})).unwrap().tag == "Delete"


def one_that_breaks(principal: object) -> str:
    raise RuntimeError("secret")


@pytest.mark.parametrize(
    ("projection", "kept"),
    [
        (one_that_breaks, None),
        (lambda user: 7, "7"),
        (lambda user: UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (lambda user: user, None),
        (lambda user: True, None),
        (lambda user: None, None),
    ],
)
async def test_case_70_a_projection_that_breaks_changes_nothing(projection: Any, kept: str | None) -> None:
    audit = audit_log(principal=projection)
    bound = (
        Contract.of(Model, messages=Message, principal=User)
        .variant(Delete, "d")
        .bind(HostOf(lambda invocation: User("ada")), audit=audit)
    )

    assert (await bound.dispatch(Delete("a"))).unwrap().tag == "Delete"
    assert [(entry.subject, entry.decision, entry.principal) for entry in audit.entries] == [
        ("delete", "dispatched", kept)
    ]


async def test_case_71_the_input_is_kept_only_on_request_and_redacted() -> None:
    silent, told = audit_log(), audit_log(include_input=True, redact=["request_id"])
    for audit in (silent, told):
        bound = base.variant(Delete, "d").bind(Host(), audit=audit)
        await bound.dispatch_unknown("delete", {"id": "a", "request_id": "secret"})
        await bound.dispatch(Delete("b", "secret"))
        await bound.dispatch_unknown("delete", {"id": {"request_id": "secret", "deep": [{"request_id": 1}]}})
        await bound.dispatch_unknown("delete", "secret")

    assert [one.input for one in silent.entries] == [None] * 4
    assert [one.input for one in told.entries] == [
        {"id": "a", "request_id": "[redacted]"},
        {"id": "b", "request_id": "[redacted]"},
        {"id": {"request_id": "[redacted]", "deep": [{"request_id": "[redacted]"}]}},
        None,
    ]


def test_one_text_is_no_list_of_what_is_redacted() -> None:
    with pytest.raises(TypeError, match="several keys"):
        audit_log(include_input=True, redact="token")


async def test_case_72_later_changes_of_the_input_do_not_reach_the_entry_and_cycles_survive() -> None:
    audit = audit_log(include_input=True)
    bound = base.variant(Delete, "d").bind(Host(), audit=audit)
    given: Any = {"id": ["a"]}
    given["self"] = given
    await bound.dispatch_unknown("delete", given)
    given["id"].append("b")
    kept: Any = audit.entries[0].input

    assert kept["id"] == ["a"]
    assert kept["self"] is kept


async def test_the_input_is_kept_as_it_came_though_it_is_changed_meanwhile() -> None:
    given: Any = {"id": "a"}
    audit = audit_log(include_input=True)
    bound = base.variant(Delete, "d").bind(Host(on_dispatch=lambda message: given.clear()), audit=audit)
    await bound.dispatch_unknown("delete", given)

    assert audit.entries[0].input == {"id": "a"}


@pytest.mark.parametrize(("capacity", "kept"), [(2, ["call-2", "call-3"]), (1, ["call-3"]), (0, ["call-3"])])
async def test_case_73_the_oldest_go_first_and_one_is_kept_at_least(capacity: int, kept: list[str]) -> None:
    audit = audit_log(capacity=capacity)
    bound = base.variant(Clear, "c").bind(Host(), audit=audit)
    for number in (1, 2, 3):
        await bound.dispatch(Clear(), Invocation(id=f"call-{number}"))

    assert [one.invocation for one in audit.entries] == kept


async def test_case_74_entries_are_a_copy() -> None:
    audit = audit_log()
    bound = base.variant(Clear, "c").bind(Host(), audit=audit)
    await bound.dispatch(Clear())
    before = audit.entries
    await bound.dispatch(Clear())
    audit.clear()

    assert (len(before), audit.entries) == (1, ())


async def test_case_75_the_principal_is_kept_only_by_its_projection() -> None:
    asked: list[object] = []

    def project(principal: Any) -> str:
        asked.append(principal)
        return str(principal.id)

    contract = Contract.of(Model, messages=Message, principal=User).variant(
        Delete, "d", input=ById, to_message=lambda given, at: Delete(given.id)
    )
    silent, told = audit_log(), audit_log(principal=project)
    for audit in (silent, told):
        bound = contract.bind(HostOf(lambda invocation: User("ada")), audit=audit)
        await bound.dispatch(ById("a"))
        await bound.dispatch_unknown("delete", {})

    assert [one.principal for one in silent.entries] == [None, None]
    assert [one.principal for one in told.entries] == ["ada", None]
    assert asked == [User("ada")]
    assert "s3cret" not in repr(told.entries)
