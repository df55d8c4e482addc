"""What the type checkers must accept and reject of surfaces; marked lines must be rejected."""

from __future__ import annotations

from typing import Never

import attrs

from lamina.call import Caller, Surface
from lamina.effect import Try, bind, empty_layer, layer, seed
from lamina.runtime import build
from lamina.tools import tool


class Db: ...


class Principal: ...


@attrs.frozen
class Given:
    a: int = 1


@tool(title="Plain")
async def plain(call: Given, ok: Try[Never]) -> int:
    return 1


@tool()
async def reading(call: Given, ok: Try[Never], db: Db) -> int:
    return 1


@tool(asks=("elicit",))
async def asking(call: Given, ok: Try[Never], caller: Caller) -> int:
    return 1


@tool()
async def both(call: Given, ok: Try[Never], caller: Caller, principal: Principal, db: Db) -> int:
    return 1


@tool(asks=("shout",))  # ERR
async def shouting(call: Given, ok: Try[Never], caller: Caller) -> int:
    return 1


async def surfaces() -> list[Surface]:
    made: list[Surface] = []
    async with build(layer(Db)) as rt:
        made.append(rt.surface(plain))
        made.append(rt.surface(reading | plain, name="reading", list_all=True))
        rt.surface(plain, nmae="plain")  # ERR: no such keyword
        rt.surface(plain, list_all="yes")  # ERR: a bool
        rt.surface(asking)  # ERR
    async with build(empty_layer()) as bare:
        bare.surface(reading)  # ERR
    async with build(layer(Db), seeds=seed(Caller)) as called:
        made.append(called.surface(asking | reading | plain))
        called.surface(both)  # ERR
    async with build(layer(Db), seeds=seed(Principal) | seed(Caller)) as whole:
        made.append(whole.surface(both | asking, given=bind(Principal).value(Principal())))
        whole.surface(both, given=bind(Principal).value(Principal()), nmae="both")  # ERR: no such keyword
        whole.surface(both)  # ERR
        whole.surface(both, given=bind(Db).value(Db()))  # ERR
    return made
