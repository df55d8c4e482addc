"""Cases 21 to 43: the five steps of a dispatch, in their order, over one snapshot."""

from __future__ import annotations

from typing import Annotated, Any

import anyio
import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.call import Invocation
from lamina.contract import (
    AgentAuthorizationError,
    AgentCapabilityUnavailableError,
    AgentDefect,
    AgentInvalidInputError,
    AgentProjectionError,
    AgentUnknownCapabilityError,
    At,
    Attempt,
    Contract,
    Denied,
    Nothing,
    audit_log,
    pick,
    struct,
)
from lamina.effect import ConstructionError, tagged
from lamina.schema import Encoded
from lamina.telemetry import MemoryTelemetry
from tests.unit.contract.scene import (
    ById,
    Clear,
    Delete,
    Host,
    HostOf,
    Internal,
    Message,
    Model,
    Rename,
    User,
)

base = Contract.of(Model, messages=Message)
of_users = Contract.of(Model, messages=Message, principal=User)
CALL = Invocation(id="call-1", transport="test")


@tagged("{who} is not the owner")
class NotOwner:
    who: str


async def test_case_21_the_order_of_the_calls() -> None:
    host = HostOf(lambda invocation: User("ada"))

    def available(model: Model) -> bool:
        host.calls.append("available")
        return True

    def authorize(attempt: Attempt[Delete, Model, User]) -> bool:
        host.calls.append("authorize")
        return True

    bound = of_users.variant(Delete, "d", available=available, authorize=authorize).bind(host)
    await bound.dispatch_unknown("delete", {"id": "a"})

    assert host.calls == ["model", "available", "principal", "authorize", "dispatch"]


async def test_case_22_an_unknown_capability_reads_no_model() -> None:
    host = Host()
    answered = await base.variant(Delete, "d").bind(host).dispatch_unknown("delte", {})

    assert answered.failure() == AgentUnknownCapabilityError("delte")
    assert str(answered.failure()) == "No such capability: delte"
    assert host.calls == []


async def test_case_23_malformed_input_to_what_is_unavailable_is_unavailable() -> None:
    bound = base.variant(Delete, "d", available=lambda m: False).bind(Host())
    answered = await bound.dispatch_unknown("delete", {"foo": 1})

    assert answered.failure() == AgentCapabilityUnavailableError("delete", "Delete")
    assert str(answered.failure()) == 'Capability "delete" is not available right now'


async def test_case_24_an_undeclared_field_is_invalid() -> None:
    host = Host()
    answered = await base.variant(Rename, "r").bind(host).dispatch_unknown("rename", {"name": "x", "nmae": "secret"})
    error = answered.failure()

    assert isinstance(error, AgentInvalidInputError)
    assert str(error) == 'Invalid input for "rename"'
    assert "undeclared key" in str(error.cause)
    assert "secret" not in repr(error)
    assert host.sent == []


async def test_case_25_authorize_sees_the_decoded_external_input() -> None:
    seen: list[object] = []

    def authorize(attempt: Attempt[ById, Model, None]) -> bool:
        seen.append((attempt.input, attempt.transport, attempt.invocation))
        return True

    bound = base.variant(
        Delete, "d", input=ById, to_message=lambda given, at: Delete(given.id, "r"), authorize=authorize
    ).bind(Host())
    await bound.dispatch_unknown("delete", {"id": "a"}, CALL)

    assert seen == [(ById("a"), "test", CALL)]


async def test_case_26_the_message_is_made_of_the_snapshot_though_the_live_state_moves() -> None:
    host = Host(Model(selected="A"))

    async def authorize(attempt: Attempt[Nothing, Model, None]) -> bool:
        host.current = Model(selected="B")
        await anyio.lowlevel.checkpoint()
        return attempt.model.selected == "A"

    def make(_: Nothing, at: At[Model, None]) -> Delete:
        return Delete(at.model.selected or "")

    bound = base.variant(
        Delete,
        "d",
        input=Nothing,
        to_message=make,
        available=lambda m: m.selected is not None,
        authorize=authorize,
    ).bind(host)
    await bound.dispatch(Nothing())

    assert host.sent == [Delete("A")]
    assert host.calls.count("model") == 1


