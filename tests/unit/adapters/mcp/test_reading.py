"""Resources, templates, prompts and completion over the wire, in both eras."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from lamina.adapters.mcp import McpServer
from tests.unit.adapters.mcp.world import LEGACY, MODERN, World, echo, served, surface_of, talking

ERAS = pytest.mark.parametrize("era", [LEGACY, MODERN])


@ERAS
async def test_resources_are_listed_and_read(era: str) -> None:
    world = World()
    async with served(world, era) as (client, _):
        listed = (await client.list_resources()).resources
        assert [(each.name, each.uri, each.mime_type) for each in listed] == [
            ("text", "app://text", "text/plain"),
            ("raw", "app://raw", "image/png"),
            ("broken", "app://broken", "text/plain"),
        ]
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["app://item/{sku}"]
        read = (await client.read_resource("app://text")).contents[0]
        assert (read.uri, read.mime_type, read.text) == ("app://text", "text/plain", "one")
        assert (await client.read_resource("app://raw")).contents[0].blob == "AAE="
        assert (await client.read_resource("app://item/tea%20x")).contents[0].text == "item tea x"


@pytest.mark.parametrize(("era", "code"), [(LEGACY, -32002), (MODERN, -32602)])
async def test_a_resource_that_is_not_there(era: str, code: int) -> None:
    async with served(World(), era) as (client, _):
        for uri in ("app://nowhere", "app://item/nothing"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert (refused.value.code, refused.value.data) == (code, {"uri": uri})
            assert refused.value.message == f'Cannot read resource "{uri}": no such resource'
        with pytest.raises(MCPError) as refused:
            await client.read_resource("file:///etc/passwd")
        assert (refused.value.code, refused.value.message) == (-32602, "resources/read requires an app:// uri")


@ERAS
async def test_prompts_are_listed_and_filled(era: str) -> None:
    async with served(World(), era) as (client, _):
        listed, _ = (await client.list_prompts()).prompts
        assert (listed.name, listed.title, listed.description) == ("greet", "Greet", "Greet somebody.")
        assert [(each.name, each.required) for each in listed.arguments] == [("name", True), ("tone", False)]
        filled = await client.get_prompt("greet", {"name": "Ada", "tone": "short"})
        assert (filled.messages[0].role, filled.messages[0].content.text) == ("user", "Greet Ada, short.")
        assert filled.description == "Greet somebody."
        for name, arguments, message in (
            ("other", {}, "No such prompt: other"),
            ("greet", {}, 'Invalid arguments for prompt "greet": name is missing'),
        ):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            assert (refused.value.code, refused.value.message) == (-32602, message)


@ERAS
async def test_arguments_are_completed(era: str) -> None:
    async with served(World(), era) as (client, _):
        tone = await client.complete(PromptReference(name="greet"), {"name": "tone", "value": "k"})
        assert (tone.completion.values, tone.completion.total, tone.completion.has_more) == (["kind"], 1, False)
        sku = await client.complete(ResourceTemplateReference(uri="app://item/{sku}"), {"name": "sku", "value": "t"})
        assert sku.completion.values == ["tea", "toast"]
        none = await client.complete(PromptReference(name="other"), {"name": "x", "value": ""})
        assert none.completion.values == []


@ERAS
async def test_77_what_a_surface_does_not_have_is_not_offered(era: str) -> None:
    era = "auto" if era == MODERN else era  # it asks the server what it offers
    async with (
        surface_of(World(), echo, resources=[], prompts=[]) as surface,
        talking(McpServer(surface), era) as client,
    ):
        offered = client.server_capabilities
        assert (offered.resources, offered.prompts, offered.completions) == (None, None, None)
        assert offered.tools.list_changed is True
        assert client.server_info.name == "shop"
        with pytest.raises(MCPError) as refused:
            await client.list_resources()
        assert refused.value.code == -32601
    async with served(World(), era) as (client, _):
        offered = client.server_capabilities
        assert offered.resources.subscribe is True
        assert offered.prompts is not None
        assert offered.completions is not None
        assert (client.server_info.name, client.server_info.version) == ("shop", "1.2.3")
