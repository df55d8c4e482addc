"""Changes are told where they are real, and once."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as wire
import pytest
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from returns.result import Failure

from lamina.adapters.mcp import McpLimits, McpServer
from lamina.adapters.mcp._watch import Watcher
from lamina.call import ReadDefect
from tests.unit.adapters.mcp.world import LEGACY, MODERN, World, served, surface_of, talking, until


class Heard:
    """A client that counts what it is told."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    async def __call__(self, message: Any) -> None:
        self.methods.append(message.method)


async def test_81_82_a_session_is_told_of_a_real_change_once_and_of_nothing_else() -> None:
    world, heard = World(), Heard()
    async with served(world, LEGACY, message_handler=heard) as (client, _):
        await client.list_tools()
        await until(lambda: world.changes.listeners == 1)
        world.changes.announce()  # nothing is different
        await asyncio.sleep(0.02)
        assert heard.methods == []
        world.open = False
        for _ in range(20):
            world.changes.announce()
        await until(lambda: heard.methods == ["notifications/tools/list_changed"])
        assert "buy" not in [each.name for each in (await client.list_tools()).tools]
        await asyncio.sleep(0.02)
        assert heard.methods == ["notifications/tools/list_changed"]
    assert world.changes.listeners == 0


async def test_83_the_end_of_a_session_while_a_change_is_looked_at_tells_nothing() -> None:
    world, heard = World(), Heard()
    limits = McpLimits(debounce=30)
    async with served(world, LEGACY, limits=limits, message_handler=heard) as (client, _):
        await client.list_tools()
        await until(lambda: world.changes.listeners == 1)
        world.open = False
        world.changes.announce()
    assert heard.methods == []
    assert world.changes.listeners == 0


async def subscribe(client: Any, uri: str) -> None:
    params = wire.SubscribeRequestParams(uri=uri)
    await client.session.send_request(wire.SubscribeRequest(params=params), wire.EmptyResult)


async def unsubscribe(client: Any, uri: str) -> None:
    params = wire.UnsubscribeRequestParams(uri=uri)
    await client.session.send_request(wire.UnsubscribeRequest(params=params), wire.EmptyResult)


async def test_a_session_is_told_of_the_resources_that_it_subscribed_to() -> None:
    world, heard = World(), Heard()
    async with served(world, LEGACY, message_handler=heard) as (client, server):
        await subscribe(client, "app://text")
        await subscribe(client, "app://text")
        world.changes.announce()
        await asyncio.sleep(0.02)
        assert heard.methods == []
        world.text = "two"
        world.changes.announce()
        await until(lambda: heard.methods == ["notifications/resources/updated"])
        await unsubscribe(client, "app://text")
        await unsubscribe(client, "app://text")
        world.text = "three"
        world.changes.announce()
        await asyncio.sleep(0.02)
        assert len(heard.methods) == 1


async def test_in_the_newer_era_a_stream_tells_of_what_it_was_asked_for() -> None:
    world = World()
    async with served(world, MODERN) as (client, _):
        async with client.listen(tools_list_changed=True, resource_subscriptions=["app://text"]) as stream:
            world.changes.announce()
            world.text, world.open = "two", False
            world.changes.announce()
            events = [await anext(stream), await anext(stream)]
        await until(lambda: world.changes.listeners == 0)
    assert sorted(map(repr, events)) == sorted(map(repr, [ToolsListChanged(), ResourceUpdated(uri="app://text")]))


async def test_two_clients_of_one_surface_share_its_watcher() -> None:
    world, first, second = World(), Heard(), Heard()
    async with surface_of(world) as surface:
        server = McpServer(surface, limits=McpLimits(debounce=0.001))
        async with talking(server, LEGACY, message_handler=first) as one:
            await one.list_tools()
            async with talking(server, LEGACY, message_handler=second) as two:
                await two.list_tools()
                assert world.changes.listeners == 1
                world.open = False
                world.changes.announce()
                await until(lambda: len(first.methods) == 1 and len(second.methods) == 1)
            world.open = True
            world.changes.announce()  # the first is still there
            await until(lambda: len(first.methods) == 2)
        third = Heard()
        async with talking(server, LEGACY, message_handler=third) as again:
            await again.list_tools()
            await until(lambda: world.changes.listeners == 1)
            world.open = False
            world.changes.announce()
            await until(lambda: len(third.methods) == 1)
    assert world.changes.listeners == 0


async def raises(*_: object) -> Any:
    raise ValueError("secret")


async def gives_a_defect(uri: str) -> Any:
    return Failure(ReadDefect(uri))


@pytest.mark.parametrize("reads", [raises, gives_a_defect])
async def test_a_watcher_survives_a_surface_that_breaks(reads: Any) -> None:
    world = World()
    told: list[Any] = []
    async with surface_of(world) as surface:
        watcher = Watcher(surface, 0.001)
        stop = await watcher.listen(told.append, ["app://text"])
        available, read = surface.available, surface.read

        surface.available, surface.read = raises, reads  # type: ignore[method-assign]
        world.open, world.text = False, "two"
        world.changes.announce()
        await asyncio.sleep(0.02)
        assert told == []
        surface.available, surface.read = available, read  # type: ignore[method-assign]
        world.changes.announce()
        await until(lambda: len(told) == 2)
        stop()
        stop()
        assert world.changes.listeners == 0
        again = await watcher.listen(told.append)
        assert world.changes.listeners == 1
        watcher.close()
        watcher.close()
        assert world.changes.listeners == 0
        again()


def test_the_messages_that_a_client_may_want() -> None:
    assert wire.ToolListChangedNotification().method == "notifications/tools/list_changed"
    with pytest.raises(ValueError, match="level"):
        wire.SetLevelRequestParams(level="loud")  # type: ignore[arg-type]
