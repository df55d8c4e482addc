from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any, Never

import anyio
import attrs
import pytest
from anyio.lowlevel import checkpoint
from returns.result import Failure, Result, Success

from lamina.effect import (
    AcquisitionFailed,
    Clock,
    ConstructionError,
    Declaration,
    Environment,
    Layer,
    Need,
    Program,
    Requirement,
    Where,
    attempt,
    bind,
    handler,
    layer,
    plan,
    scoped,
    tagged,
)
from lamina.testing._clock import VirtualClock
from tests.unit.effect.ledger import Ledger, resource


class A: ...


class B: ...


class C: ...


class D: ...


class SpareB(B): ...


class UsesA:
    def __init__(self, a: A) -> None:
        self.a = a


class AlsoUsesA:
    def __init__(self, a: A) -> None:
        self.a = a


@tagged("{host} refused.")
class Refused:
    host: str


async def opened(app: Layer[Any, Any, Any], *programs: Program[Any], **options: Any) -> Environment:
    environment = Environment(plan(app, programs, options.pop("seeds", None)), **options)
    assert await environment.open() == Success(None)
    return environment


@attrs.frozen(eq=False)
class Plain(Program[Any]):
    """A program with these needs, and a layer of its own."""

    needs: tuple[object, ...] = ()
    private: Layer[Any, Any, Any] | None = None

    def declare(self) -> Declaration:
        where = Where("app.py", 1)
        return Declaration(
            "plain", where, tuple(Requirement(key, "plain", where) for key in self.needs), (), self.private
        )


# --- acquiring and releasing ----------------------------------------------------------------------------------------


async def test_releases_in_reverse_order_of_needs() -> None:
    ledger = Ledger()
    environment = await opened(resource(ledger, C, B) | resource(ledger, A) | resource(ledger, B, A))
    assert ledger.acquired == ["A", "B", "C"]
    await environment.close()
    assert ledger.released == ["C", "B", "A"]


async def test_a_resource_outlives_what_plain_services_made_of_it_are_used_by() -> None:
    ledger = Ledger()
    environment = await opened(resource(ledger, B, UsesA) | layer(UsesA) | resource(ledger, A))
    await environment.close()
    assert ledger.released == ["B", "A"]


async def test_acquires_and_releases_in_parallel() -> None:
    meeting = {"up": [anyio.Event(), anyio.Event()], "down": [anyio.Event(), anyio.Event()]}

    def meets(key: type, at: int) -> Layer[Any, Any, Any]:
        async def make() -> AsyncIterator[Any]:
            meeting["up"][at].set()
            await meeting["up"][1 - at].wait()
            yield key()
            meeting["down"][at].set()
            await meeting["down"][1 - at].wait()

        return bind(key).to(make)

    with anyio.fail_after(5):
        environment = await opened(meets(A, 0) | meets(B, 1))
        await environment.close()


async def test_each_service_is_made_once_and_shared() -> None:
    environment = await opened(layer(UsesA) | layer(AlsoUsesA) | layer(A), program := Plain((UsesA, AlsoUsesA, A)))
    scope = await environment.admit(program)
    first, second = scope.value(UsesA), scope.value(AlsoUsesA)
    assert isinstance(first, UsesA)
    assert isinstance(second, AlsoUsesA)
    assert first.a is second.a is scope.value(A)
    await environment.close()


async def test_opened_in_one_task_and_closed_in_another() -> None:
    ledger = Ledger()
    environment = Environment(plan(resource(ledger, B, A, holds_group=True) | resource(ledger, A, holds_group=True)))
    async with anyio.create_task_group() as group:
        group.start_soon(environment.open)
    assert ledger.acquired == ["A", "B"]
    async with anyio.create_task_group() as group:
        group.start_soon(environment.close)
    assert ledger.released == ["B", "A"]


async def test_close_may_be_called_again_and_at_once() -> None:
    ledger = Ledger()
    environment = await opened(resource(ledger, A))
    async with anyio.create_task_group() as group:
        group.start_soon(environment.close)
        group.start_soon(environment.close)
    await environment.close()
    assert ledger.released == ["A"]


async def test_an_environment_that_was_never_opened_can_be_closed() -> None:
    environment = Environment(plan(layer(A)))
    await environment.close()
    with pytest.raises(RuntimeError, match="opened once"):
        await environment.open()


