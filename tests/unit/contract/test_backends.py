"""A contract is below the engine, so it runs on trio as on asyncio."""

from __future__ import annotations

import anyio
import pytest
from returns.result import Success

from lamina.call import Invocation, Signal
from lamina.contract import (
    AgentCancelledError,
    AgentCompletionTimeoutError,
    Contract,
    MemoryHost,
    Settled,
    command,
    completes,
)
from tests.unit.contract.scene import Clear, Delete, Deleted, Host, Message, Model

contract = Contract.of(Model, messages=Message).variant(Delete, "d", completion=completes(Deleted, timeout=0.01))


async def aborted() -> object:
    signal, host = Signal(), Host()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(abort_when_sent, signal, host)
        answered = await contract.bind(host).dispatch(Delete("a"), Invocation(id="1", signal=signal))
    assert host.listeners == signal.listeners == 0
    return answered.failure()


async def abort_when_sent(signal: Signal, host: Host) -> None:
    while not host.sent:
        await anyio.lowlevel.checkpoint()
    signal.abort()


async def late() -> object:
    async def stuck(message: object) -> None:
        await anyio.sleep_forever()

    host = Host(on_dispatch=stuck)
    answered = await contract.bind(host).dispatch(Delete("a"), Invocation(id="1"))
    assert host.listeners == 0
    return answered.failure()


async def completed() -> object:
    async def deleted() -> object:
        await anyio.lowlevel.checkpoint()
        return Success(Deleted("a"))

    def update(model: Model, message: object) -> object:
        return (model, (command(deleted, failed=lambda why: Clear()),)) if isinstance(message, Delete) else model

    async with MemoryHost(Model(), update) as host:  # type: ignore[var-annotated, arg-type]
        return (await contract.bind(host).dispatch(Delete("a"))).unwrap().completion


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_both_backends(backend: str) -> None:
    assert anyio.run(aborted, backend=backend) == AgentCancelledError("delete", "sent")
    assert anyio.run(late, backend=backend) == AgentCompletionTimeoutError("delete", "1", 0.01, "attempted")
    assert anyio.run(completed, backend=backend) == Settled("completed", Deleted("a"))
