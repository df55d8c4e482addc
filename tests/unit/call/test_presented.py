"""Surfaces as hosts see them that see less."""

from __future__ import annotations

from typing import Any, Never

import attrs
import pytest

from lamina.call import (
    Invocation,
    NoCaller,
    PromptMessage,
    Signal,
    TextContent,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    presented,
)
from lamina.effect import ConstructionError, Try, empty_layer, layer
from lamina.runtime import Changes, build, prompt, resource
from lamina.tools import tool


@attrs.frozen
class Part:
    name: str


@attrs.frozen
class Order:
    parts: tuple[Part, ...]


class Shop:
    open = False


def is_open(shop: Shop) -> bool:
    return shop.open


@tool(available=is_open)
async def buy(call: Order, ok: Try[Never]) -> Order:
    """Buy parts."""
    return call


@tool.simple
async def ping() -> str:
    return "pong"


@resource("app://stock", title="Stock")
async def stock() -> dict[str, int]:
    """What is there."""
    return {"tea": 3}


@resource("app://item/{sku}")
async def item(sku: str) -> str | None:
    return None if sku == "nothing" else f"<{sku}>"


@resource("app://raw")
async def raw() -> bytes:
    return b"\x00"


@resource("app://broken")
async def broken() -> str:
    raise ValueError("secret")


@resource("app://odd", media_type="application/json")
async def odd() -> str:
    return "no json"


@prompt()
async def hello() -> str:
    return "hi"


def at(signal: Signal | None = None) -> Invocation:
    return Invocation(id="i-1", signal=signal)


async def test_a_host_that_lists_once_sees_everything_and_is_still_refused() -> None:
    async with build(layer(Shop)) as rt:
        surface = rt.surface(buy | ping, list_all=True)
        first, second = surface.capabilities
        assert first.description == (
            "Buy parts. It is not available at every time; a call that comes at another time is refused."
        )
        assert second.description == ""
        assert await surface.available() == {"buy", "ping"}
        assert await surface.invoke("buy", {"parts": []}, at(), NoCaller()) == ToolRejected("unavailable")
        assert await surface.invoke("ping", {}, at(), NoCaller()) == ToolSuccess("pong")
        assert await rt.surface(buy | ping).available() == {"ping"}


async def test_resources_are_readonly_capabilities_where_that_is_asked_for() -> None:
    async with build(layer(Shop)) as rt:
        surface: Any = rt.surface(buy | ping, resources=[stock, item, raw, broken, odd], read_tools=True)

        async def call(name: str, payload: Any = None, signal: Signal | None = None) -> Any:
            return await surface.invoke(name, payload, at(signal), NoCaller())

        names = [each.name for each in surface.capabilities]
        assert names == ["buy", "ping", "read_stock", "read_raw", "read_broken", "read_odd", "read_item"]
        assert await surface.available() == set(names) - {"buy"}
        read = surface.capabilities[2]
        assert (read.execution, read.description, read.title) == ("readonly", "What is there.", "Stock")
        assert surface.capabilities[-1].input_schema["required"] == ["sku"]
        assert await call("read_stock") == ToolSuccess({"tea": 3})
        assert await call("read_item", {"sku": "a/b"}) == ToolSuccess("<a/b>")
        assert (await call("read_item", {"sku": "nothing"})).message == (
            'Cannot read resource "app://item/nothing": no such resource'
        )
        assert isinstance(await call("read_item", {"sku": "nothing"}), ToolFailure)
        assert await call("read_item", {"sku": 5, "more": 1}) == ToolInvalidInput(
            ("$.more: an undeclared key", "$.sku: expected string")
        )
        assert await call("read_stock", []) == ToolInvalidInput(("$: expected object",))
        assert await call("read_raw") == ToolSuccess({"media_type": "application/octet-stream", "blob": "AA=="})
        assert await call("read_broken") == ToolDefect("raised")
        assert await call("read_odd") == ToolSuccess("no json")
        assert surface.summary("read_stock", ToolSuccess({})) is None
        gone = Signal()
        gone.abort()
        assert await call("read_stock", None, gone) == ToolRejected("not-started")


async def test_the_rest_is_passed_on() -> None:
    changes = Changes()
    async with build(empty_layer()) as rt:
        inner = rt.surface(ping, resources=[item], prompts=[hello], changes=changes, name="inner", version="9")
        surface = presented(inner, list_all=True)
        assert (surface.name, surface.version) == ("inner", "9")
        assert (surface.templates, surface.prompts) == (inner.templates, inner.prompts)
        assert (await surface.read("app://item/x")).unwrap().text == "<x>"
        assert (await surface.prompt("hello", {})).unwrap() == (PromptMessage("user", TextContent("hi")),)
        assert await surface.complete("prompt", "hello", "x", "") == ()
        assert surface.summary("ping", ToolSuccess("pong")) is None
        stop = surface.subscribe(lambda: None)
        assert changes.listeners == 1
        stop()
        assert changes.listeners == 0


async def test_a_reading_that_has_the_name_of_a_tool_is_refused() -> None:
    @tool.simple
    async def read_stock() -> str:
        return ""

    async with build(empty_layer()) as rt:
        with pytest.raises(ConstructionError, match="DUPLICATE capability read_stock"):
            rt.surface(read_stock, resources=[stock], read_tools=True)


async def test_schemas_are_written_out() -> None:
    async with build(layer(Shop)) as rt:
        before, after = rt.surface(buy), rt.surface(buy, inline_defs=True)
    assert "$defs" in before.capabilities[0].input_schema
    schema: Any = after.capabilities[0].input_schema
    assert "$defs" not in schema
    assert schema["properties"]["parts"]["items"]["properties"]["name"] == {"type": "string"}
    assert "$defs" not in (after.capabilities[0].output_schema or {})