async def test_a_plan_with_problems_is_refused() -> None:
    with pytest.raises(ConstructionError, match="MISSING A"):
        Environment(plan(layer(UsesA)))


# --- what goes wrong while opening ----------------------------------------------------------------------------------


async def test_a_defect_comes_out_as_it_is_and_what_was_up_is_released() -> None:
    ledger = Ledger()

    async def breaks(a: A) -> B:
        raise ValueError("broken")

    environment = Environment(plan(layer(breaks) | resource(ledger, A)))
    with pytest.raises(ValueError, match="broken"):
        await environment.open()
    assert ledger.released == ["A"]


async def test_several_defects_come_out_as_a_group() -> None:
    def first() -> A:
        raise ValueError("one")

    def second() -> B:
        raise KeyError("two")

    environment = Environment(plan(layer(first) | layer(second)))
    with pytest.raises(ExceptionGroup) as caught:
        await environment.open()
    assert {type(error) for error in caught.value.exceptions} == {ValueError, KeyError}


async def test_a_defect_cancels_what_is_still_coming_up() -> None:
    seen: list[str] = []

    async def hangs() -> A:
        try:
            await anyio.sleep_forever()
        finally:
            seen.append("cancelled")
        raise AssertionError

    async def breaks() -> B:
        await checkpoint()
        raise ValueError

    with anyio.fail_after(5), pytest.raises(ValueError):
        await Environment(plan(layer(hangs) | layer(breaks))).open()
    assert seen == ["cancelled"]


async def test_a_declared_failure_comes_back_as_a_value_after_the_release() -> None:
    ledger = Ledger()

    @attempt
    async def connect(a: A) -> Result[B, Refused]:
        return Failure(Refused("db"))

    environment = Environment(plan(connect | resource(ledger, A) | resource(ledger, C, B)))
    assert await environment.open() == Failure(Refused("db"))
    assert ledger.acquired == ledger.released == ["A"]
    with pytest.raises(RuntimeError, match="opening failed"):
        await environment.admit(Plain())


def failing_file(ledger: Ledger, failures: int) -> Layer[Never, A, Refused]:
    """A resource that answers so many failures before it comes up, and keeps the ledger."""

    @attempt
    async def opens() -> AsyncIterator[Result[A, Refused]]:
        ledger.acquired.append("A")
        try:
            await checkpoint()
            yield Failure(Refused("db")) if len(ledger.acquired) <= failures else Success(A())
        except BaseException as error:
            ledger.thrown.append(type(error).__name__)
            raise
        finally:
            await checkpoint()
            ledger.released.append("A")

    return opens


async def test_a_resource_that_yields_a_result_is_held_until_the_end() -> None:
    ledger = Ledger()
    environment = await opened(failing_file(ledger, 0) | resource(ledger, B, A))
    assert (ledger.acquired, ledger.released) == (["A", "B"], [])
    await environment.close()
    assert (ledger.released, ledger.thrown) == (["B", "A"], [])


async def test_a_resource_that_yields_a_failure_goes_on_at_once() -> None:
    ledger = Ledger()
    environment = Environment(plan(failing_file(ledger, 1)))
    assert await environment.open() == Failure(Refused("db"))
    assert (ledger.acquired, ledger.released, ledger.thrown) == (["A"], ["A"], [])


async def test_a_resource_that_yields_failures_is_tried_again_and_left_each_time() -> None:
    ledger, clock = Ledger(), VirtualClock()
    environment = Environment(plan(failing_file(ledger, 2).retry(2, delay=1.0) | bind(Clock).value(clock)))
    async with anyio.create_task_group() as group:
        group.start_soon(environment.open)
        for _ in range(4):
            await clock.advance(1.0)
    assert (ledger.acquired, ledger.released) == (["A"] * 3, ["A"] * 2)
    await environment.close()
    ledger.assert_balanced()


async def test_a_resource_that_yields_a_failure_and_breaks_is_a_defect() -> None:
    @attempt
    async def breaks() -> AsyncIterator[Result[A, Refused]]:
        yield Failure(Refused("db"))
        raise ValueError("the release broke")

    with pytest.raises(ValueError, match="the release broke"):
        await Environment(plan(breaks)).open()


async def test_the_fallback_of_a_resource_that_yields_a_failure_is_taken() -> None:
    ledger = Ledger()
    environment = await opened(failing_file(ledger, 1).catch(resource(ledger, A)))
    assert (ledger.acquired, ledger.released) == (["A", "A"], ["A"])
    await environment.close()
    ledger.assert_balanced()


