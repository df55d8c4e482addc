"""Tools over the wire, in both eras."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from lamina.adapters.mcp import McpLimits
from tests.unit.adapters.mcp.world import LEGACY, MODERN, SECRET, World, served, until

ERAS = pytest.mark.parametrize("era", [LEGACY, MODERN])


@ERAS
async def test_the_list_says_what_each_tool_is(era: str) -> None:
    async with served(World(), era) as (client, _):
        listed = {each.name: each for each in (await client.list_tools()).tools}
    echo, add, boom, gallery = listed["echo"], listed["add"], listed["boom"], listed["gallery"]
    assert (echo.title, echo.description) == ("Echo", "Say it again.")
    assert echo.input_schema["properties"] == {"text": {"type": "string"}}
    assert echo.output_schema["properties"]["result"] == {"type": "string"}
    assert (echo.annotations.read_only_hint, echo.annotations.idempotent_hint) == (True, True)
    assert echo.annotations.destructive_hint is False
    assert (add.annotations.read_only_hint, add.annotations.idempotent_hint) == (False, True)
    assert add.output_schema["required"] == ["total"]
    assert boom.annotations.idempotent_hint is False
    assert boom.annotations.destructive_hint is None
    assert gallery.output_schema is None


@ERAS
async def test_values_come_as_text_and_structure(era: str) -> None:
    async with served(World(), era) as (client, _):
        said = await client.call_tool("echo", {"text": "tea\u2028\u0000🙂"})
        total = await client.call_tool("add", {"text": "123"})
    assert said.content[0].text == "tea\u2028\u0000🙂"
    assert said.structured_content == {"result": "tea\u2028\u0000🙂"}
    assert (total.content[0].text, total.structured_content) == ('{"total":6}', {"total": 6})
    assert not total.is_error


@ERAS
async def test_content_of_each_kind_is_what_it_is(era: str) -> None:
    async with served(World(), era) as (client, _):
        items = (await client.call_tool("gallery", {})).content
    assert [each.type for each in items] == ["text", "image", "audio", "resource", "resource", "resource_link"]
    assert (items[1].data, items[1].mime_type) == ("AAE=", "image/png")
    assert (items[3].resource.text, items[4].resource.blob) == ("a document", "AAE=")
    assert (items[5].name, items[5].description) == ("a link", "Look.")


@ERAS
async def test_78_invalid_input_and_unknown_names_are_errors_of_the_protocol(era: str) -> None:
    world = World()
    async with served(world, era) as (client, _):
        for name, arguments, message in (
            ("echo", {}, "$.text: missing"),
            ("echo", {"text": 5}, "$.text: expected string"),
            ("ecko", {}, "There is no tool of that name. Nearest: echo."),
        ):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name, arguments)
            assert (refused.value.code, refused.value.message) == (-32602, message)
        world.open = False
        unavailable = await client.call_tool("buy", {})
    assert unavailable.is_error
    assert unavailable.content[0].text == "The tool is not available now."


@ERAS
async def test_a_declared_failure_is_its_own_sentence(era: str) -> None:
    async with served(World(), era) as (client, _):
        failed = await client.call_tool("add", {"text": "tea"})
    assert failed.is_error
    assert failed.content[0].text == "There is no word tea."


@ERAS
async def test_79_absent_arguments_are_an_empty_object(era: str) -> None:
    world = World()
    async with served(world, era) as (client, _):
        assert (await client.call_tool("buy")).content[0].text == "bought"
        assert (await client.call_tool("buy", None)).content[0].text == "bought"
    assert world.ran == ["buy", "buy"]


@ERAS
async def test_85_the_text_of_a_defect_reaches_nobody(era: str) -> None:
    async with served(World(), era) as (client, _):
        broken = await client.call_tool("boom", {})
        with pytest.raises(MCPError) as refused:
            await client.read_resource("app://broken")
    assert broken.content[0].text == 'Capability "boom" failed unexpectedly'
    assert refused.value.code == -32603
    assert SECRET not in repr(broken) + repr(refused.value.error)


@ERAS
async def test_a_surface_that_breaks_is_contained(era: str) -> None:
    async with served(World(), era) as (client, server):

        async def breaks(*_: object) -> Any:
            raise ValueError(SECRET)

        surface = server._views.only.surface  # type: ignore[union-attr]
        for name in ("invoke", "available", "read", "prompt", "complete"):
            setattr(surface, name, breaks)
        called = await client.call_tool("echo", {"text": "x"})
        assert called.content[0].text == 'Capability "echo" failed unexpectedly'
        for ask, method in (
            (client.list_tools(cache_mode="bypass"), "tools/list"),
            (client.read_resource("app://text"), "resources/read"),
            (client.get_prompt("greet", {"name": "x"}), "prompts/get"),
        ):
            with pytest.raises(MCPError) as refused:
                await ask
            assert (refused.value.code, refused.value.message) == (-32603, f"Handling {method} failed unexpectedly")


@ERAS
async def test_a_call_that_is_cancelled_reaches_its_handler(era: str) -> None:
    world = World()
    async with served(world, era) as (client, _):
        task = asyncio.create_task(client.call_tool("wait", {}))
        await world.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: world.ended == ["cancelled"])
        assert (await client.call_tool("echo", {"text": "x"})).content[0].text == "x"
    assert world.ended == ["cancelled"]


@ERAS
async def test_too_many_calls_are_refused_and_the_others_go_on(era: str) -> None:
    world = World()
    async with served(world, era, limits=McpLimits(calls=1)) as (client, _):
        first = asyncio.create_task(client.call_tool("wait", {}))
        await world.begun.wait()
        second = await client.call_tool("echo", {"text": "x"})
        assert (second.is_error, second.content[0].text) == (True, "Too many calls are running; try again later.")
        world.go.set()
        assert (await first).content[0].text == "went"
        assert not (await client.call_tool("echo", {"text": "x"})).is_error


@ERAS
async def test_an_unknown_cursor_is_refused(era: str) -> None:
    async with served(World(), era) as (client, _):
        for listing in (client.list_tools, client.list_resources, client.list_prompts):
            with pytest.raises(MCPError) as refused:
                await listing(cursor="abc")
            assert (refused.value.code, refused.value.message) == (-32602, "Unknown cursor")


@ERAS
async def test_a_result_that_is_too_large_says_that_the_call_was_done(era: str) -> None:
    async with served(World(), era) as (client, _):
        large = await client.call_tool("echo", {"text": "x" * 100_000})
    assert large.is_error
    assert large.content[0].text.startswith("The call was done. Its result is larger than may be told, and was cut: {")
