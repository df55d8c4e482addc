from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from returns.result import Result, Success

from lamina.call import (
    NOBODY,
    Caller,
    Capability,
    ForwardingSurface,
    Invocation,
    Outcome,
    PromptMessage,
    PromptRefused,
    ResourceContent,
    Surface,
    ToolSuccess,
)

CONTENT = ResourceContent(uri="app://todos", media_type="text/plain", text="milk")


class Inner(Surface):
    name = "inner"
    version = "7"
    capabilities = (Capability(name="add", description="Add.", input_schema={}),)

    async def available(self) -> frozenset[str]:
        return frozenset({"add"})

    async def invoke(self, name: str, payload: Any, invocation: Invocation, caller: Caller) -> Outcome:
        return ToolSuccess([name, payload, invocation.id])

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        return f"{name} is done"

    async def read(self, uri: str) -> Any:
        return Success(CONTENT)

    async def prompt(
        self, name: str, arguments: Mapping[str, str], caller: Caller = NOBODY
    ) -> Result[tuple[PromptMessage, ...], PromptRefused]:
        return Success(())

    async def complete(self, kind: str, of: str, argument: str, begun: str) -> tuple[str, ...]:
        return (kind, of, argument, begun)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        return listener


async def test_everything_is_passed_on() -> None:
    inner = Inner()
    outer = ForwardingSurface(inner)

    for attribute in Surface.__annotations__:
        assert getattr(outer, attribute) == getattr(inner, attribute)
    assert await outer.available() == {"add"}
    done = await outer.invoke("add", 1, Invocation(id="call-1"), NOBODY)
    assert done == ToolSuccess(["add", 1, "call-1"])
    assert outer.summary("add", ToolSuccess(1)) == "add is done"
    assert (await outer.read("app://todos")).unwrap() == CONTENT
    assert (await outer.prompt("greet", {})).unwrap() == ()
    assert await outer.complete("prompt", "greet", "who", "a") == ("prompt", "greet", "who", "a")
    assert outer.subscribe(outer.subscribe) == outer.subscribe


@pytest.mark.parametrize(
    "method", [name for name in vars(Surface) if not name.startswith("_") and callable(getattr(Surface, name))]
)
def test_no_method_of_a_surface_is_forgotten(method: str) -> None:
    assert method in vars(ForwardingSurface)
