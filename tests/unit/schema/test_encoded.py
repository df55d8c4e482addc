from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any

import annotated_types as at
import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError
from lamina.schema import Encoded, codec


def to_path(text: str) -> PurePosixPath:
    if "SECRET" in text:
        raise ValueError(f"will not take {text}")
    return PurePosixPath(text)


@attrs.frozen
class Rgb:
    red: int
    green: int
    blue: int


@attrs.frozen
class Wire:
    hex: Annotated[str, at.Len(6, 6)]


def from_wire(wire: Wire) -> Result[Rgb, str]:
    try:
        return Success(Rgb(*bytes.fromhex(wire.hex)))
    except ValueError as error:
        return Failure(str(error))


def to_wire(colour: Rgb) -> Wire:
    return Wire(bytes([colour.red, colour.green, colour.blue]).hex())


Path = Annotated[PurePosixPath, Encoded(str, decode=to_path, encode=str, limits=(at.MinLen(1),))]
Colour = Annotated[Rgb, Encoded(Wire, decode=from_wire, encode=to_wire, expected="a colour")]


@attrs.frozen
class Page:
    path: Path
    colour: Colour = Rgb(0, 0, 255)


def test_the_encoded_side_is_another_type() -> None:
    page = codec(Page)
    plain = {"path": "a/b", "colour": {"hex": "ff0000"}}
    assert page.decode(plain) == Success(Page(PurePosixPath("a/b"), Rgb(255, 0, 0)))
    assert page.encode(Page(PurePosixPath("a/b"), Rgb(255, 0, 0))) == Success(plain)


def test_the_schema_is_the_encoded_sides() -> None:
    schema: Any = codec(Page).json_schema
    assert schema["properties"]["path"] == {"type": "string", "minLength": 1}
    assert schema["properties"]["colour"] == {"$ref": "#/$defs/Wire", "default": {"hex": "0000ff"}}


def test_failures_are_problems_and_never_quoted() -> None:
    read = codec(Page).decode({"path": "SECRET", "colour": {"hex": "SECRET"}})
    assert read.failure().problems == ("$.path: expected PurePosixPath", "$.colour: expected a colour")
    assert codec(Page).decode({"path": ""}).failure().problems == ("$.path: expected at least 1 character",)


def test_what_is_written_must_be_of_the_type() -> None:
    page = Page("a", Rgb(0, 0, 999))  # type: ignore[arg-type]  # that is the point
    assert codec(Page).encode(page).failure().problems == (
        "$.path: expected PurePosixPath",
        "$.colour: expected a colour",
    )


def test_limits_belong_to_the_encoded_side() -> None:
    with pytest.raises(ConstructionError, match="as Encoded"):
        codec(Annotated[PurePosixPath, Encoded(str, decode=PurePosixPath, encode=str), at.MinLen(1)])
