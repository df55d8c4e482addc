from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from returns.result import Failure, Success

from lamina.schema import codec

UTC = dt.UTC


@pytest.mark.parametrize(
    ("described", "text", "value"),
    [
        (dt.datetime, "2020-01-02T03:04:05Z", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (dt.datetime, "2020-01-02t03:04:05.123456789z", dt.datetime(2020, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)),
        (dt.datetime, "2020-01-02T03:04:05+01:30", dt.datetime(2020, 1, 2, 1, 34, 5, tzinfo=UTC)),
        (dt.date, "2020-02-29", dt.date(2020, 2, 29)),
        (dt.time, "23:59:59.5", dt.time(23, 59, 59, 500000)),
        (dt.timedelta, "P1DT2H3M4.5S", dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        (dt.timedelta, "-PT1S", dt.timedelta(seconds=-1)),
        (UUID, "12345678-1234-1234-1234-1234567890AB", UUID("12345678-1234-1234-1234-1234567890ab")),
        (Decimal, "-1.50", Decimal("-1.50")),
        (Decimal, "1E+5", Decimal("1E+5")),
        (bytes, "AAE=", b"\x00\x01"),
        (bytes, "", b""),
    ],
)
def test_texts_are_read(described: Any, text: str, value: object) -> None:
    assert codec(described).decode(text) == Success(value)
    assert codec(described).decode(codec(described).encode(value).unwrap()) == Success(value)


@pytest.mark.parametrize(
    ("described", "text"),
    [
        *[
            (dt.datetime, text)
            for text in ("2020-01-02T03:04:05", "2020-01-02", "2020-01-02 03:04:05Z", "20200102T030405Z")
        ],
        *[
            (dt.datetime, text)
            for text in ("2020-02-30T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T00:00:00+24:00")
        ],
        *[(dt.date, text) for text in ("2020-02-30", "20200101", "2020-1-1", "2020-01-01T00:00:00Z", "2020-W01-1")],
        *[(dt.time, text) for text in ("24:00:00", "12:00", "12:00:00Z", "12:00:00+01:00")],
        *[(dt.timedelta, text) for text in ("P", "PT", "P1W", "P1Y", "1D", "P1DT", "PT1H1H", "P999999999D")],
        *[(UUID, text) for text in ("12345678123412341234123456789012", "{12345678-1234-1234-1234-123456789012}", "x")],
        *[(Decimal, text) for text in ("NaN", "Infinity", "1e9999", " 1", "1_000", ".5", "٣")],
        *[(bytes, text) for text in ("A", "AA=", "AA==\n", "A-_=", "AA==AA==")],
        *[(described, value) for described in (dt.datetime, UUID, Decimal, bytes) for value in (1, 1.5, None, True)],
    ],
)
def test_other_texts_are_refused(described: Any, text: object) -> None:
    read = codec(described).decode(text)
    assert isinstance(read, Failure)
    assert read.failure().problems[0].startswith("$: expected ")


@pytest.mark.parametrize(
    ("described", "value"),
    [
        (dt.datetime, dt.datetime(2020, 1, 1)),
        (dt.datetime, dt.date(2020, 1, 1)),
        (dt.datetime, dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=30)))),
        (dt.date, dt.datetime(2020, 1, 1, tzinfo=UTC)),
        (dt.time, dt.time(1, tzinfo=UTC)),
        (dt.timedelta, dt.timedelta.max),
        (Decimal, Decimal("NaN")),
        (Decimal, Decimal("1E+1000")),
        (UUID, "12345678-1234-1234-1234-1234567890ab"),
        (bytes, bytearray(b"a")),
    ],
)
def test_values_without_a_text_are_not_written(described: Any, value: object) -> None:
    assert isinstance(codec(described).encode(value), Failure)


def test_an_offset_of_seconds_is_written_in_utc() -> None:
    odd = dt.datetime(1900, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=3208)))
    text = codec(dt.datetime).encode(odd).unwrap()
    assert text == "1899-12-31T23:06:32+00:00"
    assert codec(dt.datetime).decode(text) == Success(odd)
