"""Ten needs are typed; the eleventh is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Never, assert_type

from returns.result import Result, Success

from lamina.effect import Handler, Layer, Try, attempt, bind, fallible, handler, layer, scoped


class S1:
    s1: int


class S2:
    s2: int


class S3:
    s3: int


class S4:
    s4: int


class S5:
    s5: int


class S6:
    s6: int


class S7:
    s7: int


class S8:
    s8: int


class S9:
    s9: int


class S10:
    s10: int


class S11:
    s11: int


class Out:
    out: int


def ten(s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10) -> Out:
    return Out()


async def ten_later(s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10) -> Out:
    return Out()


async def ten_held(
    s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10
) -> AsyncIterator[Out]:
    yield Out()


async def ten_tried(
    s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10
) -> Result[Out, int]:
    return Success(Out())


async def ten_handled(
    command: int, s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10
) -> str:
    return ""


async def ten_fallible(
    command: int, ok: Try[int], s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10
) -> str:
    return ""


def eleven(s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10, s11: S11) -> Out:
    return Out()


async def eleven_later(
    s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10, s11: S11
) -> Out:
    return Out()


async def eleven_held(
    s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10, s11: S11
) -> AsyncIterator[Out]:
    yield Out()


async def eleven_tried(
    s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10, s11: S11
) -> Result[Out, int]:
    return Success(Out())


async def eleven_handled(
    command: int, s1: S1, s2: S2, s3: S3, s4: S4, s5: S5, s6: S6, s7: S7, s8: S8, s9: S9, s10: S10, s11: S11
) -> str:
    return ""


async def eleven_fallible(
    command: int,
    ok: Try[int],
    s1: S1,
    s2: S2,
    s3: S3,
    s4: S4,
    s5: S5,
    s6: S6,
    s7: S7,
    s8: S8,
    s9: S9,
    s10: S10,
    s11: S11,
) -> str:
    return ""


assert_type(layer(ten), Layer[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, Out, Never])
assert_type(layer(ten_later), Layer[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, Out, Never])
assert_type(scoped(ten_held), Layer[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, Out, Never])
assert_type(attempt(ten_tried), Layer[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, Out, int])
assert_type(bind(Out).to(ten), Layer[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, Out, Never])
assert_type(bind(Out).to(ten_held), Layer[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, Out, Never])
assert_type(handler(ten_handled), Handler[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, int, str])
assert_type(fallible(ten_fallible), Handler[S1 | S2 | S3 | S4 | S5 | S6 | S7 | S8 | S9 | S10, int, Result[str, int]])

layer(eleven)  # ERR: eleven needs
layer(eleven_later)  # ERR: eleven needs
scoped(eleven_held)  # ERR: eleven needs
attempt(eleven_tried)  # ERR: eleven needs
bind(Out).to(eleven)  # ERR: eleven needs
handler(eleven_handled)  # ERR: eleven needs
fallible(eleven_fallible)  # ERR: eleven needs
