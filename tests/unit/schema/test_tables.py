from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import annotated_types as at
import pytest
from returns.result import Failure, Success

from lamina.effect import ConstructionError
from lamina.schema import codec


class Colour(enum.Enum):
    RED = "red"


def test_mappings_of_strings() -> None:
    assert codec(dict[str, int]).decode({"a": 1}) == Success({"a": 1})
    assert codec(Mapping[str, int]).decode({"a": 1}) == Success({"a": 1})
    assert codec(dict).decode({"a": [None]}) == Success({"a": [None]})
    assert codec(dict[Colour, int]).decode({"red": 1}) == Success({Colour.RED: 1})
    assert codec(dict[Colour, int]).encode({Colour.RED: 1}) == Success({"red": 1})


@pytest.mark.parametrize("value", [[], "a", None, MappingProxyType({"a": 1}), OrderedDict(a=1), defaultdict(int, a=1)])
def test_only_a_dict_is_a_json_object(value: object) -> None:
    assert codec(dict[str, int]).decode(value).failure().problems == ("$: expected object",)


def test_what_may_be_written() -> None:
    assert codec(Mapping[str, int]).encode(MappingProxyType({"a": 1})) == Success({"a": 1})
    assert codec(dict[str, int]).encode(defaultdict(int, a=1)) == Success({"a": 1})
    assert isinstance(codec(dict[str, int]).encode(MappingProxyType({"a": 1})), Failure)  # type: ignore[arg-type]  # that is the point
    assert codec(dict[str, int]).encode({1: 1}).failure().problems == ("$[key 1]: the key: expected string",)  # type: ignore[dict-item]  # that is the point


def test_keys_have_limits_too() -> None:
    short = codec(dict[Annotated[str, at.MaxLen(2)], int])
    assert short.json_schema["propertyNames"] == {"type": "string", "maxLength": 2}
    assert short.decode({"a": 1, "SECRET": "x"}).failure().problems == (
        "$[key 2]: the key: expected at most 2 characters",
        "$[key 2]: expected integer",
    )
    some = codec(Annotated[dict[str, int], at.MinLen(1)])
    assert some.decode({}).failure().problems == ("$: expected at least 1 member",)
    assert some.json_schema["minProperties"] == 1


@pytest.mark.parametrize("key", [int, float, bool, Literal[1], int | str, tuple[int, ...]])
def test_other_keys_are_refused(key: Any) -> None:
    with pytest.raises(ConstructionError, match="the keys of a JSON object are str"):
        codec(dict[key, int])
