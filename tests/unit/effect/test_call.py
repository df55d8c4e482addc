"""Requests: what is made for a call, in which order, and how it is released."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from returns.result import Failure, Result, Success

from lamina.effect import (
    Compiled,
    Environment,
    Handler,
    Layer,
    Try,
    bind,
    fallible,
    handler,
    layer,
    plan,
    scoped,
    seed,
)
from lamina.effect import _call as call_module
from tests.unit.effect.ledger import Ledger, resource


class App: ...


class Tx: ...


class Unit:
    def __init__(self, tx: Tx, app: App) -> None:
        self.tx = tx
        self.app = app


class Other:
    def __init__(self, unit: Unit, tx: Tx) -> None:
        self.unit = unit
        self.tx = tx


class Principal: ...


class Caller: ...


@pytest.fixture(params=["late guard", "a scope each"], autouse=True)
def _both_guards(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "a scope each":
        monkeypatch.setattr(call_module, "_late_guard", lambda: None)


@asynccontextmanager
async def compiled(asked: Handler[Any, Any, Any], app: Layer[Any, Any, Any], **options: Any) -> AsyncIterator[Compiled]:
    environment = Environment(plan(app, [asked], options.pop("seeds", None)), **options)
    await environment.open()
    try:
        yield (await environment.admit(asked)).compile(asked.needs, asked.fn)
    finally:
        await environment.close()


@handler
async def show(command: int, other: Other, app: App, unit: Unit) -> tuple[Other, App, Unit]:
    return other, app, unit


async def test_one_instance_a_request_and_the_apps_own() -> None:
    app = layer(Unit, life="request") | layer(Other, life="request") | layer(Tx, life="request") | layer(App)
    async with compiled(show, app) as call:
        other, app_service, unit = await call(1)
        assert other.unit is unit
        assert other.tx is unit.tx
        assert unit.app is app_service
        again, same_app, _ = await call(1)
        assert again is not other
        assert same_app is app_service


async def test_without_request_services_nothing_stands_between() -> None:
    @handler
    async def direct(command: int, app: App) -> int:
        return command

    async with compiled(direct, layer(App)) as call:
        made: Any = call(3)
        assert made.cr_code is direct.fn.__code__  # type: ignore[attr-defined]
        assert await made == 3


async def test_async_functions_are_awaited_for_a_request() -> None:
    async def make(app: App) -> Tx:
        await checkpoint()
        return Tx()

    @handler
    async def ask(command: int, tx: Tx) -> bool:
        return isinstance(tx, Tx)

    async with compiled(ask, layer(make, life="request") | layer(App)) as call:
        assert await call(1) is True


@handler
async def work(command: str, unit: Unit, tx: Tx) -> Result[str, str]:
    await checkpoint()
    if command == "raise":
        raise ValueError("raised")
    return Failure("refused") if command == "refuse" else Success(command)


def ledgered(ledger: Ledger, **options: Any) -> Layer[Any, Any, Any]:
    return (
        resource(ledger, Unit_, Tx, life="request", **options)
        | resource(ledger, Tx, life="request", **options)
        | (layer(App) | bind(Unit).to(unit_of, life="request"))
    )


class Unit_: ...


def unit_of(tx: Tx, app: App, unit: Unit_) -> Unit:
    return Unit(tx, app)


@pytest.mark.parametrize("holds_group", [False, True])
async def test_releases_in_reverse_and_rolls_back_on_a_failure(holds_group: bool) -> None:
    ledger = Ledger()
    async with compiled(work, ledgered(ledger, holds_group=holds_group)) as call:
        assert await call("fine") == Success("fine")
        assert ledger.acquired == ["Tx", "Unit_"]
        assert ledger.released == ["Unit_", "Tx"]
        assert ledger.thrown == []
        assert await call("refuse") == Failure("refused")
        assert ledger.thrown == ["Unit_ RolledBack", "Tx RolledBack"]
        with pytest.raises(ValueError, match="raised"):
            await call("raise")
        assert ledger.thrown[2:] == ["Unit_ ValueError", "Tx ValueError"]
        ledger.assert_balanced()


async def test_a_constructor_that_raises_releases_what_was_entered() -> None:
    ledger = Ledger()

    def breaks(tx: Tx, app: App) -> Unit:
        raise ValueError("broken")

    app = resource(ledger, Tx, life="request") | bind(Unit).to(breaks, life="request") | layer(App)
    async with compiled(work, app) as call:
        with pytest.raises(ValueError, match="broken"):
            await call("fine")
    assert ledger.thrown == ["Tx ValueError"]
    ledger.assert_balanced()


async def test_a_resource_that_swallows_turns_nothing_into_success() -> None:
    @scoped
    async def unused() -> AsyncIterator[App]:
        yield App()

    async def swallows() -> AsyncIterator[Tx]:
        with suppress(Exception):
            yield Tx()

    app = scoped(swallows, life="request") | layer(Unit, life="request") | unused
    async with compiled(work, app) as call:
        assert await call("refuse") == Failure("refused")
        with pytest.raises(ValueError, match="raised"):
            await call("raise")


async def test_what_a_release_raises_is_raised_and_thrown_into_the_others() -> None:
    ledger = Ledger()

    async def breaks(tx: Tx) -> AsyncIterator[Unit]:
        try:
            yield Unit(tx, App())
        finally:
            raise KeyError("late")

    app = scoped(breaks, life="request") | resource(ledger, Tx, life="request")
    async with compiled(work, app) as call:
        for command in ("fine", "refuse", "raise"):
            with pytest.raises(KeyError, match="late"):
                await call(command)
    assert ledger.thrown == ["Tx KeyError"] * 3
    ledger.assert_balanced()


async def test_a_request_resource_yields_exactly_once() -> None:
    async def twice() -> AsyncIterator[Tx]:
        try:
            yield Tx()
        except Exception:
            yield Tx()
        yield Tx()

    async def never() -> AsyncIterator[Tx]:
        if False:
            yield Tx()

    rest = layer(Unit, life="request") | layer(App)
    async with compiled(work, scoped(twice, life="request") | rest) as call:
        for command in ("fine", "refuse", "raise"):
            with pytest.raises(RuntimeError, match=r"twice for Tx yielded again.*test_call\.py"):
                await call(command)
    async with compiled(work, scoped(never, life="request") | rest) as call:
        with pytest.raises(RuntimeError, match="ended without a yield"):
            await call("fine")


async def test_a_stop_from_the_handler_passes_through_a_generator() -> None:
    @handler
    async def stops(command: type[Exception], tx: Tx) -> None:
        raise command("x")

    ledger = Ledger()
    async with compiled(stops, resource(ledger, Tx, life="request")) as call:
        with pytest.raises(StopAsyncIteration):
            await _wrapped(call, StopAsyncIteration)
    ledger.assert_balanced()


async def _wrapped(call: Compiled, command: object) -> Any:
    """A coroutine may not raise these itself; the interpreter makes a RuntimeError of it, whose cause it is."""
    try:
        return await call(command)
    except RuntimeError as error:
        raise error.__cause__ or error from None


async def test_a_release_that_takes_too_long_is_cancelled() -> None:
    ledger = Ledger()

    async def slow(tx: Tx, app: App) -> AsyncIterator[Unit]:
        yield Unit(tx, app)
        await anyio.sleep_forever()

    app = scoped(slow, life="request") | resource(ledger, Tx, life="request", waits=0) | layer(App)
    async with compiled(work, app, close_timeout=0.01) as call:
        with pytest.raises(TimeoutError):
            await call("fine")
    ledger.assert_balanced()


async def test_a_release_is_shielded_from_a_cancelled_scope() -> None:
    ledger = Ledger()

    @handler
    async def hangs(command: int, tx: Tx) -> None:
        await anyio.sleep_forever()

    async with compiled(hangs, resource(ledger, Tx, life="request", waits=5)) as call:
        with anyio.move_on_after(0.01) as scope:
            await call(1)
        assert scope.cancelled_caught
    ledger.assert_balanced()
    assert ledger.acquired == ["Tx"]


async def test_seeds_are_what_the_call_brings() -> None:
    class Session:
        def __init__(self, principal: Principal) -> None:
            self.principal = principal

    @handler
    async def whoami(command: int, session: Session, caller: Caller, app: App) -> tuple[Any, Any]:
        return session.principal, caller

    seeds = seed(Principal) | seed(Caller)
    app = layer(Session, life="request") | layer(App)
    async with compiled(whoami, app, seeds=seeds) as call:
        principal, caller = Principal(), Caller()
        brought = seeds.given(bind(Caller).value(caller) | bind(Principal).value(principal))
        assert await call(1, brought) == (principal, caller)
        with pytest.raises(RuntimeError, match="brings 0 of 2 seeds"):
            await call(1)


async def test_a_private_layer_lives_for_a_request_too() -> None:
    environment = Environment(plan(layer(App)))
    await environment.open()

    from tests.unit.effect.test_environment import Plain

    scope = await environment.admit(Plain((Unit,), layer(Unit, life="request") | layer(Tx, life="request")))
    assert scope.value(Unit) is None
    call = scope.compile(show.needs[2:], unit_only)
    assert isinstance(await call(1), Unit)
    await environment.close()


async def unit_only(command: int, unit: Unit) -> Unit:
    return unit


async def test_fallible_rolls_back() -> None:
    @fallible
    async def buy(command: int, ok: Try[str], tx: Tx) -> int:
        async with anyio.create_task_group():
            ok(Success(1) if command else Failure("nothing"))
        return 7

    ledger = Ledger()
    async with compiled(buy, resource(ledger, Tx, life="request")) as call:
        assert await call(1) == Success(7)
        assert await call(0) == Failure("nothing")
    assert ledger.thrown == ["Tx RolledBack"]


async def test_nothing_runs_before_opening_and_after_closing() -> None:
    environment = Environment(plan(layer(App), [unit := handler(app_only)]))
    await environment.open()
    call = (await environment.admit(unit)).compile(unit.needs, unit.fn)
    await environment.close()
    with pytest.raises(RuntimeError, match="the runtime is closed"):
        await call(1)


async def app_only(command: int, app: App) -> int:
    return command


async def test_a_resource_whose_own_scope_ends_the_request_is_a_defect() -> None:
    @handler
    async def hangs(command: int, tx: Tx) -> None:
        await anyio.sleep_forever()

    async def impatient() -> AsyncIterator[Tx]:
        with anyio.move_on_after(0):
            yield Tx()

    async with compiled(hangs, scoped(impatient, life="request")) as call:
        with pytest.raises(RuntimeError, match="layer impatient for Tx ended while it was in use"):
            await call(1)
