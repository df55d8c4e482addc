from __future__ import annotations

import time

import attrs
import pytest

from lamina.schema import codec


@attrs.frozen
class Item:
    price: int
    name: str = ""


@attrs.frozen
class Order:
    who: str
    items: list[Item]
    prices: dict[str, int] = attrs.field(factory=dict)


def test_every_problem_is_told_at_once_with_its_path() -> None:
    read = codec(Order).decode({"who": 5, "items": [{"price": 1}, {"price": "x"}, 3], "prices": {"a": 1, "b": "x"}})
    assert read.failure().problems == (
        "$.who: expected string",
        "$.items[1].price: expected integer",
        "$.items[2]: expected object",
        "$.prices[key 2]: expected integer",
    )


def test_a_made_up_key_is_not_quoted_but_a_near_name_is_told() -> None:
    items = codec(Item)
    assert items.decode({"price": 1, "SECRET": 1}).failure().problems == (
        "$: an undeclared key; declared are name, price",
    )
    assert items.decode({"price": 1, "nmae": ""}).failure().problems == (
        "$: an undeclared key; perhaps name was meant",
    )
    many = items.decode({"price": 1, **{f"SECRET{n}": n for n in range(9)}}).failure().problems
    assert many == ("$: 9 undeclared keys; declared are name, price",)


def test_a_class_without_fields_says_so() -> None:
    assert codec(attrs.make_class("Empty", {})).decode({"a": 1}).failure().problems == (
        "$: an undeclared key; declared is none",
    )


def test_thirty_two_problems_are_told_and_the_rest_counted() -> None:
    problems = codec(list[int]).decode(["x"] * 40).failure().problems
    assert len(problems) == 33
    assert problems[31:] == ("$[31]: expected integer", "and 8 more")
    assert codec(list[int]).decode(["x"] * 32).failure().problems[-1] == "$[31]: expected integer"
    nested = codec(list[list[int]]).decode([["x"] * 20, ["x"] * 20]).failure().problems
    assert nested[-1] == "and 8 more"


def test_a_hostile_value_ends_the_search() -> None:
    started = time.process_time()
    problems = codec(list[Item]).decode([{}] * 300_000).failure().problems
    assert problems[-1] == "and at least 1000 more"
    assert time.process_time() - started < 5


def test_a_long_path_is_cut_in_the_middle() -> None:
    name = "n" * 100
    inner = attrs.make_class("Inner", {name: attrs.field(type=int)})
    outer = attrs.make_class("Outer", {name: attrs.field(type=inner)})
    (problem,) = codec(outer).decode({name: {name: "x"}}).failure().problems
    assert len(problem) < 200
    assert problem.startswith("$.nnn")
    assert "…" in problem
    assert problem.endswith("n: expected integer")


@pytest.mark.parametrize(
    "value", ["CANARY", ["CANARY"], {"CANARY": "CANARY"}, {"who": {"CANARY": 1}, "items": "CANARY"}]
)
def test_nothing_that_was_sent_is_quoted(value: object) -> None:
    assert "CANARY" not in repr(codec(Order).decode(value).failure())
