from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import attrs
import pytest
from returns.result import Failure, Success

from lamina.effect import message_of, tagged
from lamina.schema import JsonLimits, JsonValue, Mismatch, codec


@attrs.frozen
class One:
    x: int


@attrs.frozen
class Tree:
    name: str
    kids: list[Tree] = attrs.field(factory=list)


@tagged("Issue {number} was not found.")
class NotFound:
    number: int


def problems(result: object) -> tuple[str, ...]:
    assert isinstance(result, Failure), result
    mismatch = result.failure()
    assert isinstance(mismatch, Mismatch)
    return mismatch.problems


def test_a_codec_is_made_once() -> None:
    assert codec(One) is codec(One)
    assert codec(list[One]) is codec(list[One])
    assert repr(codec(list[One])) == "codec(list[One])"
    assert codec(list[One]).type == list[One]


def test_unions_that_compare_equal_keep_their_own_order() -> None:
    one, two = codec(int | str).json_schema, codec(str | int).json_schema
    assert one["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert two["anyOf"] == [{"type": "string"}, {"type": "integer"}]


def test_metadata_that_cannot_be_hashed_is_no_trouble() -> None:
    assert codec(Annotated[int, {"mine": []}]).decode(1) == Success(1)


def test_decode_and_encode() -> None:
    assert codec(One).decode({"x": 1}) == Success(One(1))
    assert codec(One).decode_json('{"x": 1}') == Success(One(1))
    assert codec(One).decode_json(b'{"x": 1}') == Success(One(1))
    assert codec(One).encode(One(1)) == Success({"x": 1})
    assert codec(One).encode_json(One(1)) == Success(b'{"x":1}')


@pytest.mark.parametrize("wrong", ["x", True, 1.0, None, One(1)])
def test_encode_checks_the_value_against_the_type(wrong: object) -> None:
    integers = codec(int)
    assert problems(integers.encode(wrong)) == ("$: expected integer",)  # type: ignore[arg-type]  # that is the point
    assert isinstance(integers.encode_json(wrong), Failure)  # type: ignore[arg-type]  # that is the point


def test_a_tagged_error_carries_its_tag_everywhere() -> None:
    errors = codec(NotFound)
    plain = {"_tag": "NotFound", "number": 7}
    assert errors.encode(NotFound(7)) == Success(plain)
    assert codec(list[NotFound]).encode([NotFound(7)]) == Success([plain])
    assert errors.decode(plain) == Success(NotFound(7))
    assert problems(errors.decode({"number": 7})) == ("$: missing _tag; expected NotFound",)
    assert errors.json_schema["properties"]["_tag"] == {"type": "string", "const": "NotFound"}  # type: ignore[call-overload, index]  # JSON


def test_limits_of_depth_and_size_are_settable() -> None:
    nested = codec(JsonValue)
    assert isinstance(nested.decode_json("[[[]]]", limits=JsonLimits(max_depth=3)), Success)
    assert problems(nested.decode_json("[[[[]]]]", limits=JsonLimits(max_depth=3))) == ("$: nested too deeply",)
    assert problems(nested.decode([[[[]]]], limits=JsonLimits(max_depth=3))) == ("$: nested too deeply",)
    assert problems(nested.decode_json('"ééé"', limits=JsonLimits(max_bytes=7))) == ("$: too large: more than 7 bytes",)
    assert isinstance(nested.decode_json('"ééé"', limits=JsonLimits(max_bytes=8)), Success)


def test_a_value_that_is_too_deep_to_read_back_is_not_written() -> None:
    tree = Tree("leaf")
    for _ in range(31):
        tree = Tree("node", [tree])
    assert isinstance(codec(Tree).encode(tree), Success)  # 32 objects and 32 lists
    deeper = codec(Tree).encode(Tree("node", [tree]))
    assert problems(deeper) == ("$: nested too deeply",)


def test_many_threads_may_read_a_recursive_type_for_the_first_time() -> None:
    @attrs.frozen
    class Fresh:
        kids: list[Fresh]

    fresh = codec(Fresh)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh.decode({"kids": [{"kids": 1}]}), range(64)))
    assert {problems(one) for one in found} == {("$.kids[0].kids: expected array",)}


def test_a_mismatch_has_a_message() -> None:
    mismatch = codec(One).decode({}).failure()
    assert message_of(mismatch) == "$.x: missing"


async def test_nothing_needs_an_event_loop_and_any_will_do() -> None:
    assert codec(One).decode({"x": 1}) == Success(One(1))
