"""What a codec's type says: decode gives the value or a Mismatch, encode takes the type and nothing else."""

from __future__ import annotations

import attrs
from returns.result import Failure, Result

from lamina.schema import Codec, JsonLimits, JsonValue, Mismatch, codec


@attrs.frozen
class Card:
    number: str


@attrs.frozen
class Cash:
    given: int


cards = codec(Card)
explicit: Codec[Card] = cards
numbers = codec(list[int])
payments: Codec[Card | Cash] = codec(Card | Cash)
wrong: Codec[Cash] = cards  # ERR

read: Result[Card, Mismatch] = cards.decode({"number": "1"})
read_text: Result[list[int], Mismatch] = numbers.decode_json("[1]", limits=JsonLimits(max_bytes=10))
written: Result[JsonValue, Mismatch] = cards.encode(Card("1"))
text: Result[bytes, Mismatch] = payments.encode_json(Cash(1))

other: Result[Cash, Mismatch] = cards.decode({})  # ERR
plain: Result[Card, None] = cards.decode({})  # ERR
cards.encode(Cash(1))  # ERR
numbers.encode(["a"])  # ERR
payments.encode("a")  # ERR
cards.decode_json(5)  # ERR
cards.decode({}, JsonLimits())  # ERR
cards.decode({}, limits=64)  # ERR


def fall_through(value: object) -> str:
    result = cards.decode(value)
    if isinstance(result, Failure):
        mismatch: Mismatch = result.failure()
        return mismatch.problems[0]
    card = result.unwrap()
    card.given  # ERR
    return card.number


def exhaustive(value: object) -> int:
    result = payments.decode(value)
    if isinstance(result, Failure):
        return 0
    match result.unwrap():
        case Card():
            return 1
        case Cash(given=given):
            return given


schema: dict[str, JsonValue] = cards.json_schema
