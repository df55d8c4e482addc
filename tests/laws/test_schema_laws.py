"""Two laws: what is encoded is valid and reads back equal; and decoder and JSON Schema accept the same JSON.

The profile in which the second law holds, where a JSON Schema validator alone would accept more:

* integers written with a fraction or exponent are taken up to 2**53, where a double is exact;
* numbers must fit into a double where the type is `float`;
* `$` in a pattern is the end of the text (Python's `re` also takes the place before a last newline);
* `format` is checked, and `date-time` has no leap second and no year 0, which Python cannot hold;
* attrs validators and `Encoded` functions may refuse more than a schema can say.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import keyword
import re
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import annotated_types as at
import attrs
import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from returns.result import Failure, Success

from lamina.schema import Codec, JsonValue, codec
from lamina.schema._json import is_text

quick = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))

FORMATS = FormatChecker(formats=["uuid", "date"])


@FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    """RFC 3339 §5.6, written apart from the decoder."""
    if not isinstance(value, str):
        return True
    match = re.fullmatch(
        r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|[+-](\d\d):(\d\d))", value, re.ASCII
    )
    if match is None:
        return False
    year, month, day, hour, minute, second, _, off_hour, off_minute = (int(part or 0) for part in match.groups())
    dt.datetime(year, month, day, hour, minute, second)
    return off_hour < 24 and off_minute < 60


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@attrs.frozen
class Card:
    """Pay by card."""

    number: str
    cvc: Annotated[int, at.Ge(0), at.Lt(1000)] = 0


@attrs.frozen
class Cash:
    given: int
    change: float | None = None


@attrs.frozen
class Tree:
    name: Annotated[str, at.Len(1, 5)]
    kids: list[Tree] = attrs.field(factory=list)


JSON_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
JSON = st.recursive(
    JSON_SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
).filter(lambda value: all(is_text(part) for part in _texts(value)))


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)

# Each entry: a type, and a strategy of its values.
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (type(None), st.none()),
    (Literal["a", 1, True, None], st.sampled_from(["a", 1, True, None])),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (dt.datetime, st.datetimes(min_value=dt.datetime(1, 1, 3), max_value=dt.datetime(9999, 12, 28), timezones=OFFSETS)),
    (dt.date, st.dates()),
    (dt.time, st.times()),
    (dt.timedelta, st.timedeltas(dt.timedelta(days=-99999999), dt.timedelta(days=99999999))),
    (UUID, st.uuids()),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9)),
    (bytes, st.binary(max_size=8)),
    (Annotated[int, at.Interval(ge=-3, lt=8)], st.integers(-3, 7)),
    (Annotated[int, at.MultipleOf(3), at.Gt(0)], st.integers(1, 50).map(lambda n: 3 * n)),
    (Annotated[float, at.Le(2.5)], st.floats(max_value=2.5, allow_nan=False, allow_infinity=False)),
    (
        Annotated[str, at.MinLen(1), at.MaxLen(3)],
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
    ),
    (JsonValue, JSON),
    (Card, st.builds(Card, TEXT, st.integers(0, 999))),
    (
        Tree,
        st.recursive(
            st.builds(Tree, st.text("ab", min_size=1, max_size=5)),
            lambda t: st.builds(Tree, st.just("n"), st.lists(t, max_size=2)),
            max_leaves=4,
        ),
    ),
    (
        Card | Cash,
        st.builds(Card, TEXT, st.integers(0, 9)) | st.builds(Cash, st.integers(), st.none() | st.floats(-9, 9)),
    ),
    (Card | Cash | None, st.builds(Card, TEXT) | st.builds(Cash, st.integers()) | st.none()),
    (int | float | None, st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.none()),
    (Literal["auto"] | int, st.just("auto") | st.integers()),
    (str | list[int], TEXT | st.lists(st.integers(), max_size=3)),
]


def _nested(inner: tuple[Any, st.SearchStrategy[Any]]) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    described, values = inner
    options: list[tuple[Any, st.SearchStrategy[Any]]] = [
        (list[described], st.lists(values, max_size=3)),
        (Annotated[list[described], at.MinLen(1)], st.lists(values, min_size=1, max_size=3)),
        (tuple[described, ...], st.lists(values, max_size=3).map(tuple)),
        (tuple[described, str], st.tuples(values, TEXT)),
        (dict[str, described], st.dictionaries(TEXT, values, max_size=3)),
    ]
    if described in (str, int, dt.date, UUID, Colour):
        options.append((frozenset[described], st.frozensets(values, max_size=3)))
    if described not in (type(None), JsonValue):
        options.append((described | None, st.none() | values))
    return st.sampled_from(options)


@st.composite
def _class(
    draw: st.DrawFn, parts: st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]
) -> tuple[Any, st.SearchStrategy[Any]]:
    names = draw(
        st.lists(
            st.from_regex(r"_?[a-z]{1,4}", fullmatch=True), min_size=0, max_size=3, unique_by=lambda n: n.strip("_")
        )
    )
    names = [name for name in names if not keyword.iskeyword(name.strip("_")) and name.strip("_") != "self"]
    fields: dict[str, Any] = {}
    values: dict[str, st.SearchStrategy[Any]] = {}
    for name in names:
        described, strategy = draw(parts)
        keyed = draw(st.booleans())
        fields[name] = attrs.field(
            type=described, kw_only=True, **({"alias": f"{name.strip('_')}_key"} if keyed else {})
        )
        values[f"{name.strip('_')}_key" if keyed else name.lstrip("_")] = strategy
    cls = attrs.make_class("Made", fields, frozen=True)
    return cls, st.builds(cls, **values)


TYPES = st.recursive(st.sampled_from(LEAVES), lambda parts: parts.flatmap(_nested) | _class(parts), max_leaves=4)


def _validator(of: Codec[Any]) -> Draft202012Validator:
    Draft202012Validator.check_schema(of.json_schema)
    return Draft202012Validator(of.json_schema, format_checker=FORMATS)


def _in_profile(value: object) -> bool:
    """Whether JSON Schema and the decoder may be held against each other on this value."""
    if isinstance(value, float) and value.is_integer() and abs(value) > 2**53:
        return False
    if isinstance(value, int) and abs(value) > 10**300:
        return False
    if isinstance(value, str) and (value.endswith("\n") or re.match(r"0000-|.{17}60", value)):
        return False
    if isinstance(value, list):
        return all(map(_in_profile, value))
    return not isinstance(value, dict) or all(map(_in_profile, [*value, *value.values()]))


def _mutate(draw: st.DrawFn, value: Any) -> Any:
    """Change one place of a JSON value."""
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        match draw(st.sampled_from(["part", "drop", "twice"])):
            case "drop":
                return value[:place] + value[place + 1 :]
            case "twice":
                return [*value, value[place]]
        return [*value[:place], _mutate(draw, value[place]), *value[place + 1 :]]
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        match draw(st.sampled_from(["part", "part", "drop", "extra"])):
            case "drop":
                return {name: item for name, item in value.items() if name != key}
            case "extra":
                return {**value, draw(st.sampled_from(["", "x", "_tag"])): 1}
        return {**value, key: _mutate(draw, value[key])}
    if isinstance(value, str) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return value[:place] + draw(st.sampled_from(["", "0", "1", "9", "Z", "-", "+", "é"])) + value[place + 1 :]
    if isinstance(value, int) and draw(st.booleans()):
        return draw(
            st.sampled_from([value + 1, float(value) if abs(value) < 2**60 else 0, -value, str(value), bool(value)])
        )
    return draw(JSON)


@quick
@given(st.data(), TYPES)
def test_what_is_encoded_is_valid_and_reads_back_equal(data: st.DataObject, made: tuple[Any, Any]) -> None:
    described, values = made
    made_codec: Codec[Any] = codec(described)
    value = data.draw(values)
    encoded = made_codec.encode(value)
    assert isinstance(encoded, Success), encoded
    plain = encoded.unwrap()
    _validator(made_codec).validate(plain)
    assert made_codec.decode(plain) == Success(value)
    text = made_codec.encode_json(value).unwrap()
    assert json.loads(text) == plain
    assert made_codec.decode_json(text) == Success(value)


@quick
@given(st.data(), TYPES)
def test_decoder_and_schema_accept_the_same_json(data: st.DataObject, made: tuple[Any, Any]) -> None:
    described, values = made
    made_codec: Codec[Any] = codec(described)
    plain = made_codec.encode(data.draw(values)).unwrap()
    draw: Any = data.draw
    for _ in range(draw(st.integers(1, 3))):
        plain = _mutate(draw, plain)
    if not _in_profile(plain):
        return
    read = made_codec.decode(plain)
    problems = [error.message for error in _validator(made_codec).iter_errors(plain)]
    assert isinstance(read, Success) == (not problems), (plain, read, problems)
    if isinstance(read, Success):  # what was read can be written and read again
        assert made_codec.decode(made_codec.encode(read.unwrap()).unwrap()) == read


@quick
@given(JSON, st.sampled_from([described for described, _ in LEAVES]))
def test_any_json_against_any_type(plain: Any, described: Any) -> None:
    made_codec: Codec[Any] = codec(described)
    if _in_profile(plain):
        assert isinstance(made_codec.decode(plain), Success) == _validator(made_codec).is_valid(plain)


def _outcome(hook: Any, value: Any) -> Any:
    try:
        return ("ok", hook(value))
    except Exception:
        return ("no", None)


@quick
@given(st.data(), TYPES)
def test_the_fast_way_and_the_full_way_agree(data: st.DataObject, made: tuple[Any, Any]) -> None:
    described, values = made
    made_codec: Codec[Any] = codec(described)
    value = data.draw(values)
    plain = made_codec.encode(value).unwrap()
    draw: Any = data.draw
    for _ in range(draw(st.integers(0, 3))):
        plain = _mutate(draw, plain)
    assert _outcome(made_codec._read, plain) == _outcome(made_codec._slow_read, plain)
    for odd in (value, plain):  # a JSON value is most often no value of the type
        assert _outcome(made_codec._write, odd) == _outcome(made_codec._slow_write, odd)


@quick
@given(st.data(), TYPES)
def test_a_problem_never_quotes_what_was_sent(data: st.DataObject, made: tuple[Any, Any]) -> None:
    made_codec: Codec[Any] = codec(made[0])
    plain = made_codec.encode(data.draw(made[1])).unwrap()
    canary = "CANARY-7f3a"
    read = made_codec.decode(_poison(plain, canary))
    if isinstance(read, Failure):
        assert canary not in repr(read)


def _poison(value: Any, canary: str) -> Any:
    if isinstance(value, dict):
        return {**{key: _poison(item, canary) for key, item in value.items()}, canary: canary}
    if isinstance(value, list):
        return [*(_poison(item, canary) for item in value), canary]
    return canary


@quick
@given(st.text(st.sampled_from('{}[]",:0123456789.eE+-truefalsn \\ud8')) | st.binary(max_size=20))
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    read = codec(JsonValue).decode_json(text)
    try:
        expected = orjson.loads(text)
    except orjson.JSONDecodeError:
        assert isinstance(read, Failure)
        assert read.failure().problems[0].startswith("$: not JSON")
    else:
        assert isinstance(read, Failure) or read.unwrap() == json.loads(text), expected
