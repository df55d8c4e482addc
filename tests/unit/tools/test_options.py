"""What a tool's decorator may be told, its defaults, and what is refused."""

from __future__ import annotations

from typing import Any, Never

import attrs
import pytest

from lamina.approval import Ask
from lamina.effect import ConstructionError, Need, Try
from lamina.tools import ConcurrencyGroup, Tool, Toolkit, tool


@attrs.frozen
class Word:
    text: str


class Shop:
    is_open = True


async def say(call: Word, ok: Try[Never]) -> str:
    return call.text


def made(**options: Any) -> Tool[Any, Any, Any]:
    decorate: Any = tool(**options)
    return decorate(say)


def test_every_option_is_kept() -> None:
    ask, group = Ask[Word](risk="high"), ConcurrencyGroup("net", 2)
    one = made(
        needs_approval=True,
        approval=ask,
        name="speak",
        execution="idempotent",
        failure_mode="error",
        max_concurrency=3,
        groups=(group,),
    )

    assert (one.name, one.spec.name) == ("speak", "speak")
    assert (one.ask, one.execution, one.failure_mode) == (ask, "idempotent", "error")
    assert (one.max_concurrency, one.groups) == (3, (group,))


def test_needs_approval_alone_asks_with_the_defaults() -> None:
    assert made(needs_approval=True).ask == Ask()
    assert made().ask is None


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"approval": Ask[Word]()}, "approval= is given without needs_approval=True"),
        ({"execution": "never"}, "execution is one of readonly, idempotent, uncertain"),
        ({"failure_mode": "raise"}, "failure_mode is one of return, error"),
        ({"max_concurrency": 0}, "max_concurrency is 1 or more"),
        ({"groups": (ConcurrencyGroup("a", 1), ConcurrencyGroup("a", 1))}, "two groups have one name"),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(options: dict[str, Any], line: str) -> None:
    with pytest.raises(ConstructionError) as refused:
        made(**options)

    assert line in refused.value.problems[0].lines
    assert "test_options.py:" in refused.value.problems[0].lines[-1]


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b", "a\n"])
def test_a_name_is_one_that_every_provider_takes(name: str) -> None:
    with pytest.raises(ConstructionError):
        Tool.dynamic(name, {"type": "object"}, say)  # type: ignore[arg-type]


def test_groups_are_held_in_one_order_and_once() -> None:
    a, b = ConcurrencyGroup("a", 1), ConcurrencyGroup("b", 1)

    assert made(groups=(b, a, b)).groups == (a, b)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_groups_limit_is_one_or_more(limit: int) -> None:
    with pytest.raises(ConstructionError, match=rf"limit is {limit}  .*test_options.py:\d+"):
        ConcurrencyGroup("net", limit)


async def test_availability_is_a_function_of_services_plain_or_async() -> None:
    def plain(shop: Shop) -> bool:
        return shop.is_open

    async def waits(shop: Shop) -> bool:
        return shop.is_open

    class Callable:
        async def __call__(self, shop: Shop) -> bool:
            return shop.is_open

    for check in (plain, waits, Callable()):
        one = made(available=check)
        assert one.available_needs == (Need("shop", Shop),)
        assert one.available is not None
        assert await one.available(Shop()) is True


def test_an_availability_without_annotations_is_refused() -> None:
    with pytest.raises(ConstructionError, match="'shop' has no annotation"):
        made(available=lambda shop: True)


def test_toolkits_compose_in_order_and_a_tool_twice_is_once() -> None:
    a, b, c = made(name="a"), made(name="b"), made(name="c")

    assert (a | b | c).tools == (a, b, c)
    assert ((a | b) | (b | c)).tools == (a, b, c)
    assert list(a | b) == [a, b]
    assert Toolkit.empty().tools == ()
    assert repr(a | b) == "Toolkit(a, b)"
    assert repr(a).startswith("Tool('a', ")


def test_two_tools_of_one_name_are_refused_with_both_places() -> None:
    @tool(name="say")
    async def other(call: Word, ok: Try[Never]) -> str:
        return call.text

    with pytest.raises(ConstructionError) as refused:
        made() | other

    (problem,) = refused.value.problems
    assert (problem.kind, problem.subject) == ("DUPLICATE", "tool say")
    assert problem.lines == (f"tool say  {made().where}", f"tool say  {other.where}")
    assert "test_options.py:" in str(refused.value)
