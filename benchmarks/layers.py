"""What layers cost: a request that resolves 10 services of a runtime of 50, beside rivals and hand-written wiring.

`python benchmarks/layers.py` prints CPU time and ratios. Forty services live for the app and ten for a request, one of
them an async generator; the request enters, resolves the one that needs all the others, and leaves. Rounds of the
rivals are interleaved, so that a slow moment of the machine hits all of them; the median is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib.util
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from lamina.effect import Environment, Layer, handler, layer, plan, scoped

APP_SERVICES, REQUEST_SERVICES = 40, 10

Request = Callable[[], Awaitable[Any]]


def _service(name: str, needs: dict[str, type]) -> type:
    """Make a class whose constructor takes `needs`, as one would write it by hand."""
    takes = ", ".join(("self", *needs))
    body = "\n".join(f"        self.{need} = {need}" for need in needs) or "        pass"
    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"class {name}:\n    def __init__({takes}) -> None:\n{body}\n", scope)
    made: type = scope[name]
    made.__init__.__annotations__.update({**needs, "return": None})
    return made


APP: list[type] = []
for at in range(APP_SERVICES):
    below = [APP[one] for one in dict.fromkeys((at // 2, at - 1)) if 0 <= one < at]
    APP.append(_service(f"App{at}", {f"a{index}": one for index, one in enumerate(below)}))


class Tx:
    def __init__(self, app: Any) -> None:
        self.app = app


REQUEST: list[type] = []
for at in range(REQUEST_SERVICES - 1):
    wants = {"app": APP[at * 4], "tx": Tx}
    if at:
        wants["previous"] = REQUEST[-1]
    REQUEST.append(_service(f"Request{at}", wants))
Top = REQUEST[-1]


async def transaction(app: Any) -> AsyncIterator[Tx]:
    yield Tx(app)


transaction.__annotations__.update({"app": APP[0], "return": AsyncIterator[Tx]})


def lamina_layers() -> Layer[Any, Any, Any]:
    """Put all fifty into one bag."""
    bag: Layer[Any, Any, Any] = scoped(transaction, life="request")
    for cls in REQUEST:
        bag = bag | layer(cls, life="request")
    for cls in APP:
        bag = bag | layer(cls)
    return bag


async def use(command: int, top: Any) -> Any:
    return top


use.__annotations__.update({"command": int, "top": Top})


async def with_lamina(stack: AsyncExitStack) -> Request:
    asked = handler(use)
    environment = Environment(plan(lamina_layers(), [asked]))
    await environment.open()
    stack.push_async_callback(environment.close)
    compiled = (await environment.admit(asked)).compile(asked.needs, asked.fn)

    async def request() -> Any:
        return await compiled(1)

    return request


def hand_made() -> list[Any]:
    made: list[Any] = []
    for at, cls in enumerate(APP):
        made.append(cls(*(made[one] for one in dict.fromkeys((at // 2, at - 1)) if 0 <= one < at)))
    return made


async def by_hand(stack: AsyncExitStack) -> Request:
    app = hand_made()
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = REQUEST

    async def request() -> Any:
        resource = transaction(app[0])
        tx = await resource.__anext__()
        try:
            s0 = r0(app[0], tx)
            s1 = r1(app[4], tx, s0)
            s2 = r2(app[8], tx, s1)
            s3 = r3(app[12], tx, s2)
            s4 = r4(app[16], tx, s3)
            s5 = r5(app[20], tx, s4)
            s6 = r6(app[24], tx, s5)
            s7 = r7(app[28], tx, s6)
            s8 = r8(app[32], tx, s7)
            result = await use(1, s8)
        except BaseException as error:
            await resource.athrow(error)
            raise
        try:
            await resource.__anext__()
        except StopAsyncIteration:
            return result
        raise RuntimeError("yielded again")

    return request


async def with_dishka(stack: AsyncExitStack) -> Request:
    from dishka import Provider, Scope, make_async_container

    provider = Provider()
    for cls in APP:
        provider.provide(cls, scope=Scope.APP)
    provider.provide(transaction, scope=Scope.REQUEST)
    for cls in REQUEST:
        provider.provide(cls, scope=Scope.REQUEST)
    container = make_async_container(provider)
    stack.push_async_callback(container.close)
    for cls in APP:
        await container.get(cls)

    async def request() -> Any:
        async with container() as inner:
            return await use(1, await inner.get(Top))

    return request


async def with_wireup(stack: AsyncExitStack) -> Request:
    import wireup

    for cls in APP:
        wireup.injectable(cls)
    for cls in REQUEST:
        wireup.injectable(cls, lifetime="scoped")
    wireup.injectable(transaction, lifetime="scoped")
    container = wireup.create_async_container(injectables=[*APP, *REQUEST, transaction])
    stack.push_async_callback(container.close)
    for cls in APP:
        await container.get(cls)

    async def request() -> Any:
        async with container.enter_scope() as inner:
            return await use(1, await inner.get(Top))

    return request


CONTENDERS: dict[str, Callable[[AsyncExitStack], Awaitable[Request]]] = {
    "hand-written": by_hand,
    "lamina": with_lamina,
    "wireup": with_wireup,
    "dishka": with_dishka,
}


def installed(name: str) -> bool:
    """Tell whether a contender can take part, and say so if not."""
    there = name in ("hand-written", "lamina") or importlib.util.find_spec(name) is not None
    if not there:
        print(f"{name}: not installed, left out")
    return there


async def measure(names: list[str], rounds: int, repeats: int) -> dict[str, list[float]]:
    """Give CPU microseconds a request, each contender in turn in every round."""
    async with AsyncExitStack() as stack:
        requests = {name: await CONTENDERS[name](stack) for name in names}
        taken: dict[str, list[float]] = {name: [] for name in names}
        for name, request in requests.items():
            assert isinstance(await request(), Top), name
        gc.collect()
        gc.disable()
        for _ in range(rounds):
            for name, request in requests.items():
                for _ in range(repeats // 10):
                    await request()
                began = time.process_time()
                for _ in range(repeats):
                    await request()
                taken[name].append((time.process_time() - began) / repeats * 1e6)
            gc.collect()
        gc.enable()
    return taken


def ratio(taken: list[float], to: list[float]) -> float:
    """Give the median of the rounds' ratios: what slows the machine down in one round slows down both."""
    return statistics.median(one / other for one, other in zip(taken, to, strict=True))


