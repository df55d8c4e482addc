from __future__ import annotations

from typing import Any, Generic, TypeVar

import attrs
import pytest
from returns.result import Success
from typing_extensions import TypeAliasType

from lamina.effect import ConstructionError
from lamina.schema import codec

T = TypeVar("T")
U = TypeVar("U")


@attrs.frozen
class Box(Generic[T]):
    item: T


@attrs.frozen
class IntBox(Box[int]):
    more: str = ""


@attrs.frozen
class Both(Box[int], Generic[T]):
    others: list[T]


@attrs.frozen
class Swapped(Both[U], Generic[T, U]):
    last: dict[str, T | None]


@attrs.frozen
class Node(Generic[T]):
    value: T
    after: Node[T] | None = None


@attrs.frozen
class Grows(Generic[T]):
    inner: Grows[list[T]] | None


Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Chain = TypeAliasType("Chain", "tuple[T, Chain[T]] | None", type_params=(T,))
Swelling = TypeAliasType("Swelling", "tuple[T, Swelling[list[T]]] | None", type_params=(T,))


@pytest.mark.parametrize(
    ("described", "plain", "value"),
    [
        (Box[int], {"item": 1}, Box(1)),
        (Box[Box[str]], {"item": {"item": "a"}}, Box(Box("a"))),
        (IntBox, {"item": 1, "more": ""}, IntBox(1)),
        (Both[str], {"item": 1, "others": ["a"]}, Both(1, ["a"])),
        (Swapped[int, str], {"item": 1, "others": ["a"], "last": {"a": 1}}, Swapped(1, ["a"], {"a": 1})),
        (Node[int], {"value": 1, "after": {"value": 2, "after": None}}, Node(1, Node(2))),
        (Pair[int], [1, 2], (1, 2)),
        (Chain[int], [1, [2, None]], (1, (2, None))),
    ],
)
def test_type_variables_are_filled_in(described: Any, plain: object, value: object) -> None:
    assert codec(described).decode(plain) == Success(value)
    assert codec(described).encode(value) == Success(plain)


def test_a_filled_in_type_is_held_to() -> None:
    assert codec(Node[int]).decode({"value": 1, "after": {"value": "x"}}).failure().problems == (
        "$.after.value: expected integer",
    )
    assert codec(Swapped[int, str]).decode({"item": "", "others": [1], "last": {"a": "x"}}).failure().problems == (
        "$.item: expected integer",
        "$.others[0]: expected string",
        "$.last[key 1]: expected integer or null",
    )


def test_each_use_has_a_schema_of_its_own() -> None:
    schema: Any = codec(tuple[Box[int], Box[str], Box[int]]).json_schema
    assert list(schema["$defs"]) == ["Box_int", "Box_str"]
    assert schema["$defs"]["Box_int"]["title"] == "Box[int]"


@pytest.mark.parametrize(
    ("described", "why"),
    [(Box, "a type variable is open"), (Grows[int], "grows without end"), (Swelling[int], "grows without end")],
)
def test_what_is_not_filled_in_is_refused(described: Any, why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        codec(described)
