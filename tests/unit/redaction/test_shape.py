from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Never

import attrs
import orjson
import pytest

from lamina.redaction import MOST_BYTES, shape


@attrs.frozen
class Write:
    path: str
    lines: tuple[int, ...]


@dataclasses.dataclass
class Data:
    text: str


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "[REDACTED:string]"),
        (1, "[REDACTED:number]"),
        (1.5, "[REDACTED:number]"),
        (True, "[REDACTED:boolean]"),
        (None, None),
        (b"x", "[REDACTED:bytes]"),
        ([], []),
        ({}, {}),
        (object(), "[REDACTED:object]"),
        (Write, "[REDACTED:object]"),
        (ValueError("canary"), "[REDACTED:object]"),
        (["a", "b", 1], ["[REDACTED:string]", "[REDACTED:1 more]", "[REDACTED:number]"]),
        ([None, None, None], [None, "[REDACTED:2 more]"]),
        ({"a": 1, "b": "x"}, {"[REDACTED:key]": "[REDACTED:number]", "[REDACTED:key 2]": "[REDACTED:string]"}),
        (
            Write("/etc", (1, 2, 3)),
            {"path": "[REDACTED:string]", "lines": ["[REDACTED:number]", "[REDACTED:2 more]"]},
        ),
        (Data("x"), {"text": "[REDACTED:string]"}),
    ],
)
def test_shapes(value: object, expected: object) -> None:
    assert shape(value) == expected


def test_names_are_shown_and_nothing_else() -> None:
    assert shape({"path": {"path": 1, "x": 2}, "y": 3}, names={"path"}) == {
        "path": {"path": "[REDACTED:number]", "[REDACTED:key]": "[REDACTED:number]"},
        "[REDACTED:key]": "[REDACTED:number]",
    }
    assert "canary" not in repr(shape({"canary": 1, "path": 2}, names={"path"}))


def test_it_is_bounded_in_depth_values_and_bytes() -> None:
    deep: Any = "canary"
    for _ in range(400):
        deep = {"a": deep}
    loop: list[Any] = []
    loop.append(loop)
    wide = {str(index): index for index in range(100_000)}
    mixed = [index if index % 2 else "x" for index in range(100_000)]
    names = {"n" * 3_000: 1, "m" * 3_000: 2, "o" * 3_000: 3, "p": 4}

    for value in (deep, loop, wide, mixed, names, [wide, wide], [[mixed] * 9] * 9):
        out = shape(value, names=names)
        assert len(orjson.dumps(out)) <= MOST_BYTES
    assert "[REDACTED:depth]" in repr(shape(deep))
    assert "[REDACTED:more]" in repr(shape(wide))
    assert shape(["x"] * 1_000) == ["[REDACTED:string]", "[REDACTED:999 more]"]
    assert "more]" in shape(mixed)[-1]  # type: ignore[index,operator]


def test_what_breaks_when_it_is_read_has_a_shape() -> None:
    class Broken(Mapping[str, int]):
        def __getitem__(self, key: str) -> Never:
            raise ValueError("canary")

        def __iter__(self) -> Never:
            raise ValueError("canary")

        def __len__(self) -> int:
            return 1

    assert shape(Broken()) == "[REDACTED:object]"
