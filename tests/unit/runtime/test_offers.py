"""Resources and prompts beside a toolkit, written as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import attrs
import pytest
import typing_extensions

from lamina.call import (
    AgentResourceError,
    Caller,
    PromptMessage,
    PromptRefused,
    ReadDefect,
    ResourceContent,
    TextContent,
)
from lamina.effect import ConstructionError, bind, empty_layer, layer, seed
from lamina.redaction import Secrets
from lamina.runtime import build, prompt, resource
from lamina.tools import Toolkit
from tests.unit.callers import RecordingCaller

NOTHING = Toolkit.empty()


class Db:
    def __init__(self) -> None:
        self.rows = {"tea": 3, "a b": 1}


@attrs.frozen
class Row:
    sku: str
    count: int


@resource("app://hello")
async def hello() -> str:
    """A greeting.

    Not this.
    """
    return "hello"


@resource("app://bytes", name="raw", title="Raw", description="Bytes.", media_type="image/png")
async def raw_bytes() -> bytes:
    return b"\x00\x01"


@resource("app://rows")
async def rows(db: Db) -> tuple[Row, ...]:
    return tuple(Row(sku, count) for sku, count in db.rows.items())


@resource("app://row/{sku}", complete={"sku": ("tea", "a b")})
async def row(sku: str, db: Db) -> Row | None:
    return Row(sku, db.rows[sku]) if sku in db.rows else None


@resource("app://whole")
async def whole() -> ResourceContent:
    return ResourceContent(uri="app://whole", media_type="text/csv", text="a,b")


@resource("app://broken")
async def broken() -> str:
    raise ValueError("secret")


@resource("app://liar")
async def liar() -> Row:
    return "no row"  # type: ignore[return-value]


@resource("app://other-liar")
async def other_liar() -> str:
    return 5  # type: ignore[return-value]


@resource("app://{kind}/all")
async def kinds(kind: Literal["tea", "oil"]) -> str:
    return kind


ALL: list[Any] = [hello, raw_bytes, rows, row, whole, broken, liar, other_liar, kinds]


async def test_resources_and_templates_are_told_apart_and_described() -> None:
    async with build(layer(Db)) as rt:
        surface = rt.surface(NOTHING, resources=ALL)
    infos = {info.name: info for info in (*surface.resources, *surface.templates)}
    assert [info.name for info in surface.templates] == ["row", "kinds"]
    assert (infos["hello"].description, infos["hello"].media_type) == ("A greeting.", "text/plain")
    assert (infos["raw"].title, infos["raw"].description, infos["raw"].media_type) == ("Raw", "Bytes.", "image/png")
    assert infos["rows"].media_type == "application/json"
    assert infos["rows"].schema is not None
    assert surface.capabilities == ()


async def test_each_kind_of_value_is_read() -> None:
    async with build(layer(Db)) as rt:
        surface = rt.surface(NOTHING, resources=ALL)

        async def read(uri: str) -> Any:
            found = await surface.read(uri)
            return found.value_or(None) or found.failure()

        assert await read("app://hello") == ResourceContent(uri="app://hello", media_type="text/plain", text="hello")
        assert await read("app://bytes") == ResourceContent(uri="app://bytes", media_type="image/png", blob="AAE=")
        assert (await read("app://rows")).text == '[{"sku":"tea","count":3},{"sku":"a b","count":1}]'
        assert (await read("app://row/tea")).text == '{"sku":"tea","count":3}'
        assert (await read("app://row/a%20b")).text == '{"sku":"a b","count":1}'
        assert (await read("app://whole")).media_type == "text/csv"
        assert (await read("app://tea/all")).text == "tea"
        assert await read("app://row/nothing") == AgentResourceError("app://row/nothing")
        assert await read("app://row/a/b") == AgentResourceError("app://row/a/b")
        assert await read("app://nowhere") == AgentResourceError("app://nowhere")
        for name in ("broken", "liar"):
            assert await read(f"app://{name}") == ReadDefect(name)
        assert await read("app://other-liar") == ReadDefect("other_liar")


async def test_what_is_secret_is_not_read() -> None:
    @resource("app://secret")
    async def secret() -> str:
        return "it is s3cr3t-token"

    @prompt()
    async def ask() -> str:
        return "say s3cr3t-token"

    async with build(bind(Secrets).value(Secrets("s3cr3t-token"))) as rt:
        surface = rt.surface(NOTHING, resources=[secret], prompts=[ask])
        assert (await surface.read("app://secret")).unwrap().text == "it is [REDACTED:secret]"
        written = (await surface.prompt("ask", {})).unwrap()
        assert written == (PromptMessage("user", TextContent("say [REDACTED:secret]")),)


@prompt()
async def refuses() -> str | PromptRefused:
    return PromptRefused("Not before s3cr3t-token has come.")


async def test_a_prompt_may_say_why_there_is_none() -> None:
    async with build(bind(Secrets).value(Secrets("s3cr3t-token"))) as rt:
        refused = await rt.surface(NOTHING, prompts=[refuses]).prompt("refuses", {})
    assert str(refused.failure()) == "Not before [REDACTED:secret] has come."


async def codes(begun: str) -> list[str]:
    return [f"{begun}-{n}" for n in range(2_000)]


def broken_codes(begun: str) -> list[str]:
    raise ValueError("secret")


@prompt(title="Review", complete={"code": codes, "more": broken_codes})
async def review(
    db: Db,
    code: Annotated[str, typing_extensions.Doc("The code.")],
    tone: Literal["kind", "short"] = "kind",
    more: str | None = None,
) -> list[PromptMessage]:
    """Review a piece of code."""
    return [
        PromptMessage("user", TextContent(f"{code} {tone} {more} {len(db.rows)}")),
        PromptMessage("assistant", TextContent("Gladly.")),
    ]


@prompt(name="one")
async def single() -> PromptMessage:
    return PromptMessage("assistant", TextContent("Yes?"))


@prompt(description="Breaks.")
async def breaks() -> str:
    raise ValueError("secret")


@prompt()
async def lies() -> str:
    return [5]  # type: ignore[return-value]


async def test_prompts_are_described_and_filled() -> None:
    async with build(layer(Db)) as rt:
        surface = rt.surface(NOTHING, prompts=[review, single, breaks, lies])

        async def fill(name: str, **arguments: str) -> Any:
            found = await surface.prompt(name, arguments)
            return found.value_or(None) or str(found.failure())

        info = surface.prompts[0]
        assert (info.name, info.title, info.description) == ("review", "Review", "Review a piece of code.")
        assert [(each.name, each.description, each.required, each.values) for each in info.arguments] == [
            ("code", "The code.", True, ()),
            ("tone", "", False, ("kind", "short")),
            ("more", "", False, ()),
        ]
        assert (await fill("review", code="x", tone="short"))[0].content == TextContent("x short None 2")
        assert (await fill("one"))[0].role == "assistant"
        assert await fill("other") == "No such prompt: other"
        assert await fill("review", tone="rude", less="1") == (
            'Invalid arguments for prompt "review": it takes no less; code is missing; tone is one of kind, short'
        )
        assert await fill("breaks") == 'Prompt "breaks" failed unexpectedly'
        assert await fill("lies") == 'Prompt "lies" failed unexpectedly'


async def test_arguments_are_completed() -> None:
    async with build(layer(Db)) as rt:
        surface = rt.surface(NOTHING, prompts=[review], resources=[row, kinds])
        assert await surface.complete("prompt", "review", "tone", "K") == ("kind",)
        assert len(await surface.complete("prompt", "review", "code", "a")) == 1_000
        assert await surface.complete("prompt", "review", "more", "a") == ()
        assert await surface.complete("prompt", "review", "nothing", "a") == ()
        assert await surface.complete("prompt", "other", "tone", "a") == ()
        assert await surface.complete("template", "app://row/{sku}", "sku", "t") == ("tea",)
        assert await surface.complete("template", "app://{kind}/all", "kind", "") == ("tea", "oil")
        assert await surface.complete("template", "app://other", "sku", "t") == ()


async def test_needs_and_names_are_checked_when_the_surface_is_made() -> None:
    @resource("app://again", name="hello")
    async def again() -> str:
        return "again"

    async with build(empty_layer()) as rt:
        with pytest.raises(ConstructionError) as refused:
            rt.surface(NOTHING, resources=[hello, again, row], prompts=[review], name="shop")
    told = str(refused.value)
    assert "resource row(db)" in told
    assert "prompt review(db)" in told
    assert "DUPLICATE resource hello" in told


def not_async() -> str:
    return ""


async def no_return(sku: str):  # type: ignore[no-untyped-def]
    return ""


async def no_hint(sku) -> str:  # type: ignore[no-untyped-def]
    return ""


async def many(*skus: str) -> str:
    return ""


async def number(sku: int) -> str:
    return ""


@pytest.mark.parametrize(
    ("fn", "line"),
    [
        (not_async, "it is `async def`"),
        (not_async, "it has no parameter sku"),
        (no_return, "the return annotation is missing"),
        (no_hint, "parameter sku has no annotation"),
        (many, "parameter skus cannot be given by its name"),
        (number, "parameter sku is a text"),
    ],
)
def test_signatures_that_cannot_be_read_are_refused(fn: Callable[..., Any], line: str) -> None:
    with pytest.raises(ConstructionError, match=line):
        resource("app://x/{sku}")(fn)


async def test_a_prompt_has_the_caller_of_its_call() -> None:
    @prompt()
    async def telling(name: str, caller: Caller) -> str:
        await caller.log("info", name)
        return "told"

    assert telling.info.asks == {"progress", "log"}
    caller = RecordingCaller()
    async with build(empty_layer(), seeds=seed(Caller)) as opened:
        surface = opened.surface(NOTHING, prompts=[telling])
        assert (await surface.prompt("telling", {"name": "x"}, caller)).unwrap()
        assert (await surface.prompt("telling", {"name": "y"})).unwrap()
    assert caller.told == [("log", "info", "x")]
    with pytest.raises(ConstructionError, match="asks its caller for elicit, and takes none"):
        prompt(asks=("elicit",))(single.fn)


def test_a_prompts_signature_is_checked_too() -> None:
    with pytest.raises(ConstructionError, match="SIGNATURE prompt no_hint"):
        prompt()(no_hint)