async def test_a_resource_that_yields_a_result_is_left_when_another_layer_fails() -> None:
    ledger = Ledger()

    @attempt
    async def refuses(a: A) -> Result[B, Refused]:
        return Failure(Refused("db"))

    assert await Environment(plan(failing_file(ledger, 0) | refuses)).open() == Failure(Refused("db"))
    assert (ledger.acquired, ledger.released) == (["A"], ["A"])


async def test_a_cancelled_open_lets_nothing_in() -> None:
    @layer
    async def hangs() -> A:
        await anyio.sleep_forever()
        raise AssertionError

    environment = Environment(plan(hangs))
    with anyio.move_on_after(0):
        await environment.open()
    with pytest.raises(RuntimeError, match="opening was cancelled"):
        await environment.admit(Plain())


# --- retry and catch ------------------------------------------------------------------------------------------------


def refusing(times: int, tries: list[int]) -> Layer[Never, A, Refused]:
    @attempt
    async def connect() -> Result[A, Refused]:
        tries.append(len(tries))
        return Failure(Refused("db")) if len(tries) <= times else Success(A())

    return connect


async def test_retry_waits_by_the_clock_and_stops_at_success() -> None:
    clock, tries = VirtualClock(), list[int]()
    app = refusing(2, tries).retry(3, delay=1.0, backoff=10.0) | bind(Clock).value(clock)
    environment = Environment(plan(app))
    seen: list[tuple[float, int]] = []
    async with anyio.create_task_group() as group:
        group.start_soon(environment.open)
        for wait in (0.0, 0.5, 0.5, 9.0, 1.0):
            await clock.advance(wait)
            seen.append((clock.monotonic(), len(tries)))
    assert seen == [(0, 1), (0.5, 1), (1, 2), (10, 2), (11, 3)]
    await environment.close()


async def test_retry_gives_the_last_failure() -> None:
    clock, tries = VirtualClock(), list[int]()
    environment = Environment(plan(refusing(9, tries).retry(2, delay=0.0) | bind(Clock).value(clock)))
    assert await environment.open() == Failure(Refused("db"))
    assert len(tries) == 3


async def test_retry_does_not_repeat_a_defect() -> None:
    tries: list[int] = []

    @attempt
    async def connect() -> Result[A, Refused]:
        tries.append(1)
        raise ValueError

    with pytest.raises(ValueError):
        await Environment(plan(connect.retry(3) | bind(Clock).value(VirtualClock()))).open()
    assert tries == [1]


def test_retry_needs_an_attempt_and_sane_numbers() -> None:
    with pytest.raises(ConstructionError, match="no attempt to retry"):
        layer(A).retry(1)
    with pytest.raises(ConstructionError, match="at least 1"):
        refusing(0, []).retry(0)
    with pytest.raises(ConstructionError, match="negative"):
        refusing(0, []).retry(1, delay=-1)


async def test_catch_takes_the_fallback_only_after_a_failure() -> None:
    made: list[str] = []

    def spare() -> A:
        made.append("spare")
        return A()

    for failures, expected in ((0, []), (1, ["spare"])):
        made.clear()
        told: list[Refused] = []
        caught = refusing(failures, []).catch(layer(spare), on_failure=told.append)
        environment = await opened(caught | layer(UsesA), program := Plain((A, UsesA)))
        scope = await environment.admit(program)
        used = scope.value(UsesA)
        assert isinstance(used, UsesA)
        assert used.a is scope.value(A)
        assert made == expected
        assert told == [Refused("db")] * failures
        await environment.close()


async def test_catch_replaces_the_whole_layer() -> None:
    def spare_b() -> B:
        return SpareB()

    ledger = Ledger()
    failing = (refusing(1, []) | resource(ledger, B)).catch(layer(A) | layer(spare_b))
    environment = await opened(failing, program := Plain((A, B)))
    scope = await environment.admit(program)
    assert isinstance(scope.value(B), SpareB)
    await environment.close()
    ledger.assert_balanced()


async def test_catch_reaches_what_provide_hides_and_fails_with_its_fallback() -> None:
    uses = layer(UsesA).provide(refusing(1, []))
    again = layer(UsesA).provide(refusing(1, []))
    environment = Environment(plan(uses.catch(again)))
    assert await environment.open() == Failure(Refused("db"))


