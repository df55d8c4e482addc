from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from returns.result import Failure, Success

from lamina.schema import JsonLimits, JsonValue, canonical_json, canonical_text, codec, is_json

ANY = codec(JsonValue)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON: the text is empty"),
        (" \n ", "not JSON: the text is empty"),
        ("[1,", "not JSON: it ends too early, at line 1 column 4"),
        ('{"a": "b', "not JSON: it ends too early"),
        ("1 2", "not JSON: something follows the value, at line 1 column 3"),
        ("[1,\n 2,,]", "not JSON: unexpected character, at line 2 column 4"),
        ("NaN", "not JSON: NaN and Infinity are no JSON numbers, at line 1 column 1"),
        ("[-Infinity]", "not JSON: NaN and Infinity are no JSON numbers"),
        ("1e400", "not JSON: a number is out of range"),
        ("[1234567890123456789, 1e400]", "not JSON: a number is out of range"),
        ("1" * 5000, "not JSON: a number is out of range"),
        ("'a'", "not JSON: unexpected character"),
        ("{a: 1}", "not JSON: unexpected character"),
        ("[1,]", "not JSON"),
        ('"\\ud800"', "not JSON: a surrogate without its pair"),
        ('"\ud800"', "not JSON: a surrogate without its pair"),
        (b'"\xff"', "not JSON: it is not UTF-8"),
        ("\ufeff1", "not JSON: it starts with a byte order mark"),
        ('{"a": 1, "a": 1}', "not JSON: an object has the same key twice"),
        ('[{"b": {"a": 1, "\\u0061": 2}}]', "not JSON: an object has the same key twice"),
        ('{"a": "::::", "a": ""}', "not JSON: an object has the same key twice"),
        ("[" * 100_000, "not JSON: nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "not JSON: nested too deeply"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "not JSON: nested too deeply"),
        ("[" * 65 + "]" * 65, "nested too deeply"),
        ("[" * 500 + "12345678901234567890" + "]" * 500, "nested too deeply"),
        ('"' + "x" * (1 << 20) + '"', "too large: more than 1048576 bytes"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_what_is_no_json_is_one_clear_problem(text: str | bytes, why: str) -> None:
    read = ANY.decode_json(text)
    assert isinstance(read, Failure)
    (problem,) = read.failure().problems
    assert problem.startswith(f"$: {why}"), problem


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "\\u003a", "b": ":"}',
        '{"a:": 1, "b:": 2}',
        "12345678901234567890123456789",
        "-12345678901234567890123456789",
        "[18446744073709551615, -9223372036854775808]",
        "0.12345678901234567890123",
        '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}',
        '"\\ud83d\\ude00"',
        '"\\u0000"',
        " [ ] ",
        "[" * 64 + "]" * 64,
    ],
)
def test_what_is_json_reads_as_the_standard_library_reads_it(text: str) -> None:
    assert ANY.decode_json(text) == Success(json.loads(text))


@pytest.mark.parametrize("described", [int, list[int], JsonValue])
def test_an_integer_that_no_text_could_bring_back_is_refused_both_ways(described: Any) -> None:
    of, largest = codec(described), int(sys.float_info.max)
    for beyond in (largest + 2**1000, -(10**400), 10**5000):
        value = [beyond] if described == list[int] else beyond
        for refused in (of.decode(value), of.encode(value), of.encode_json(value)):
            assert isinstance(refused, Failure)
        assert not is_json(value)
    for good in (largest, -largest):
        value = [good] if described == list[int] else good
        assert of.decode_json(of.encode_json(value).unwrap()) == Success(value)
    assert codec(int).encode(10**400).failure().problems == ("$: expected number in the range of a double",)


def test_integers_keep_every_digit() -> None:
    huge = 10**40 + 1
    text = codec(list[int]).encode_json([huge, 2**64, -(2**63) - 1]).unwrap()
    assert json.loads(text) == [huge, 2**64, -(2**63) - 1]
    assert codec(list[int]).decode_json(text) == Success([huge, 2**64, -(2**63) - 1])


@pytest.mark.parametrize("value", [None, True, 1, 10**30, 1.5, "é", [], {}, {"a": [1, {"b": None}]}])
def test_is_json(value: object) -> None:
    assert is_json(value)


@pytest.mark.parametrize(
    "value",
    [
        (1,),
        {1: 2},
        {"a": {1}},
        float("nan"),
        [float("inf")],
        b"x",
        object(),
        "\ud800",
        {"\ud800": 1},
        type("S", (str,), {})("x"),
    ],
)
def test_is_no_json(value: object) -> None:
    assert not is_json(value)


def test_cycles_and_shared_parts_end() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    shared: list[Any] = []
    for _ in range(60):
        shared = [shared, shared]
    for value, why in ((cycle, "$: nested too deeply"), (shared, "$: too large")):
        assert not is_json(value)
        assert ANY.decode(value).failure().problems == (why,)
        assert ANY.encode(value).failure().problems == (why,)


def test_canonical_json_depends_on_the_value_only() -> None:
    assert canonical_json({"b": 1, "a": {"d": [], "c": "é"}}) == '{"a":{"c":"é","d":[]},"b":1}'.encode()
    assert canonical_json({"b": 10**30, "a": 1}) == b'{"a":1,"b":1000000000000000000000000000000}'
    assert canonical_json({"b": 1, "a": 2}) == canonical_json({"a": 2, "b": 1})


@pytest.mark.parametrize("value", [(1,), float("nan"), {1: 2}, "\ud800"])
def test_canonical_json_refuses_what_is_no_json(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON values only"):
        canonical_json(value)


@pytest.mark.parametrize(
    "text", ['{"b":1,"a":[2.5,null]}', " {} ", "1.0", '"é"', "9" * 20, "[" * 64 + "]" * 64, '"\\u0000"']
)
def test_canonical_text_is_what_canonical_json_gives_of_the_value(text: str) -> None:
    assert canonical_text(text) == canonical_json(codec(JsonValue).decode_json(text).unwrap())


@pytest.mark.parametrize(
    "text", ["", "{", '{"x":1,"x":2}', "NaN", "1e400", "1" * 400, '"\\ud800"', "\ud800", "[" * 65 + "]" * 65]
)
def test_canonical_text_is_of_json_only(text: str) -> None:
    assert isinstance(codec(JsonValue).decode_json(text), Failure)
    assert canonical_text(text) is None


@pytest.mark.parametrize("wrong", [{"max_bytes": 0}, {"max_depth": 0}, {"max_depth": 201}])
def test_limits_that_limit_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="max_"):
        JsonLimits(**wrong)
