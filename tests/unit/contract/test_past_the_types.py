"""What type checkers would have refused: it is a mistake at construction, or a defect; never a yes."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import pytest
from returns.result import Failure

from lamina.call import NOBODY, Caller, Invocation, ToolDefect, ToolRejected
from lamina.contract import (
    AgentAuthorizationError,
    AgentDefect,
    AgentUnknownCapabilityError,
    Contract,
    Denied,
    MemoryHost,
    audit_log,
    command,
    completes,
    compose,
    pick,
    when,
)
from lamina.contract._admit import LONGEST_REASON
from lamina.effect import ConstructionError, bind, scoped, seed
from lamina.redaction import Secrets
from lamina.runtime import build
from tests.unit.contract.scene import ById, Clear, Deleted, FailedDelete, Host, Message, Model, Rename, User

BASE: Any = Contract.of(Model, messages=Message)


async def no(*_: object) -> bool:
    return False


def hidden(*given: object) -> Any:
    return no(*given)  # a coroutine, which is true to whoever does not look


def some(*_: object) -> Any:
    return ["something"]


@pytest.mark.parametrize("answer", [hidden, some])
async def test_what_is_no_bool_offers_nothing_and_sends_nothing(answer: Callable[..., Any]) -> None:
    host, audit = Host(), audit_log()
    bound = BASE.variant(Rename, "d", available=answer).bind(host, audit=audit)
    assert await bound.available() == frozenset()
    with pytest.raises(AgentDefect):
        await bound.dispatch(Rename("x"))
    assert host.sent == []
    assert [(entry.decision, entry.outcome) for entry in audit.entries] == [("refused", "AgentDefect")]


@pytest.mark.parametrize("answer", [hidden, some])
async def test_what_is_no_bool_completes_nothing(answer: Callable[..., Any]) -> None:
    source = type("Source", (), {"get": lambda _: 1, "subscribe": lambda _, listener: lambda: None})()
    for completion in (
        when(projection=pick("name"), predicate=answer),
        when(source=source, predicate=answer),
        completes(Deleted, correlate=answer),
    ):
        host = Host()
        host.on_dispatch = lambda message, host=host: host.happen(Deleted("1"))
        bound = BASE.variant(Rename, "d", completion=completion).bind(host)
        with pytest.raises(AgentDefect) as caught:
            await bound.dispatch(Rename("x"))
        assert (caught.value.delivery, host.listeners) == ("sent", 0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: BASE.variant(Rename, "d", available=True), "available is a function"),
        (lambda: BASE.variant(Rename, "d", available=functools.partial(no)), "available is a plain function"),
        (lambda: BASE.variant(Rename, "d", authorize="yes"), "authorize is a function"),
        (lambda: BASE.variant(Rename, "d", input=ById, to_message="x"), "to_message is a function"),
        (lambda: BASE.variant(Rename, "d", input=ById, to_message=no), "to_message is a plain function"),
        (lambda: BASE.variant(Rename, "d", completion="x"), r"completion is made by completes\(…\) or when"),
        (lambda: completes(Deleted, failure=FailedDelete, correlate=no), "correlate is a plain function"),  # type: ignore[arg-type]
        (lambda: when(projection=pick("name"), predicate=no), "predicate is a plain function"),  # type: ignore[arg-type]
        (lambda: Contract.of(Model, messages=Message, name=5), "its name has 1 to 128"),  # type: ignore[call-overload]
        (lambda: Contract.of(Model, messages=Message, context="name"), "context is made by pick"),  # type: ignore[call-overload]
        (lambda: BASE.resource(5, "d", str, lambda m: m.name), "a resource's name has 1 to 128"),
        (lambda: BASE.resource("a", "d", str, 5), "read is a function of the model"),
        (
            lambda: Contract.of(
                Model, messages=Message, context=compose(**{"class": pick("name"), "_a": pick("name")})
            ),
            "'class', '_a' is no name that a field can have",
        ),
        (
            lambda: Contract.of(Model, messages=Message, principal=User | Model).bind(Host()),
            "cannot tell the principal",
        ),  # type: ignore[call-overload]
    ],
)
def test_a_mistake_is_told_when_it_is_made(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ConstructionError, match=says):
        make()


@pytest.mark.parametrize("method", ["model", "subscribe", "observe"])
def test_a_host_that_would_have_to_be_awaited_is_refused(method: str) -> None:
    with pytest.raises(ConstructionError, match=rf"This host's {method}\(\) is async"):
        BASE.variant(Rename, "d").bind(type("Late", (Host,), {method: no})())


@pytest.mark.parametrize("host", [None, object(), 5])
def test_what_is_no_host_is_told_what_a_host_has(host: Any) -> None:
    with pytest.raises(ConstructionError) as caught:
        BASE.variant(Rename, "d", completion=completes(Deleted)).bind(host)
    (problem,) = caught.value.problems
    assert problem.lines[:2] == ("This host has no model().", "This host has no dispatch().")
    assert problem.write == "def model(self), def dispatch(self, message), def observe(self, listener)"


def test_the_class_of_a_host_is_no_host() -> None:
    with pytest.raises(ConstructionError, match="This is the class of a host") as caught:
        BASE.variant(Rename, "d").bind(Host)
    assert [problem.write for problem in caught.value.problems] == ["Host(…)"]


async def test_a_name_that_is_none_is_unknown() -> None:
    audit = audit_log()
    bound = BASE.variant(Rename, "d").bind(Host(), audit=audit)
    for name in (None, 5, ["rename"], {}):
        assert isinstance((await bound.dispatch_unknown(name, {})).failure(), AgentUnknownCapabilityError)
    assert [entry.subject for entry in audit.entries] == ["a NoneType", "a int", "a list", "a dict"]


T = TypeVar("T")


@attrs.frozen
class Box(Generic[T]):
    value: T


@attrs.frozen
class BoxInt(Box[int]): ...


async def test_a_generic_message_is_told_how_it_is_one() -> None:
    with pytest.raises(ConstructionError, match=r"write: @attrs.frozen class BoxInt\(Box\[int\]\): ..."):
        Contract.of(Model, messages=Box[int] | Rename)
    host = Host()
    bound = Contract.of(Model, messages=BoxInt | Rename).variant(BoxInt, "d").bind(host)
    assert (await bound.dispatch_unknown("box_int", {"value": "text"})).failure().capability == "box_int"
    await bound.dispatch_unknown("box_int", {"value": 1})
    assert host.sent == [BoxInt(1)]


@dataclasses.dataclass
class Plain:
    name: str = ""


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Contract.of(Model, messages=Plain), "Plain is no attrs class; write @attrs.frozen above it"),
        (lambda: Contract.of(Model, messages=[Rename]), "is no attrs class; a union of classes is written A | B"),
        (lambda: Contract.of(Plain, messages=Rename), "the model, Plain, is no attrs class; write @attrs.frozen above"),
        (lambda: Contract.of(Model(), messages=Rename), "is no attrs class; give its class, and not one of them"),
        (
            lambda: BASE.variant(Rename, "d", input=Plain, to_message=lambda given, _: Rename(given.name)),
            "its input, Plain, is no attrs class; write @attrs.frozen above it",
        ),
    ],
)
def test_what_is_no_attrs_class_is_told_how_it_becomes_one(make: Any, said: str) -> None:
    with pytest.raises(ConstructionError) as caught:
        make()
    assert said in str(caught.value)


def test_a_tag_that_makes_no_name_asks_for_one() -> None:
    letters = attrs.make_class("Größe", {"größe": attrs.field(type=int)}, frozen=True)
    base: Any = Contract.of(Model, messages=letters)
    with pytest.raises(ConstructionError, match='write: name="…"'):
        base.variant(letters, "d")
    (one,) = base.variant(letters, "d", name="size").messages
    assert (one.name, one.tag, one.input_schema["required"]) == ("size", "Größe", ["größe"])


async def test_a_host_that_gives_nothing_to_end_a_subscription_with_is_sent_nothing() -> None:
    for completion in (completes(Deleted), when(projection=pick("name"), predicate=lambda name, _: bool(name))):
        host: Any = type("Endless", (Host,), {"observe": lambda *_: None, "subscribe": lambda *_: None})()
        with pytest.raises(AgentDefect):
            await BASE.variant(Rename, "d", completion=completion).bind(host).dispatch(Rename("x"))
        assert host.sent == []


async def test_a_host_that_is_cancelled_by_itself_is_a_defect_and_no_cancel_of_its_caller() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    host, audit = Host(on_dispatch=lambda _: cancelled()), audit_log()
    bound = BASE.variant(Rename, "d").bind(host, audit=audit)
    with pytest.raises(AgentDefect) as caught:
        await bound.dispatch(Rename("x"))
    assert caught.value.delivery == "attempted"
    assert await bound.invoke("rename", {"name": "x"}, Invocation.new("mcp"), NOBODY) == ToolDefect("raised")
    assert {(entry.decision, entry.outcome) for entry in audit.entries} == {("unknown", "AgentDefect")}


async def test_what_authorize_says_is_bounded_and_holds_no_secret() -> None:
    said = AgentAuthorizationError("rename", "Rename", "x" * (LONGEST_REASON + 1))
    refused = await BASE.variant(Rename, "d", authorize=lambda _: Failure(said)).bind(Host()).dispatch(Rename("x"))
    assert len(refused.failure().reason) == LONGEST_REASON
    contract: Any = BASE.variant(Rename, "d", authorize=lambda _: Denied("not with hunter2-hunter2"))
    async with build(bind(Secrets).value(Secrets("hunter2-hunter2"))) as rt:
        outcome = await rt.bind(contract, Host()).invoke("rename", {"name": "x"}, Invocation.new("mcp"), NOBODY)
    assert isinstance(outcome, ToolRejected)
    assert outcome.message == "not with [REDACTED:secret]"
    assert "hunter2" not in repr(outcome) + repr(outcome.error)


@attrs.frozen
class Equal:
    """A host that is equal to every other one of its kind."""

    sent: list[Any] = attrs.field(factory=list, eq=False)

    def model(self) -> Model:
        return Model()

    def dispatch(self, message: object, /) -> None:
        self.sent.append(message)


async def test_a_toolkit_sends_to_the_host_of_its_request_and_keeps_none() -> None:
    made: list[Equal] = []
    alive: list[weakref.ref[Host]] = []

    async def equals() -> AsyncIterator[Equal]:
        made.append(Equal())
        yield made[-1]

    async def hosts() -> AsyncIterator[Host]:
        host = Host()
        alive.append(weakref.ref(host))
        yield host

    contract: Any = BASE.variant(Clear, "d")
    for kind, life in ((Equal, equals), (Host, hosts)):
        async with build(scoped(life, life="request"), seeds=seed(Caller)) as opened:
            surface = opened.surface(contract.toolkit(kind))
            for _ in range(3):
                await surface.invoke("clear", {}, Invocation.new("mcp"), NOBODY)
    gc.collect()
    assert [host.sent for host in made] == [[Clear()]] * 3
    assert [host() for host in alive] == [None] * 3


class Pair(NamedTuple):
    """A model that is a tuple."""

    left: int
    right: int


def test_a_named_tuple_is_a_model_and_no_model_with_commands() -> None:
    host: MemoryHost[Pair, int] = MemoryHost(Pair(0, 0), lambda pair, more: Pair(pair.left + more, pair.right))
    host.dispatch(2)
    assert host.model() == host.replayed() == Pair(2, 0)


async def test_an_invocation_that_is_none_is_in_the_audit_all_the_same() -> None:
    audit = audit_log()
    bound = BASE.variant(Clear, "d").bind(Host(), audit=audit)
    for odd in (Invocation(id=5), Invocation(id="i", transport=None)):  # type: ignore[arg-type]
        await bound.dispatch(Clear(), odd)
    assert [(entry.invocation, entry.transport) for entry in audit.entries] == [("5", "in-app"), ("i", "None")]


async def test_a_command_that_is_cancelled_by_itself_is_logged_and_ends_no_host(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def cancelled() -> Any:
        raise asyncio.CancelledError

    def update(model: int, message: int) -> Any:
        return model + message, [command(cancelled, failed=lambda _: 0)]

    async with MemoryHost(0, update) as host:
        for _ in range(2):
            host.dispatch(1)
            await host.idle()
        assert host.model() == 2
    assert [record.getMessage() for record in caplog.records] == [
        "a command was cancelled by something of its own; no message comes of it"
    ] * 2
