"""The suite for stores finds what is wrong with those that break their port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Never

import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import Layer, bind, scoped
from lamina.store import (
    MemoryStore,
    Row,
    Rows,
    Statement,
    Store,
    StoreError,
    StoreUnavailable,
    Unmet,
    Value,
    memory_store,
)
from lamina.store._sqlite_file import MEMORY, SqliteFile
from lamina.testing import ConformanceError, ConformanceReport, check_store


class Broken(Store):
    """A good store, with something changed."""

    durable = False

    def __init__(self) -> None:
        self.inner = MemoryStore(SqliteFile(MEMORY, 0.0).open_for_writing().unwrap())

    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        return await self.inner.write(*statements)

    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        return await self.inner.read(sql, *parameters)


class CountsNothing(Broken):
    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        return await super().write(*(attrs.evolve(each, rows=None) for each in statements))


class HalfUnits(Broken):
    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        answers: list[tuple[Row, ...]] = []
        for index, statement in enumerate(statements):
            answer = await super().write(statement)
            if isinstance(answer, Failure):
                why = answer.failure()
                return Failure(Unmet(index) if isinstance(why, Unmet) else why)
            answers.extend(answer.unwrap())
        return Success(tuple(answers))


class CutsTexts(Broken):
    async def read(self, sql: str, *parameters: Value) -> Result[tuple[Row, ...], StoreError]:
        answer = await super().read(sql, *parameters)
        rows = answer.value_or(())
        cut = tuple(tuple(each[:1000] if isinstance(each, str) else each for each in row) for row in rows)
        return answer if isinstance(answer, Failure) else Success(cut)


class Raises(Broken):
    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        if any("canary" in each.sql or "DELETE" in each.sql for each in statements):
            raise RuntimeError("canary")
        return await super().write(*statements)


class NeverCloses(Broken): ...


class TakesNul(Broken):
    async def write(self, *statements: Statement) -> Result[Rows, StoreError | Unmet]:
        clean = [attrs.evolve(each, parameters=tuple(map(self._clean, each.parameters))) for each in statements]
        return await super().write(*clean)

    def _clean(self, value: Value) -> Value:
        return value.replace("\0", "") if isinstance(value, str) else value


def layer_of(broken: Callable[[], Broken]) -> Layer[Never, Store, Any]:
    async def make() -> AsyncIterator[Store]:
        store = broken()
        yield store
        if not isinstance(store, NeverCloses):
            store.inner.close()
        else:
            LEFT.append(store.inner)

    return scoped(make)


LEFT: list[MemoryStore] = []


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (
            CountsNothing,
            (
                "an unmet statement undoes its unit: no row: it answered",
                "a race has one winner: who loses a race is told",
            ),
        ),
        (HalfUnits, ("an unmet statement undoes its unit: no row: something of the unit was kept",)),
        (CutsTexts, ("values come back: a value of body came back as another",)),
        (Raises, ("it answers with the rows of each statement: it raised RuntimeError",)),
        (NeverCloses, ("a closed store says so: a closed store takes a unit",)),
        (TakesNul, ("a value that cannot be kept is refused: 'a\\x00b' for body: it answered",)),
    ],
)
async def test_finds_what_is_wrong(broken: type[Broken], found: tuple[str, ...]) -> None:
    with pytest.raises(ConformanceError) as caught:
        await check_store(lambda: layer_of(broken))
    for what in found:
        assert any(problem.startswith(what) for problem in caught.value.problems), caught.value.problems
    assert "canary" not in str(caught.value)
    while LEFT:
        LEFT.pop().close()


async def test_a_good_one_has_no_problem() -> None:
    report = await check_store(lambda: layer_of(Broken))
    assert report == await check_store(memory_store)
    assert isinstance(report, ConformanceReport)


async def test_one_that_does_not_open_is_told() -> None:
    from lamina.effect import attempt

    async def refuses() -> Result[Store, StoreError]:
        return Failure(StoreUnavailable("missing"))

    with pytest.raises(AssertionError, match="does not open: The store cannot be used: missing"):
        await check_store(lambda: attempt(refuses))


def test_a_store_may_be_bound_to_its_class() -> None:
    assert repr(bind(Store).to(Broken)) == "Layer(offers Store; needs nothing more)"