async def test_case_27_the_reason_of_authorize_reaches_the_caller() -> None:
    def denied(attempt: object) -> Denied:
        return Denied("Only the owner may delete")

    async def failed(attempt: object) -> Result[bool, NotOwner]:
        return Failure(NotOwner("ada"))

    def in_success(attempt: object) -> Result[Denied, NotOwner]:
        return Success(Denied("Not today"))

    def own(attempt: object) -> Result[bool, AgentAuthorizationError]:
        return Failure(AgentAuthorizationError("delete", "Delete", "My own"))

    said = []
    for authorize in (denied, failed, in_success, own):
        bound = base.variant(Delete, "d", authorize=authorize).bind(Host())
        said.append(str((await bound.dispatch(Delete("a"))).failure()))

    assert said == ["Only the owner may delete", "ada is not the owner", "Not today", "My own"]


async def test_case_28_false_from_authorize_sends_nothing() -> None:
    host = Host()

    async def no(attempt: object) -> bool:
        return False

    for authorize in (lambda attempt: False, no, lambda attempt: Success(False)):
        answered = await base.variant(Delete, "d", authorize=authorize).bind(host).dispatch(Delete("a"))
        assert answered.failure() == AgentAuthorizationError("delete", "Delete")
        assert str(answered.failure()) == 'Not authorized to invoke "delete"'
    assert host.sent == []


async def test_an_answer_of_authorize_that_is_none_is_a_defect() -> None:
    host = Host()

    def nothing(attempt: object) -> Any:
        return None

    with pytest.raises(AgentDefect):
        await base.variant(Delete, "d", authorize=nothing).bind(host).dispatch(Delete("a"))
    assert host.sent == []


async def test_case_29_the_principal_is_resolved_once_after_decoding() -> None:
    users = iter([User("ada")])
    seen: list[User] = []

    async def once(invocation: Invocation) -> User:
        return next(users)

    def make(given: ById, at: At[Model, User]) -> Delete:
        seen.append(at.principal)
        return Delete(given.id)

    def authorize(attempt: Attempt[ById, Model, User]) -> bool:
        seen.append(attempt.principal)
        return True

    bound = of_users.variant(Delete, "d", input=ById, to_message=make, authorize=authorize).bind(HostOf(once))
    await bound.dispatch_unknown("delete", {"id": "a"})

    assert seen == [User("ada"), User("ada")]


async def test_case_30_the_principal_is_not_resolved_when_decoding_fails() -> None:
    host = HostOf(lambda invocation: User("ada"))
    await of_users.variant(Delete, "d").bind(host).dispatch_unknown("delete", {})

    assert host.calls == ["model"]


async def test_case_31_two_dispatches_have_two_ids() -> None:
    bound = base.variant(Clear, "c").bind(Host())
    ids = [(await bound.dispatch(Clear())).unwrap().invocation for _ in range(2)]

    assert ids[0].id != ids[1].id
    assert {one.transport for one in ids} == {"in-app"}


async def test_case_32_a_callers_own_id_is_kept_each_time() -> None:
    bound = base.variant(Clear, "c").bind(Host())

    assert [(await bound.dispatch(Clear(), CALL)).unwrap().invocation.id for _ in range(2)] == ["call-1", "call-1"]


async def test_case_33_dispatch_by_instance_equals_dispatch_by_name() -> None:
    bound = base.variant(Delete, "d").bind(Host())

    assert await bound.dispatch(Delete("a"), CALL) == await bound.dispatch_unknown("delete", {"id": "a"}, CALL)


async def test_case_34_what_is_not_exposed_is_refused_by_its_tag() -> None:
    bound: Any = base.variant(Delete, "d").bind(Host())

    assert (await bound.dispatch(Internal())).failure() == AgentUnknownCapabilityError("Internal")
    assert str((await bound.dispatch("x")).failure()) == "No such capability: an unexposed Message"


async def test_case_35_without_a_completion_there_is_none() -> None:
    bound = base.variant(Delete, "d").bind(Host())
    sent = (await bound.dispatch(Delete("a"), CALL)).unwrap()

    assert (sent.capability, sent.tag, sent.message, sent.invocation, sent.completion) == (
        "delete",
        "Delete",
        Delete("a"),
        CALL,
        None,
    )


