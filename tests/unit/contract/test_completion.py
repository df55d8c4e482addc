"""Cases 44 to 65: aborting, waiting, the one deadline, and listeners that are gone on every exit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from lamina.call import Invocation, Signal
from lamina.contract import (
    AgentCancelledError,
    AgentCompletionTimeoutError,
    AgentDefect,
    At,
    Attempt,
    Contract,
    Settled,
    audit_log,
    completes,
    pick,
    struct,
    when,
)
from lamina.effect import ConstructionError
from lamina.testing import VirtualClock
from tests.unit.contract.scene import (
    ById,
    Clear,
    Delete,
    Deleted,
    FailedDelete,
    Host,
    HostOf,
    Message,
    Model,
    Rename,
    User,
)

base = Contract.of(Model, messages=Message)
deleting = base.variant(
    Delete,
    "d",
    completion=completes(
        Deleted, failure=FailedDelete, correlate=lambda request, result, call: request.id == result.id, timeout=10
    ),
)
name_of_model = struct(Model, str, lambda m: m.name, observes=("name",))
renaming = base.variant(
    Rename,
    "r",
    completion=when(projection=name_of_model, predicate=lambda value, request: value == request.name, timeout=10),
)


def call(signal: Signal | None = None, name: str = "call-1") -> Invocation:
    return Invocation(id=name, transport="test", signal=signal)


async def spinning(until: Callable[[], bool]) -> None:
    for _ in range(200):
        if until():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to that")


async def test_case_44_aborted_before_reads_no_model() -> None:
    host, signal = Host(), Signal()
    signal.abort()
    answered = await deleting.bind(host).dispatch(Delete("a"), call(signal))
    error = answered.failure()

    assert error == AgentCancelledError("delete", "none")
    assert str(error) == 'Invocation of "delete" was cancelled before it was dispatched'
    assert isinstance(error, AgentCancelledError)
    assert not error.dispatched
    assert host.calls == []


@pytest.mark.parametrize("stuck", [True, False])
async def test_case_45_aborted_while_authorize_is_pending(stuck: bool) -> None:
    host, signal = Host(), Signal()

    async def authorize(attempt: Attempt[Delete, Model, None]) -> bool:
        signal.abort()
        if stuck:
            await anyio.sleep_forever()
        return True

    answered = await base.variant(Delete, "d", authorize=authorize).bind(host).dispatch(Delete("a"), call(signal))

    assert answered.failure() == AgentCancelledError("delete", "none")
    assert host.sent == []
    assert signal.listeners == 0


async def test_aborted_while_the_principal_is_pending() -> None:
    signal = Signal()

    async def who(invocation: Invocation) -> User:
        signal.abort()
        await anyio.sleep_forever()
        raise AssertionError

    bound = Contract.of(Model, messages=Message, principal=User).variant(Delete, "d").bind(HostOf(who))

    assert (await bound.dispatch(Delete("a"), call(signal))).failure() == AgentCancelledError("delete", "none")


@pytest.mark.parametrize("contract", [deleting, base.variant(Delete, "d")])
async def test_case_46_aborted_while_the_host_is_stuck(contract: Any) -> None:
    async def stuck(message: object) -> None:
        await anyio.sleep_forever()

    host, signal, audit = Host(on_dispatch=stuck), Signal(), audit_log()
    bound = contract.bind(host, audit=audit)
    task = asyncio.create_task(bound.dispatch(Delete("a"), call(signal)))
    await spinning(lambda: bool(host.sent))
    signal.abort()
    error = (await task).failure()

    assert error == AgentCancelledError("delete", "attempted")
    assert not error.dispatched
    assert str(error) == (
        'Invocation of "delete" was cancelled while the host was still dispatching it. '
        "Whether the Message reached update is unknown."
    )
    assert host.listeners == signal.listeners == 0
    assert [(one.decision, one.outcome) for one in audit.entries] == [("unknown", "AgentCancelledError")]


async def test_case_47_aborted_while_waiting_the_message_stands() -> None:
    host, signal, audit = Host(), Signal(), audit_log()
    task = asyncio.create_task(deleting.bind(host, audit=audit).dispatch(Delete("a"), call(signal)))
    await spinning(lambda: bool(host.sent))
    signal.abort()
    error = (await task).failure()

    assert isinstance(error, AgentCancelledError)
    assert error.dispatched
    assert str(error) == (
        '"delete" was dispatched, and waiting for it to complete was cancelled. The Message still reached update.'
    )
    assert host.listeners == 0
    assert [(one.decision, one.outcome) for one in audit.entries] == [("dispatched", "AgentCancelledError")]


async def test_case_48_the_abort_listener_is_gone_after_a_success() -> None:
    signal = Signal()
    host = Host(on_dispatch=lambda message: host.happen(Deleted("a")))

    assert (await deleting.bind(host).dispatch(Delete("a"), call(signal))).unwrap().completion is not None
    assert signal.listeners == 0


async def test_case_49_a_result_within_dispatch_is_caught() -> None:
    host = Host(on_dispatch=lambda message: host.happen(Deleted("a")))
    sent = (await deleting.bind(host).dispatch(Delete("a"))).unwrap()

    assert sent.completion == Settled("completed", Deleted("a"))


async def test_case_50_of_two_results_the_first_counts() -> None:
    def both(message: object) -> None:
        host.happen(FailedDelete("a", "first"))
        host.happen(Deleted("a"))

    host = Host(on_dispatch=both)

    assert (await deleting.bind(host).dispatch(Delete("a"))).unwrap().completion == Settled(
        "failed", FailedDelete("a", "first")
    )


async def test_case_51_a_late_result_is_ignored() -> None:
    host = Host(on_dispatch=lambda message: host.happen(Deleted("a", "first")))
    sent = (await deleting.bind(host).dispatch(Delete("a"))).unwrap()
    host.happen(Deleted("a", "late"))

    assert sent.completion == Settled("completed", Deleted("a", "first"))


async def test_case_52_a_refused_call_never_subscribes() -> None:
    host = Host()
    contract = base.variant(Delete, "d", completion=completes(Deleted), authorize=lambda attempt: False)
    await contract.bind(host).dispatch(Delete("a"))

    assert host.attached == 0


class Deaf:
    def model(self) -> Model:
        return Model(name="x")

    def dispatch(self, message: object, /) -> None: ...


class Seeing(Deaf):
    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        return lambda: None


class Elsewhere:
    def __init__(self, value: str) -> None:
        self.value = value
        self.listeners: list[Callable[[], None]] = []

    def get(self) -> str:
        return self.value

    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def become(self, value: str) -> None:
        self.value = value
        for listener in list(self.listeners):
            listener()


def test_case_53_bind_refuses_a_host_that_cannot_observe_and_names_all() -> None:
    contract = deleting.variant(Clear, "c", name="b", completion=completes(Deleted))
    with pytest.raises(ConstructionError) as caught:
        contract.bind(Deaf())

    assert (
        'This host cannot observe Messages, which "delete", "b" needs to report completion. Supply host.observe.'
        in str(caught.value)
    )


async def test_case_54_a_state_completion_does_not_need_observe() -> None:
    assert (await renaming.bind(Seeing()).dispatch(Rename("x"))).unwrap().completion == Settled("completed")


async def test_case_55_a_source_needs_neither() -> None:
    source = Elsewhere("x")
    contract = base.variant(
        Rename, "r", completion=when(source=source, predicate=lambda value, request: value == request.name)
    )

    assert (await contract.bind(Deaf()).dispatch(Rename("x"))).unwrap().completion == Settled("completed")
    assert source.listeners == []


async def test_case_56_a_state_that_holds_completes_at_once() -> None:
    host = Host(Model(name="x"))

    assert (await renaming.bind(host).dispatch(Rename("x"))).unwrap().completion == Settled("completed")
    assert host.sent == [Rename("x")]
    assert host.listeners == 0


async def test_case_57_a_state_that_held_while_dispatching_counts() -> None:
    def there_and_back(message: object) -> None:
        host.become(Model(name="x"))
        host.become(Model(name=""))

    host = Host(on_dispatch=there_and_back)

    assert (await renaming.bind(host).dispatch(Rename("x"))).unwrap().completion == Settled("completed")


@pytest.mark.parametrize("projection", [name_of_model, pick("name")])
async def test_case_58_an_identical_value_is_not_looked_at_again(projection: Any) -> None:
    looked: list[object] = []

    def predicate(value: object, request: Rename) -> bool:
        looked.append(value)
        return len(looked) == 3

    name = "same"
    host = Host(Model(name=name))
    contract = base.variant(Rename, "r", completion=when(projection=projection, predicate=predicate))
    task = asyncio.create_task(contract.bind(host).dispatch(Rename("x")))
    await spinning(lambda: bool(looked))
    host.become(Model(name=name, selected="A"))
    host.become(Model(name=name, selected="B"))
    assert len(looked) == 1
    host.become(Model(name="other"))
    host.become(Model(name="third"))

    assert (await task).unwrap().completion == Settled("completed")
    assert len(looked) == 3


async def test_case_58_a_source_is_looked_at_each_time() -> None:
    looked: list[object] = []
    source = Elsewhere("same")

    def predicate(value: object, request: Rename) -> bool:
        looked.append(value)
        return len(looked) == 3

    contract = base.variant(Rename, "r", completion=when(source=source, predicate=predicate))
    task = asyncio.create_task(contract.bind(Deaf()).dispatch(Rename("x")))
    await spinning(lambda: bool(looked))
    source.become("same")
    source.become("same")

    assert (await task).unwrap().completion == Settled("completed")


async def test_case_59_a_predicate_that_breaks_harms_its_own_invocation_only() -> None:
    def predicate(value: str, request: Rename) -> bool:
        if request.name == "bad" and value:
            raise RuntimeError("broken")
        return value == request.name

    host = Host()
    bound = base.variant(Rename, "r", completion=when(projection=name_of_model, predicate=predicate)).bind(host)
    bad = asyncio.create_task(bound.dispatch(Rename("bad")))
    good = asyncio.create_task(bound.dispatch(Rename("good")))
    await spinning(lambda: len(host.sent) == 2)
    host.become(Model(name="good"))

    assert (await good).unwrap().completion == Settled("completed")
    with pytest.raises(AgentDefect) as caught:
        await bad
    assert str(caught.value.__cause__) == "broken"
    assert host.listeners == 0


async def test_case_59_a_predicate_that_is_cancelled_by_itself_harms_its_own_invocation_only() -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    host = Host()
    bound = base.variant(
        Rename, "r", completion=when(projection=name_of_model, predicate=lambda value, _: bool(value and gone.result()))
    ).bind(host)
    bad = asyncio.create_task(bound.dispatch(Rename("bad")))
    await spinning(lambda: len(host.sent) == 1)
    host.become(Model(name="good"))  # and whoever changes the model hears nothing of it

    with pytest.raises(AgentDefect):
        await asyncio.wait_for(bad, 5)
    assert host.listeners == 0


class Tireless(Host):
    """Whose stop stops nothing."""

    def observe(self, listener: Callable[[Any], None], /) -> Callable[[], None]:
        super().observe(listener)
        return lambda: None

    def subscribe(self, listener: Callable[[], None], /) -> Callable[[], None]:
        super().subscribe(listener)
        return lambda: None


async def test_nothing_is_asked_after_the_end_though_the_host_goes_on_telling() -> None:
    clock, asked = VirtualClock(), list[str]()

    def says(of: str) -> bool:
        asked.append(of)
        return False

    completions: tuple[Any, ...] = (
        when(projection=name_of_model, predicate=lambda value, _: says("predicate"), timeout=1),
        completes(Deleted, correlate=lambda *_: says("correlate"), timeout=1),
    )
    for completion in completions:
        host = Tireless()
        bound = base.variant(Rename, "r", completion=completion).bind(host, clock=clock)
        waiting = asyncio.create_task(bound.dispatch(Rename("x")))
        await spinning(lambda: len(host.sent) == 1)
        await clock.advance(2)
        assert isinstance((await waiting).failure(), AgentCompletionTimeoutError)
        asked.clear()
        host.become(Model(name="later"))
        host.happen(Deleted("later"))
        assert asked == []


async def test_a_correlate_that_breaks_harms_its_own_invocation_only() -> None:
    def correlate(request: Delete, result: Deleted, invocation: Invocation) -> bool:
        if request.id == "bad":
            raise RuntimeError("broken")
        return True

    host = Host()
    bound = base.variant(Delete, "d", completion=completes(Deleted, correlate=correlate)).bind(host)
    bad = asyncio.create_task(bound.dispatch(Delete("bad")))
    good = asyncio.create_task(bound.dispatch(Delete("good")))
    await spinning(lambda: len(host.sent) == 2)
    host.happen(Deleted("good"))

    assert (await good).unwrap().completion == Settled("completed", Deleted("good"))
    with pytest.raises(AgentDefect):
        await bad
    assert host.listeners == 0


async def test_case_60_the_deadline_covers_the_host() -> None:
    async def stuck(message: object) -> None:
        await anyio.sleep_forever()

    clock, audit, host = VirtualClock(), audit_log(), Host(on_dispatch=stuck)
    task = asyncio.create_task(deleting.bind(host, clock=clock, audit=audit).dispatch(Delete("a"), call()))
    await clock.advance(9.9)
    assert not task.done()
    await clock.advance(0.1)
    error = (await task).failure()

    assert error == AgentCompletionTimeoutError("delete", "call-1", 10, "attempted")
    assert str(error) == (
        'The host was still dispatching "delete" after 10s. Whether the Message reached update is unknown.'
    )
    assert [(one.decision, one.outcome) for one in audit.entries] == [("unknown", "timeout")]
    assert (host.listeners, clock.pending) == (0, 0)


async def test_the_deadline_bounds_the_send_and_the_wait_together() -> None:
    clock, audit = VirtualClock(), audit_log()

    async def slow(message: object) -> None:
        await clock.sleep(6)

    host = Host(on_dispatch=slow)
    task = asyncio.create_task(deleting.bind(host, clock=clock, audit=audit).dispatch(Delete("a"), call()))
    await clock.advance(9.9)
    assert not task.done()
    await clock.advance(0.1)
    error = (await task).failure()

    assert error == AgentCompletionTimeoutError("delete", "call-1", 10, "sent")
    assert str(error) == '"delete" was dispatched but did not complete within 10s. The Message still reached update.'
    assert [(one.decision, one.outcome) for one in audit.entries] == [("dispatched", "timeout")]
    assert (host.listeners, clock.pending) == (0, 0)


async def test_case_61_without_a_completion_there_is_no_deadline() -> None:
    clock = VirtualClock()

    async def slow(message: object) -> None:
        await clock.sleep(10_000)

    task = asyncio.create_task(
        base.variant(Delete, "d").bind(Host(on_dispatch=slow), clock=clock).dispatch(Delete("a"))
    )
    await clock.advance(9_999)
    assert not task.done()
    await clock.advance(1)

    assert (await task).unwrap().completion is None


async def test_case_62_results_in_reverse_order_go_to_the_right_callers() -> None:
    host = Host()
    bound = deleting.bind(host)
    tasks = [asyncio.create_task(bound.dispatch(Delete(one))) for one in "ab"]
    await spinning(lambda: len(host.sent) == 2)
    host.happen(Deleted("b"))
    host.happen(Deleted("a"))

    assert [(await task).unwrap().completion for task in tasks] == [
        Settled("completed", Deleted("a")),
        Settled("completed", Deleted("b")),
    ]


async def test_case_63_the_same_input_twice_is_told_apart_by_the_invocation_alone() -> None:
    def make(given: ById, at: At[Model, None]) -> Delete:
        return Delete(given.id, at.invocation.id)

    host = Host()
    bound = base.variant(
        Delete,
        "d",
        input=ById,
        to_message=make,
        completion=completes(Deleted, correlate=lambda request, result, invocation: result.request_id == invocation.id),
    ).bind(host)
    tasks = [asyncio.create_task(bound.dispatch(ById("milk"), call(name=one))) for one in ("one", "two")]
    await spinning(lambda: len(host.sent) == 2)
    host.happen(Deleted("milk", "two"))
    await asyncio.sleep(0)
    await spinning(tasks[1].done)
    assert not tasks[0].done()
    host.happen(Deleted("milk", "one"))

    assert [(await task).unwrap().completion for task in tasks] == [
        Settled("completed", Deleted("milk", "one")),
        Settled("completed", Deleted("milk", "two")),
    ]


async def raises(message: object) -> None:
    raise RuntimeError("rejected")


def throws(message: object) -> None:
    raise RuntimeError("thrown")


@pytest.mark.parametrize("contract", [deleting, renaming])
@pytest.mark.parametrize("way_out", ["throw", "reject", "timeout", "abort", "interrupt", "stuck and interrupted"])
async def test_case_64_no_listener_is_left_on_any_exit(contract: Any, way_out: str) -> None:
    async def stuck(message: object) -> None:
        await anyio.sleep_forever()

    does = {"throw": throws, "reject": raises, "stuck and interrupted": stuck}.get(way_out)
    clock, signal, host = VirtualClock(), Signal(), Host(on_dispatch=does)
    given = Delete("a") if contract is deleting else Rename("a")
    task = asyncio.create_task(contract.bind(host, clock=clock).dispatch(given, call(signal)))
    await spinning(lambda: bool(host.sent))
    if way_out == "timeout":
        await clock.advance(10)
    elif way_out == "abort":
        signal.abort()
    elif "interrupt" in way_out:
        task.cancel()
    await asyncio.wait([task])

    assert (host.listeners, signal.listeners, clock.pending) == (0, 0, 0)
    assert host.attached == 1


async def test_case_65_a_failure_message_is_a_result_and_no_error() -> None:
    host = Host(on_dispatch=lambda message: host.happen(FailedDelete("a", "gone")))
    sent = (await deleting.bind(host).dispatch(Delete("a"))).unwrap()

    assert sent.completion == Settled("failed", FailedDelete("a", "gone"))


async def test_a_completion_waits_thirty_seconds_by_default() -> None:
    clock = VirtualClock()
    task = asyncio.create_task(
        base.variant(Delete, "d", completion=completes(Deleted)).bind(Host(), clock=clock).dispatch(Delete("a"))
    )
    await clock.advance(29.9)
    assert not task.done()
    await clock.advance(0.1)

    assert "within 30s" in str((await task).failure())


async def test_cancelling_the_task_is_no_answer_but_a_cancellation() -> None:
    host = Host()
    task = asyncio.create_task(deleting.bind(host).dispatch(Delete("a")))
    await spinning(lambda: bool(host.sent))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_completion_says_what_it_looks_at_and_for_how_long() -> None:
    loose: Any = when
    with pytest.raises(ConstructionError, match="a projection or at a source"):
        loose(predicate=lambda value, request: True)
    for timeout in (0, -1, float("inf"), float("nan"), True):
        with pytest.raises(ConstructionError, match="a positive, finite number"):
            completes(Deleted, timeout=timeout)
