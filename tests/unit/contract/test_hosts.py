"""The host in memory, and the one over a plain object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import anyio
import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.contract import AgentDefect, Command, Contract, MemoryHost, PlainHost, Settled, command, completes, replay
from lamina.effect import ConstructionError


@attrs.frozen
class Counter:
    count: int = 0
    failed: int = 0
    ticking: bool = False


@attrs.frozen
class Add:
    by: int


@attrs.frozen
class AskedToAdd:
    by: int


@attrs.frozen
class Refused: ...


@attrs.frozen
class Tick: ...


@attrs.frozen
class SetTicking:
    on: bool


Event: TypeAlias = Add | AskedToAdd | Refused | Tick | SetTicking
Step: TypeAlias = tuple[Counter, Sequence[Command[Event]]]


async def allow(by: int) -> Result[Event, str]:
    await anyio.lowlevel.checkpoint()
    return Failure("too much") if by > 10 else Success(Add(by))


async def broken() -> Event:
    raise RuntimeError("secret")


def update(model: Counter, message: Event) -> Counter | Step:
    match message:
        case Add(by):
            return attrs.evolve(model, count=model.count + by)
        case AskedToAdd(-1):
            return model, (Command(broken),)
        case AskedToAdd(by):
            return model, (command(partial(allow, by), failed=lambda why: Refused()),)
        case Refused():
            return attrs.evolve(model, failed=model.failed + 1)
        case Tick():
            return attrs.evolve(model, count=model.count + 1)
        case SetTicking(on):
            return attrs.evolve(model, ticking=on)


async def test_commands_end_with_a_message_of_success_or_of_failure() -> None:
    async with MemoryHost(Counter(), update) as host:
        host.dispatch(AskedToAdd(3))
        host.dispatch(AskedToAdd(30))
        await host.idle()

        assert host.model() == Counter(count=3, failed=1)
        assert host.messages == (AskedToAdd(3), AskedToAdd(30), Add(3), Refused())
        assert host.replayed() == host.model() == replay(Counter(), update, host.messages)


async def test_a_command_that_breaks_gives_no_message_and_harms_nothing() -> None:
    async with MemoryHost(Counter(), update) as host:
        host.dispatch(AskedToAdd(-1))
        host.dispatch(AskedToAdd(1))
        await host.idle()

        assert host.model() == Counter(count=1)


async def test_a_host_that_nobody_runs_refuses_commands() -> None:
    host = MemoryHost(Counter(), update)
    host.dispatch(Add(1))

    with pytest.raises(RuntimeError, match="async with host"):
        host.dispatch(AskedToAdd(1))
    assert host.model() == Counter(count=1)


async def test_a_closed_host_takes_nothing_and_its_commands_are_gone() -> None:
    began, ended = anyio.Event(), list[str]()

    async def endless() -> Event:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("ended")
        raise AssertionError

    def asking(model: Counter, message: Event) -> Step:
        return model, (Command(endless),)

    async with MemoryHost(Counter(), asking) as host:
        host.dispatch(Tick())
        await began.wait()

    assert ended == ["ended"]
    with pytest.raises(RuntimeError, match="closed"):
        host.dispatch(Tick())
    with pytest.raises(RuntimeError, match="entered once"):
        await host.__aenter__()


async def test_messages_that_come_while_one_is_applied_wait_their_turn() -> None:
    host = MemoryHost(Counter(), update)
    seen: list[tuple[Event, int]] = []

    def observe(message: Event) -> None:
        seen.append((message, host.model().count))
        if message == Add(1):
            host.dispatch(Add(10))
            seen.append((Tick(), host.model().count))

    stop = host.observe(observe)
    host.dispatch(Add(1))
    stop()
    stop()

    assert seen == [(Add(1), 1), (Tick(), 1), (Add(10), 11)]
    assert host.listeners == 0


async def test_the_queue_is_bounded() -> None:
    host = MemoryHost(Counter(), update, queue=2)
    refused: list[str] = []

    def observe(message: Event) -> None:
        if message == Tick():
            for _ in range(3):
                try:
                    host.dispatch(Add(1))
                except RuntimeError as error:
                    refused.append(str(error))

    host.observe(observe)
    host.dispatch(Tick())

    assert host.model().count == 3
    assert refused == ["too many messages wait in the host"]


async def test_an_update_that_raises_changes_nothing_and_reaches_the_sender() -> None:
    def picky(model: Counter, message: Event) -> Counter:
        if message == Add(13):
            raise ValueError("unlucky")
        return attrs.evolve(model, count=model.count + 1)

    host = MemoryHost(Counter(), picky)
    with pytest.raises(ValueError, match="unlucky"):
        host.dispatch(Add(13))
    host.dispatch(Add(1))

    assert (host.model().count, host.messages) == (1, (Add(1),))


async def test_an_update_that_gives_no_model_changes_nothing_and_says_why() -> None:
    def forgetful(answer: Any) -> Any:
        return lambda model, message: answer

    one = command(partial(allow, 1), failed=lambda _: Refused())
    for answer, why in (
        (None, "update gave None, and no model"),
        ((None, ()), "update gave None, and no model"),
        ((Counter(), None), r"the next model, or \(model, \[commands\]\)"),
        ((Counter(), one), r"the next model, or \(model, \[commands\]\)"),
        ((Counter(), [Add(1)]), r"the next model, or \(model, \[commands\]\)"),
        ((Counter(), one, one), r"the next model, or \(model, \[commands\]\)"),
    ):
        first = Counter(7)
        host: MemoryHost[Counter, Event] = MemoryHost(first, forgetful(answer))
        heard = list[object]()
        host.observe(heard.append)
        with pytest.raises(TypeError, match=why):
            host.dispatch(Add(1))
        assert (host.model(), host.messages, heard) == (first, (), [])


@pytest.mark.parametrize("error", [RuntimeError(), asyncio.CancelledError()])
async def test_a_listener_that_raises_keeps_nobody_from_hearing(error: BaseException) -> None:
    host, heard = MemoryHost(Counter(), update), list[str]()

    def raises() -> None:
        raise error

    host.subscribe(raises)
    host.subscribe(lambda: heard.append("changed"))
    host.dispatch(Add(0))
    assert heard == ["changed"]
    host.dispatch(AddNothing := SetTicking(False))
    assert AddNothing in host.messages


async def test_changes_are_told_only_when_the_model_is_another_one() -> None:
    host, heard = MemoryHost(Counter(), lambda model, message: model), list[str]()
    host.subscribe(lambda: heard.append("changed"))
    host.dispatch(Tick())

    assert heard == []


async def test_subscriptions_follow_the_model() -> None:
    sends: list[Callable[[Event], None]] = []
    ended: list[str] = []

    async def ticks(send: Callable[[Event], None]) -> None:
        sends.append(send)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("ended")

    def wanted(model: Counter) -> dict[str, Callable[[Callable[[Event], None]], Awaitable[None]]]:
        return {"ticks": ticks} if model.ticking else {}

    async with MemoryHost(Counter(), update, subscriptions=wanted) as host:
        host.dispatch(SetTicking(True))
        await anyio.wait_all_tasks_blocked()
        sends[0](Tick())
        host.dispatch(SetTicking(False))
        sends[0](Tick())
        await anyio.wait_all_tasks_blocked()
        assert (host.model().count, ended) == (1, ["ended"])
        host.dispatch(SetTicking(True))
        await anyio.wait_all_tasks_blocked()
        assert len(sends) == 2
    assert ended == ["ended", "ended"]


async def test_a_host_that_has_forgotten_messages_cannot_replay() -> None:
    host = MemoryHost(Counter(), update, log=1)
    host.dispatch(Add(1))
    host.dispatch(Add(2))

    assert host.messages == (Add(2),)
    with pytest.raises(RuntimeError, match="does not remember"):
        host.replayed()


class Account:
    """An application without messages."""

    def __init__(self) -> None:
        self.balance = 0

    def pay_in(self, amount: int) -> None:
        self.balance += amount

    async def pay_out(self, amount: int) -> Result[PaidOut, Overdrawn]:
        await anyio.lowlevel.checkpoint()
        if amount > self.balance:
            return Failure(Overdrawn(amount))
        self.balance -= amount
        return Success(PaidOut(amount))


@attrs.frozen
class Balance:
    cents: int


@attrs.frozen
class PayIn:
    cents: int


@attrs.frozen
class PayOut:
    cents: int


@attrs.frozen
class PaidOut:
    cents: int


@attrs.frozen
class Overdrawn:
    cents: int


async def test_a_plain_object_is_served_by_its_methods() -> None:
    account = Account()
    host = (
        PlainHost.of(lambda: Balance(account.balance))
        .on(PayIn, lambda message: account.pay_in(message.cents))
        .on(PayOut, lambda message: account.pay_out(message.cents))
    )
    bank = (
        Contract.of(Balance, messages=PayIn | PayOut | PaidOut | Overdrawn)
        .variant(PayIn, "Pay in")
        .variant(PayOut, "Pay out", completion=completes(PaidOut, failure=Overdrawn))
    )
    bound, changes = bank.bind(host), list[str]()
    bound.subscribe(lambda: changes.append("changed"))

    assert (await bound.dispatch(PayIn(5))).unwrap().tag == "PayIn"
    assert (await bound.dispatch(PayOut(3))).unwrap().completion == Settled("completed", PaidOut(3))
    assert (await bound.dispatch(PayOut(3))).unwrap().completion == Settled("failed", Overdrawn(3))
    assert host.model() == Balance(2)
    assert changes == ["changed"] * 3
    host.happened(PaidOut(1))
    host.changed()
    assert changes == ["changed"] * 5
    assert host.listeners == 1


async def test_a_method_that_fails_with_no_message_has_not_done_what_was_asked() -> None:
    host = PlainHost.of(lambda: Balance(0)).on(PayIn, lambda _: Failure("the account is closed"))
    bound = Contract.of(Balance, messages=PayIn).variant(PayIn, "Pay in").bind(host)
    with pytest.raises(AgentDefect) as caught:
        await bound.dispatch(PayIn(5))
    assert "closed" in str(caught.value.__cause__)


def test_a_message_without_a_method_is_found_when_the_contract_is_bound() -> None:
    host: Any = PlainHost.of(lambda: Balance(0)).on(PayIn, lambda _: None)
    contract = Contract.of(Balance, messages=PayIn | PayOut).variant(PayIn, "Pay in").variant(PayOut, "Pay out")
    with pytest.raises(ConstructionError) as caught:
        contract.bind(host)
    (problem,) = caught.value.problems
    assert problem.lines == ('This host has no function for "PayOut", which "pay_out" sends.',)
    assert problem.write == ".on(PayOut, …)"