async def test_catch_does_not_catch_a_defect() -> None:
    @attempt
    async def connect() -> Result[A, Refused]:
        raise ValueError

    with pytest.raises(ValueError):
        await Environment(plan(connect.catch(layer(A)))).open()


async def test_catches_nest_and_a_leaf_that_failed_is_not_tried_again_for_the_fallback() -> None:
    environment = await opened(refusing(1, []).catch(refusing(1, [])).catch(layer(A)))
    await environment.close()
    tries: list[int] = []
    shared = refusing(9, tries)
    environment = Environment(plan(layer(UsesA).provide(shared).catch(layer(UsesA).provide(shared))))
    assert await environment.open() == Failure(Refused("db"))
    assert tries == [0]


async def test_what_on_failure_raises_is_a_defect() -> None:
    def breaks(error: Refused) -> None:
        raise ValueError(error.host)

    with pytest.raises(ValueError, match="db"):
        await Environment(plan(refusing(1, []).catch(layer(A), on_failure=breaks))).open()


async def test_a_late_program_does_not_try_a_primary_side_again() -> None:
    tries: list[int] = []
    environment = await opened(refusing(9, tries).catch(layer(A)))
    scope = await environment.admit(Plain((A, UsesA), layer(UsesA)))
    assert isinstance(scope.value(UsesA), UsesA)
    assert tries == [0]
    await environment.close()


async def test_a_resource_that_closes_its_own_environment_is_bounded() -> None:
    box: list[Environment] = []

    @scoped
    async def closes() -> AsyncIterator[A]:
        yield A()
        await box[0].close()

    box.append(await opened(closes, close_timeout=0.01))
    with anyio.fail_after(10), pytest.raises(TimeoutError):
        await box[0].close()


async def test_a_request_uses_the_side_that_was_taken() -> None:
    @handler
    async def which(_: int, used: UsesA, b: B) -> bool:
        return isinstance(used.a, D)

    class Spare(D, A): ...

    layers = layer(UsesA, life="request").provide(refusing(1, []))
    spare = layer(UsesA, life="request").provide(bind(A).to(Spare))
    environment = await opened(layers.catch(spare) | layer(B, life="request"), which)
    call = (await environment.admit(which)).compile(which.needs, which.fn)
    assert await call(1) is True
    await environment.close()


# --- what goes wrong later ------------------------------------------------------------------------------------------


async def test_a_resource_that_dies_shuts_the_environment_and_close_raises_it() -> None:
    die = anyio.Event()

    async def background() -> None:
        await die.wait()
        raise ValueError("dead")

    @scoped
    async def fragile() -> AsyncIterator[A]:
        async with anyio.create_task_group() as group:
            group.start_soon(background)
            yield A()

    @handler
    async def use(_: int, a: A) -> int:
        return 1

    ledger = Ledger()
    environment = await opened(fragile | resource(ledger, B), use)
    call = (await environment.admit(use)).compile(use.needs, use.fn)
    assert await call(0) == 1
    die.set()
    await VirtualClock().advance(0)
    with pytest.raises(RuntimeError, match="fragile.* has died") as refused:
        await call(0)
    assert isinstance(refused.value.__cause__, ExceptionGroup)
    with pytest.raises(ExceptionGroup) as caught:
        await environment.close()
    assert caught.value.subgroup(ValueError) is not None
    assert ledger.released == ["B"]


async def test_a_resource_that_dies_while_its_users_are_released_is_left_at_once() -> None:
    closing, left = anyio.Event(), list[str]()

    async def background() -> None:
        await closing.wait()
        raise ValueError("dead")

    @scoped
    async def fragile() -> AsyncIterator[A]:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(background)
                yield A()
        finally:
            left.append("fragile")

    @scoped
    async def user(a: A) -> AsyncIterator[B]:
        yield B()
        closing.set()
        await anyio.wait_all_tasks_blocked()
        left.append("user")

    ledger = Ledger()
    environment = await opened(fragile | user | resource(ledger, C))
    with pytest.raises(ExceptionGroup) as caught:
        await environment.close()
    assert caught.value.subgroup(ValueError) is not None
    assert (left, ledger.released) == (["fragile", "user"], ["C"])