async def test_case_36_what_the_host_gives_is_awaited() -> None:
    applied: list[str] = []

    async def later(message: object) -> None:
        await anyio.lowlevel.checkpoint()
        applied.append("later")

    for on_dispatch in (later, lambda message: applied.append("at once"), lambda message: Success(None)):
        bound = base.variant(Delete, "d").bind(Host(on_dispatch=on_dispatch))
        assert (await bound.dispatch(Delete("a"))).unwrap().tag == "Delete"

    assert applied == ["later", "at once"]


async def test_case_37_a_host_that_fails_is_a_defect_recorded_as_unknown() -> None:
    async def rejects(message: object) -> None:
        raise RuntimeError("secret")

    def throws(message: object) -> None:
        raise RuntimeError("secret")

    for on_dispatch in (rejects, throws, lambda message: Failure("secret")):
        audit = audit_log()
        bound = base.variant(Delete, "d").bind(Host(on_dispatch=on_dispatch), audit=audit)
        with pytest.raises(AgentDefect) as caught:
            await bound.dispatch(Delete("a"))
        assert caught.value.delivery == "attempted"
        assert str(caught.value) == 'Capability "delete" failed unexpectedly'
        assert [(one.decision, one.outcome) for one in audit.entries] == [("unknown", "AgentDefect")]


async def test_case_38_every_attempt_is_an_operation_refusals_included() -> None:
    telemetry = MemoryTelemetry()
    bound = base.variant(Delete, "d").bind(Host(), telemetry=telemetry)
    await bound.dispatch(Delete("a"), CALL)
    await bound.dispatch_unknown("nothing", {}, CALL)

    assert [
        (one.began.name, one.began.resource, dict(one.began.attributes), one.ended and one.ended.outcome)
        for one in telemetry.observed
    ] == [
        (
            "Agent.dispatch",
            "delete",
            {"capability": "delete", "transport": "test", "invocation": "call-1"},
            "success",
        ),
        (
            "Agent.dispatch",
            "nothing",
            {"capability": "nothing", "transport": "test", "invocation": "call-1"},
            "failure",
        ),
    ]


async def test_case_39_two_bound_contracts_share_nothing() -> None:
    todo = Contract.of(Model, messages=Message, context=pick("name")).variant(Delete, "d")
    first, second = Host(Model(name="first")), Host(Model(name="second"))
    one, other = todo.bind(first), todo.bind(second)
    await one.dispatch(Delete("a"))

    assert (first.sent, second.sent) == ([Delete("a")], [])
    assert (one.context().unwrap(), other.context().unwrap()) == ({"name": "first"}, {"name": "second"})


@attrs.frozen
class View:
    name: str
    size: Annotated[int, Encoded(str, decode=int, encode=str)]


async def test_case_40_the_context_is_the_encoded_side_without_what_is_not_declared() -> None:
    view = struct(Model, View, lambda m: View(m.name, len(m.name)))
    todo = Contract.of(Model, messages=Message, context=view).resource("picked", "p", str, lambda m: m.name)
    bound = todo.bind(Host(Model(name="abc", secret="no")))

    assert bound.context().unwrap() == {"name": "abc", "size": "3"}
    assert bound.resource("picked").unwrap() == "abc"


async def test_case_41_a_projection_that_breaks_its_schema_is_a_defect_that_hides_the_value() -> None:
    def wrong(m: Any) -> Any:
        return m.secret

    todo = Contract.of(Model, messages=Message, context=struct(Model, int, wrong)).resource("r", "r", int, wrong)
    bound = todo.bind(Host())

    with pytest.raises(AgentDefect) as caught:
        bound.context()
    assert isinstance(caught.value.__cause__, AgentProjectionError)
    assert str(caught.value.__cause__) == "The context projection does not match its declared schema"
    with pytest.raises(AgentDefect) as caught:
        bound.resource("r")
    assert str(caught.value.__cause__) == 'The resource "r" projection does not match its declared schema'
    read = await bound.read("app://r")
    assert "hidden" not in repr(read)
    assert str(read.failure()) == 'Reading "r" failed unexpectedly'


async def test_case_42_resources_follow_the_live_model() -> None:
    host = Host(Model(name="before"))
    bound = base.resource("name", "The name", str, lambda m: m.name).bind(host)
    before = (await bound.read("app://name")).unwrap().text
    host.current = Model(name="after")

    assert (before, (await bound.read("app://name")).unwrap().text) == ('"before"', '"after"')
    assert str((await bound.read("app://nmae")).failure()) == 'Cannot read resource "nmae": no such resource'
    assert str((await bound.read("file:///etc")).failure()) == 'Cannot read resource "file:///etc": no such resource'


