from __future__ import annotations

import asyncio

import anyio
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import Handler, Try, fallible, handler, run_fallible


class Db: ...


def loaded(number: int) -> Result[int, str]:
    return Success(number) if number else Failure("nothing")


@fallible
async def double(command: int, ok: Try[str], db: Db) -> int:
    return ok(loaded(command)) * 2


async def test_gives_the_value_or_ends_with_the_failure() -> None:
    assert await double.fn(3, Db()) == Success(6)
    assert await double.fn(0, Db()) == Failure("nothing")


async def test_a_broad_except_does_not_swallow_it() -> None:
    async def careful(command: int, ok: Try[str]) -> int:
        try:
            return ok(loaded(command))
        except Exception:
            return -1

    assert await run_fallible(careful)(0) == Failure("nothing")


async def test_comes_out_of_a_task_group() -> None:
    async def grouped(command: int, ok: Try[str]) -> int:
        async with anyio.create_task_group(), anyio.create_task_group():
            return ok(loaded(command))

    assert await run_fallible(grouped)(0) == Failure("nothing")
    assert await run_fallible(grouped)(1) == Success(1)


@pytest.mark.asyncio
async def test_comes_out_of_asyncios_task_group_and_of_its_tasks() -> None:
    async def child(ok: Try[str]) -> int:
        return ok(loaded(0))

    async def grouped(command: int, ok: Try[str]) -> int:
        async with asyncio.TaskGroup() as group:
            group.create_task(child(ok))
        return 1

    assert await run_fallible(grouped)(0) == Failure("nothing")


async def test_a_crash_beside_it_wins() -> None:
    async def crash() -> None:
        raise ValueError("crash")

    async def grouped(command: int, ok: Try[str]) -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(crash)
            try:
                await anyio.sleep_forever()
            finally:
                ok.fail("nothing")

    with pytest.raises(BaseExceptionGroup) as caught:
        await run_fallible(grouped)(0)
    assert caught.value.subgroup(ValueError) is not None


async def test_nested_handlers_do_not_take_each_others() -> None:
    async def outer(command: int, ok: Try[str]) -> str:
        async def inner(command: int, inner_ok: Try[str]) -> int:
            return ok(loaded(command))

        return f"{await run_fallible(inner)(command)}"

    assert await run_fallible(outer)(0) == Failure("nothing")
    assert await run_fallible(outer)(1) == Success("<Success: 1>")


async def test_a_result_that_is_returned_stays_inside() -> None:
    async def returns(command: int, ok: Try[str]) -> Result[int, str]:
        return Failure("mine")

    assert await run_fallible(returns)(0) == Success(Failure("mine"))


async def test_handlers_declare_what_they_need() -> None:
    @handler
    async def ping(command: int, db: Db) -> int:
        return command

    for made in (double, ping):
        assert isinstance(made, Handler)
        declared = made.declare()
        assert declared.name == f"handler {made.name}"
        assert [asked.key for asked in declared.requirements] == [Db]
        assert "test_try.py" in str(declared.where)
    assert double.fn.__name__ == "double"
    assert await ping.fn(4, Db()) == 4
