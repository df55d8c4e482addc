"""A tool is its signature: what is read from it, and what is refused with file and line."""

from __future__ import annotations

from typing import Any, Never, NoReturn

import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Need, Try, tagged
from lamina.tools import Tool, tool


@attrs.frozen
class Word:
    text: str


@tagged("No {text}.")
class NoSuchWord:
    text: str


class Shop:
    pass


class Bank:
    pass


def refused(make: Any, *expected: str) -> str:
    """Give the report of a tool that cannot be made; it names this file and the handler's line."""
    with pytest.raises(ConstructionError) as caught:
        tool()(make)
    report = str(caught.value)
    assert f"test_signatures.py:{make.__code__.co_firstlineno}" in report
    for text in expected:
        assert text in report
    return report


def test_a_try_handler_says_everything() -> None:
    @tool()
    async def buy(call: Word, ok: Try[NoSuchWord], shop: Shop, bank: Bank) -> list[int]:
        """Buy it.

        At once.
        """
        return []

    assert (buy.name, buy.description) == ("buy", "Buy it.\n\nAt once.")
    assert buy.needs == (Need("shop", Shop), Need("bank", Bank))
    assert (buy.input.type, buy.success.type) == (Word, list[int])
    assert buy.failure is not None
    assert buy.failure.decode({"_tag": "NoSuchWord", "text": "a"}) == Success(NoSuchWord("a"))
    assert buy.spec.input_schema["required"] == ["text"]
    assert buy.where.file == __file__
    assert (buy.execution, buy.failure_mode, buy.ask, buy.max_concurrency) == ("uncertain", "return", None, None)
    assert buy.tools == (buy,)


async def test_a_result_handler_says_everything() -> None:
    @tool()
    async def fetch(call: Word, shop: Shop) -> Result[int, NoSuchWord]:
        return Failure(NoSuchWord("a"))

    assert fetch.needs == (Need("shop", Shop),)
    assert fetch.success.type is int
    assert fetch.description == ""
    assert await fetch.handler(Word("a"), Shop()) == Failure(NoSuchWord("a"))


@pytest.mark.parametrize("never", [Never, NoReturn])
def test_a_handler_that_cannot_fail_has_no_failure_schema(never: Any) -> None:
    async def one(call: Word, ok: Try[never]) -> int:
        return 1

    async def other(call: Word) -> Result[int, never]:
        return Success(1)

    one.__annotations__ = {"call": Word, "ok": Try[never], "return": int}
    other.__annotations__ = {"call": Word, "return": Result[int, never]}
    made: list[Tool[Any, Any, Any]] = [tool()(one), tool()(other)]
    assert [each.failure for each in made] == [None, None]


def test_no_annotations_at_all_are_refused() -> None:
    async def bare(call):  # type: ignore[no-untyped-def]
        return 1

    report = refused(bare, "SIGNATURE tool bare", "the first parameter is the input, and has an annotation")
    assert "the return annotation is missing" in report
    assert "write: async def bare(call: Input, ok: Try[SomeFailure], service: Service) -> Output: ..." in report


def test_no_parameters_are_refused() -> None:
    async def nothing() -> Result[int, str]:
        return Success(1)

    refused(nothing, "the first parameter is the input")


def test_a_bare_return_annotation_is_refused() -> None:
    async def bare(call: Word) -> int:
        return 1

    refused(bare, "it returns a bare value: declare failures with `ok: Try[...]`, or return a Result")


def test_a_result_beside_a_try_is_refused() -> None:
    async def both(call: Word, ok: Try[NoSuchWord]) -> Result[int, NoSuchWord]:
        return Success(1)

    refused(both, "with a Try the handler returns its bare value, not a Result")


def test_a_plain_function_is_refused() -> None:
    def plain(call: Word, ok: Try[Never]) -> int:
        return 1

    refused(plain, "a handler is `async def`; blocking work goes through anyio.to_thread.run_sync")


def test_an_input_that_is_no_attrs_class_is_refused() -> None:
    async def plain(call: str, ok: Try[Never]) -> int:
        return 1

    refused(plain, "the input, call, is an attrs class; `@tool.simple` takes plain parameters")


@attrs.frozen
class Odd:
    thing: Shop


@pytest.mark.parametrize(
    ("what", "hints"),
    [
        ("input", {"call": Odd, "ok": Try[NoSuchWord], "return": int}),
        ("value", {"call": Word, "ok": Try[NoSuchWord], "return": Odd}),
        ("failures", {"call": Word, "ok": Try[Odd], "return": int}),
    ],
)
def test_what_cannot_be_described_is_named_with_its_role(what: str, hints: dict[str, Any]) -> None:
    async def odd(call: Any, ok: Any) -> Any:
        return 1

    odd.__annotations__ = hints
    refused(odd, f"the {what} of tool odd", "Odd.thing")


def test_services_without_an_annotation_or_with_a_default_are_refused_together() -> None:
    async def odd(call: Word, ok: Try[Never], shop, bank: Bank = Bank(), *, more: Shop) -> int:  # type: ignore[no-untyped-def]
        return 1

    refused(odd, "'shop' has no annotation", "'bank' has a default", "'more' is keyword-only")


async def test_a_bare_try_is_a_service_that_nobody_offers() -> None:
    @tool()
    async def odd(call: Word, ok: Try) -> Result[int, str]:  # type: ignore[type-arg]
        return Success(1)

    assert odd.needs == (Need("ok", Try),)