def checking(rounds: int) -> tuple[float, float]:
    """Give the median CPU milliseconds of reading fifty signatures, and of planning them."""
    reading: list[float] = []
    planning: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        app = lamina_layers()
        read = time.process_time()
        assert not plan(app).problems
        reading.append((read - began) * 1e3)
        planning.append((time.process_time() - read) * 1e3)
    return statistics.median(reading), statistics.median(planning)


def opening(rounds: int) -> float:
    """Give the median CPU milliseconds of opening and closing the runtime."""
    planned = plan(lamina_layers())

    async def once() -> float:
        began = time.process_time()
        environment = Environment(planned)
        await environment.open()
        await environment.close()
        return (time.process_time() - began) * 1e3

    return statistics.median(asyncio.run(once()) for _ in range(rounds))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=500)
    options = parser.parse_args()
    times = asyncio.run(measure([name for name in CONTENDERS if installed(name)], options.rounds, options.repeats))
    print(f"\na request: {REQUEST_SERVICES} services, one an async generator, of {APP_SERVICES + REQUEST_SERVICES}")
    print(f"{'':14}{'CPU us':>8}{'x hand-written':>16}{'x wireup':>10}")
    for name, taken in times.items():
        beside = f"{ratio(taken, times['wireup']):.2f}" if "wireup" in times else "-"
        print(f"{name:14}{statistics.median(taken):8.2f}{ratio(taken, times['hand-written']):16.2f}{beside:>10}")
    reading, planning = checking(options.rounds)
    print(f"\nchecking {APP_SERVICES + REQUEST_SERVICES} services: {reading + planning:.2f} CPU ms", end="")
    print(f" ({reading:.2f} to read the signatures, {planning:.2f} to plan)")
    print(f"opening and closing: {opening(options.rounds):.2f} CPU ms")


if __name__ == "__main__":
    main()