async def test_case_43_what_is_available_follows_the_model_and_the_list_does_not() -> None:
    host = Host()
    bound = base.variant(Clear, "c").variant(Delete, "d", available=lambda m: m.selected is not None).bind(host)
    before = await bound.available()
    host.current = Model(selected="A")

    assert (before, await bound.available()) == ({"clear"}, {"clear", "delete"})
    assert [one.name for one in bound.capabilities] == ["clear", "delete"]


async def test_an_instance_is_held_to_its_class() -> None:
    host = Host()
    bound = base.variant(Rename, "r").bind(host)
    wrong: Any = Rename

    assert isinstance((await bound.dispatch(wrong(7))).failure(), AgentInvalidInputError)
    assert host.sent == []


async def test_a_made_message_is_held_to_its_class() -> None:
    host = Host()

    def wrong(given: Any, at: Any) -> Any:
        return Delete(at.model.selected)

    bound = base.variant(Delete, "d", input=Nothing, to_message=wrong).bind(host)

    with pytest.raises(AgentDefect):
        await bound.dispatch(Nothing())
    assert host.sent == []


async def test_a_predicate_that_breaks_is_a_defect_and_is_not_listed() -> None:
    host = Host()
    bound = base.variant(Clear, "c", available=lambda m: 1 // 0 == 1).variant(Delete, "d").bind(host)

    assert await bound.available() == {"delete"}
    with pytest.raises(AgentDefect) as caught:
        await bound.dispatch(Clear())
    assert caught.value.delivery == "none"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


async def test_an_input_of_two_capabilities_has_to_say_which() -> None:
    host = Host(Model(selected="A"))
    bound = (
        base.variant(Clear, "c", input=Nothing, to_message=lambda _, at: Clear())
        .variant(Delete, "d", input=Nothing, to_message=lambda _, at: Delete(at.model.selected or ""))
        .bind(host)
    )

    assert (await bound.dispatch(Nothing(), capability="delete")).unwrap().message == Delete("A")
    with pytest.raises(ConstructionError, match="AMBIGUOUS Nothing"):
        await bound.dispatch(Nothing())


async def test_a_long_unknown_name_is_cut() -> None:
    audit = audit_log()
    bound = base.bind(Host(), audit=audit)
    error = (await bound.dispatch_unknown("x" * 10_000, {})).failure()

    assert error == AgentUnknownCapabilityError("x" * 128)
    assert len(audit.entries[0].subject) == 128


@attrs.frozen
class Shout:
    text: Annotated[str, Encoded(str, decode=lambda text: text + "!", encode=lambda text: text.removesuffix("!"))]


async def test_case_121_a_transform_is_applied_once() -> None:
    host = Host()
    bound = base.variant(Rename, "r", input=Shout, to_message=lambda given, at: Rename(given.text)).bind(host)
    await bound.dispatch_unknown("rename", {"text": "hi"})
    await bound.dispatch(Shout("hi!"))

    assert host.sent == [Rename("hi!"), Rename("hi!")]


async def test_case_128_what_authorize_refuses_update_refuses_too() -> None:
    class OwnersHost(HostOf):
        """The application's own guard, behind the agents' one."""

        def dispatch(self, message: Any, /) -> Any:
            if message.request_id != self.current.selected:
                raise PermissionError("only the owner may delete")
            return super().dispatch(message)

    def make(given: ById, at: At[Model, User]) -> Delete:
        return Delete(given.id, at.principal.id)

    host = OwnersHost(lambda invocation: User("mallory"), model=Model(selected="ada"))
    guarded = of_users.variant(
        Delete, "d", input=ById, to_message=make, authorize=lambda attempt: attempt.principal.id == "ada"
    ).bind(host)
    unguarded = of_users.variant(Delete, "d", input=ById, to_message=make).bind(host)

    assert isinstance((await guarded.dispatch(ById("a"))).failure(), AgentAuthorizationError)
    with pytest.raises(AgentDefect):
        await unguarded.dispatch(ById("a"))
    assert host.sent == []