async def test_what_a_release_raises_comes_out_of_close_and_the_others_are_released() -> None:
    ledger = Ledger()

    @scoped
    async def breaks(a: A) -> AsyncIterator[B]:
        yield B()
        raise ValueError("late")

    environment = await opened(breaks | resource(ledger, A))
    with pytest.raises(ValueError, match="late"):
        await environment.close()
    assert ledger.released == ["A"]
    await environment.close()


async def test_a_release_that_takes_too_long_is_cancelled_and_named() -> None:
    ledger = Ledger()

    @scoped
    async def slow(a: A) -> AsyncIterator[B]:
        yield B()
        await anyio.sleep_forever()

    environment = await opened(slow | resource(ledger, A, waits=0), close_timeout=0.01)
    with pytest.raises(TimeoutError, match="layer slow for B"):
        await environment.close()
    assert ledger.released == ["A"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_still_uses_the_services_ends_before_they_are_released(backend: str) -> None:
    async def main() -> list[str]:
        ledger = Ledger()
        environment = await opened(resource(ledger, A))
        seen: list[str] = []

        async def before() -> None:
            await anyio.lowlevel.checkpoint()
            seen.append(f"{len(ledger.released)} released")

        with anyio.CancelScope() as scope:
            scope.cancel()
            await environment.close(before)
        return [*seen, f"{len(ledger.released)} released"]

    assert anyio.run(main, backend=backend) == ["0 released", "1 released"]


async def test_what_will_not_end_before_the_release_is_left_in_time() -> None:
    ledger = Ledger()
    environment = await opened(resource(ledger, A), close_timeout=0.01)
    with anyio.fail_after(30):
        await environment.close(anyio.sleep_forever)
    assert ledger.released == ["A"]


async def test_what_breaks_before_the_release_does_not_keep_anything_up() -> None:
    async def breaks() -> None:
        raise ValueError("late")

    ledger = Ledger()
    environment = await opened(resource(ledger, A))
    with pytest.raises(ValueError, match="late"):
        await environment.close(breaks)
    assert ledger.released == ["A"]


async def test_a_resource_yields_exactly_once() -> None:
    @scoped
    async def never() -> AsyncIterator[A]:
        if False:
            yield A()

    @scoped
    async def twice() -> AsyncIterator[A]:
        yield A()
        yield A()

    with pytest.raises(RuntimeError, match=r"layer never for A ended without a yield.*test_environment\.py"):
        await Environment(plan(never)).open()
    environment = await opened(twice)
    with pytest.raises(RuntimeError, match="layer twice for A yielded again"):
        await environment.close()


# --- programs -------------------------------------------------------------------------------------------------------


async def test_a_program_that_came_late_is_planned_on_what_is_there() -> None:
    environment = await opened(layer(A))
    scope = await environment.admit(program := Plain((A,)))
    assert await environment.admit(program) is scope
    assert scope.offers(A)
    assert not scope.offers(B)
    assert scope.value(B) is None
    with pytest.raises(ConstructionError, match="MISSING B"):
        await environment.admit(Plain((B,)))
    with pytest.raises(ConstructionError, match="MISSING B"):
        scope.compile([Need("b", B)], checkpoint)
    await environment.close()


async def test_private_layers_do_not_meet_and_share_the_app() -> None:
    ledger = Ledger()

    class One(B): ...

    class Two(B): ...

    def private(key: type) -> Layer[Any, Any, Any]:
        return bind(B).to(key) | layer(UsesA)

    programs = [Plain((B, UsesA), private(One)), Plain((B, UsesA), private(Two))]
    environment = await opened(resource(ledger, A), programs[0])
    scopes = [await environment.admit(program) for program in programs]
    assert [type(scope.value(B)) for scope in scopes] == [One, Two]
    made = [scope.value(UsesA) for scope in scopes]
    assert isinstance(made[0], UsesA)
    assert isinstance(made[1], UsesA)
    assert made[0].a is made[1].a
    assert ledger.acquired == ["A"]
    assert not (await environment.admit(Plain((A,)))).offers(B)
    await environment.close()


async def test_one_private_leaf_in_two_programs_is_one_instance() -> None:
    shared = layer(UsesA)
    environment = await opened(layer(A))
    first = await environment.admit(Plain((UsesA,), shared))
    second = await environment.admit(Plain((UsesA,), shared))
    assert first.value(UsesA) is second.value(UsesA)
    await environment.close()


async def test_a_late_private_layer_that_fails_may_be_tried_again() -> None:
    environment = await opened(layer(B))
    program = Plain((A,), refusing(1, []))
    with pytest.raises(AcquisitionFailed) as caught:
        await environment.admit(program)
    assert caught.value.error == Refused("db")
    assert isinstance((await environment.admit(program)).value(A), A)
    await environment.close()


async def test_a_late_private_layer_is_released_with_the_rest() -> None:
    ledger = Ledger()
    environment = await opened(resource(ledger, A))
    await environment.admit(Plain((B,), resource(ledger, B, A)))
    await environment.close()
    assert ledger.released == ["B", "A"]


async def test_two_who_admit_at_once_get_one_instance() -> None:
    ledger = Ledger()
    environment = await opened(layer(D))
    shared = resource(ledger, A)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(environment.admit, Plain((A,), shared))
    assert ledger.acquired == ["A"]
    await environment.close()


async def test_a_scope_is_kept_no_longer_than_its_program() -> None:
    environment = await opened(layer(A))
    await environment.admit(Plain((A,)))
    gc.collect()
    assert environment._scopes == {}
    await environment.close()


# --- settle ---------------------------------------------------------------------------------------------------------


async def test_settle_gives_the_value_and_raises_the_error() -> None:
    environment = await opened(layer(A))

    async def value() -> int:
        await checkpoint()
        return 1

    async def error() -> int:
        raise ValueError("no")

    assert await environment.settle(value) == 1
    with pytest.raises(ValueError, match="no"):
        await environment.settle(error)
    with pytest.raises(TimeoutError):
        await environment.settle(anyio.sleep_forever, 0.01)
    await environment.close()


async def test_settle_outlasts_a_cancelled_scope() -> None:
    environment = await opened(layer(A))
    done: list[str] = []

    async def record() -> None:
        for _ in range(5):
            await checkpoint()
        done.append("recorded")

    with anyio.CancelScope() as scope:
        scope.cancel()
        await environment.settle(record)
        done.append("went on")
    assert done == ["recorded"]
    await environment.close()


@pytest.mark.asyncio
async def test_settle_outlasts_repeated_native_cancels() -> None:
    environment = await opened(layer(A))
    done: list[str] = []

    async def record() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        done.append("recorded")

    task = asyncio.ensure_future(environment.settle(record))
    for _ in range(10):
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["recorded"]
    await environment.close()


async def test_a_patient_settlement_has_its_time_from_the_callers_cancel_on() -> None:
    environment = await opened(layer(A))
    ended: list[str] = []

    async def slow() -> str:
        await anyio.sleep(0.05)
        return "slow"

    async def endless() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    assert await environment.settle(slow, 0.001, patient=True) == "slow"
    with anyio.CancelScope() as scope:
        scope.cancel()
        await environment.settle(endless, 0.01, patient=True)
    assert (scope.cancelled_caught, ended) == (True, ["cancelled"])
    await environment.close()


async def test_close_ends_a_patient_settlement_whose_caller_nobody_cancels() -> None:
    environment = Environment(plan(layer(A)), close_timeout=0.01)
    await environment.open()
    told: list[str] = []

    async def wait() -> None:
        try:
            await environment.settle(anyio.sleep_forever, patient=True)
        except TimeoutError:
            told.append("in time")

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await checkpoint()
        await checkpoint()
        await environment.close()
    assert told == ["in time"]


async def test_close_waits_for_settlements_before_it_releases() -> None:
    ledger = Ledger()
    environment = await opened(resource(ledger, A))

    async def record() -> None:
        for _ in range(10):
            await checkpoint()
        ledger.released.append("settled")

    async with anyio.create_task_group() as group:
        group.start_soon(environment.settle, record)
        await checkpoint()
        await checkpoint()
        await environment.close()
    assert ledger.released == ["settled", "A"]


# --- event loops that end -------------------------------------------------------------------------------------------


def test_a_loop_that_ends_releases_what_was_never_closed() -> None:
    ledger = Ledger()

    async def main() -> None:
        await opened(resource(ledger, B, A) | resource(ledger, A))

    asyncio.run(main())
    assert ledger.released == ["B", "A"]


def test_a_trio_run_that_ends_cancels_what_was_never_closed() -> None:
    ledger = Ledger()

    async def main() -> None:
        await opened(resource(ledger, A, waits=0))

    anyio.run(main, backend="trio")
    assert ledger.released == ["A"]
