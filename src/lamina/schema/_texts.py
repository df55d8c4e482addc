"""Values that JSON has no kind for and that travel as strings: dates, durations, UUIDs, decimals, bytes."""

from __future__ import annotations

import binascii
import datetime as dt
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs

from lamina.schema._describe import Definitions
from lamina.schema._mismatch import bad
from lamina.schema._shape import Shape
from lamina.schema._terms import Hook, Kind, Schema

_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_PART = "[0-9]{1,8}"
_SECONDS = rf"{_PART}(\.[0-9]{{1,6}})?S"
_CLOCK = rf"T({_PART}H({_PART}M)?({_SECONDS})?|{_PART}M({_SECONDS})?|{_SECONDS})"
_DURATION = re.compile(
    rf"(?P<sign>-)?P(?:(?P<d>{_PART})D)?(?:T(?:(?P<h>{_PART})H)?(?:(?P<m>{_PART})M)?(?:(?P<s>{_PART})(?:\.(?P<f>[0-9]+))?S)?)?"
)
_QUAD = "[A-Za-z0-9+/]"


@attrs.frozen(eq=False)
class Written(Shape):
    """A Python type written as text of one form.

    Attributes:
        python: The exact class.
        what: The words after "expected".
        pattern: What the reader takes; where `format` is set the schema tells the format, otherwise the pattern.
        format: A format of JSON Schema that says all that the reader asks.
        parse: From text that matched; a `ValueError` or `ArithmeticError` refuses it.
        render: To text that matches; it may raise `Bad`.
    """

    python: type
    what: str
    pattern: re.Pattern[str]
    parse: Callable[[str], Any]  # an instance of `python`
    render: Callable[[Any], str]
    format: str | None = None
    extra: Schema = attrs.field(factory=dict[str, Any])

    def kinds(self) -> frozenset[Kind]:
        return frozenset({"string"})

    def classes(self) -> tuple[type, ...]:
        return (self.python,)

    def describe(self, defs: Definitions) -> Schema:
        told: Schema = {"pattern": f"^{self.pattern.pattern}$"} if self.format is None else {"format": self.format}
        return {"type": "string", **told, **self.extra}

    def reader(self, detail: bool) -> Hook:
        matches, parse, what = self.pattern.fullmatch, self.parse, self.what

        def read(value: Any, _: object = None) -> Any:
            if type(value) is not str:
                raise bad(f"expected string ({what})")
            if matches(value) is None:
                raise bad(f"expected {what}")
            try:
                return parse(value)
            except (ValueError, ArithmeticError):
                raise bad(f"expected {what}") from None

        return read

    def writer(self, detail: bool) -> Hook:
        python, render, name = self.python, self.render, self.python.__name__
        matches = self.pattern.fullmatch

        def write(value: Any) -> str:
            if type(value) is not python:
                raise bad(f"expected {name}")
            try:
                text = render(value)
            except ArithmeticError:  # a time that its offset moves out of the calendar
                raise bad(f"{name} out of range") from None
            if matches(text) is None:
                raise bad(f"{name} out of range")
            return text

        return write


def _datetime(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.upper())


def _from_datetime(value: dt.datetime) -> str:
    offset = value.utcoffset()
    if offset is None:
        raise bad("expected datetime with a time zone")
    if offset % dt.timedelta(minutes=1):  # RFC 3339 has no offsets of seconds
        value = value.astimezone(dt.UTC)
    return value.isoformat()


def _from_time(value: dt.time) -> str:
    if value.tzinfo is not None:
        raise bad("expected time without a time zone")
    return value.isoformat()


def _timedelta(text: str) -> dt.timedelta:
    match = _DURATION.fullmatch(text)
    assert match is not None, "the pattern of the shape is narrower"
    days, hours, minutes, seconds = (int(match[name] or 0) for name in ("d", "h", "m", "s"))
    micros = int((match["f"] or "").ljust(6, "0"))
    made = dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
    return -made if match["sign"] else made


def _from_timedelta(value: dt.timedelta) -> str:
    sign, size = ("-", -value) if value < dt.timedelta(0) else ("", value)
    days = f"{size.days}D" if size.days else ""
    fraction = f".{size.microseconds:06d}" if size.microseconds else ""
    clock = f"T{size.seconds}{fraction}S" if size.seconds or fraction or not days else ""
    return f"{sign}P{days}{clock}"


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None


DATETIME = Written(
    dt.datetime,
    "RFC 3339 date-time with offset",
    re.compile(
        rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt]{_TIME.replace('1,6', '1,9')}([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
    ),
    _datetime,
    _from_datetime,
    "date-time",
)
DATE = Written(
    dt.date,
    "date YYYY-MM-DD",
    re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    dt.date.fromisoformat,
    dt.date.isoformat,
    "date",
)
TIME = Written(dt.time, "time HH:MM:SS", re.compile(_TIME), dt.time.fromisoformat, _from_time)
TIMEDELTA = Written(
    dt.timedelta,
    "ISO 8601 duration of days and clock time",
    re.compile(rf"-?P({_PART}D({_CLOCK})?|{_CLOCK})"),
    _timedelta,
    _from_timedelta,
)
UUID_TEXT = Written(
    UUID,
    "UUID",
    re.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    UUID,
    str,
    "uuid",
)
DECIMAL = Written(
    Decimal,
    "decimal number in a string",
    re.compile(r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?([eE][+-]?[0-9]{1,3})?"),
    Decimal,
    str,
)
BYTES = Written(
    bytes,
    "base64 text",
    re.compile(f"({_QUAD}{{4}})*({_QUAD}{{2}}==|{_QUAD}{{3}}=)?"),
    _bytes,
    lambda value: b64encode(value).decode(),
    extra={"contentEncoding": "base64"},
)
