from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.lowlevel
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import tagged
from lamina.telemetry import observed, operation
from lamina.testing import ConformanceError, check_operations

CANARY = "canary-5b0d"


@tagged("There is no note {note}.")
class NoNote:
    note: str


@observed("notes", resources={"read": "note"})
class Notes(ABC):
    @abstractmethod
    async def read(self, note: str) -> Result[str, NoNote]: ...

    @abstractmethod
    async def write(self, note: str, text: str) -> None: ...


class MemoryNotes(Notes):
    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def read(self, note: str) -> Result[str, NoNote]:
        await anyio.lowlevel.checkpoint()
        return Success(self.kept[note]) if note in self.kept else Failure(NoNote(note))

    async def write(self, note: str, text: str) -> None:
        self.kept[note] = text
        await self.read(note)


CALLS: dict[str, Any] = {
    "read": lambda notes: notes.read("n-1"),
    "write": lambda notes: notes.write("n-1", CANARY),
}


def opened(kind: type[Any]) -> Any:
    @asynccontextmanager
    async def make() -> AsyncIterator[Any]:
        yield kind()

    return make


async def test_a_port_that_does_what_it_owes() -> None:
    report = await check_operations(Notes, opened(MemoryNotes), CALLS, canary=CANARY)

    assert report.checked == ("notes.read", "notes.write")
    assert [(one.began.resource, one.ended and one.ended.category) for one in report.observed] == [
        ("n-1", "NoNote"),
        (None, None),
    ]


async def problems(port: Any, kind: Any, calls: Any = CALLS) -> str:
    with pytest.raises(ConformanceError) as raised:
        await check_operations(port, opened(kind), calls, canary=CANARY)
    assert raised.value.problems
    return str(raised.value)


async def test_calls_are_given_for_all_and_for_no_others() -> None:
    said = await problems(Notes, MemoryNotes, {"read": CALLS["read"], "erase": CALLS["read"]})

    assert "write: no call of it was given" in said
    assert "erase: the port has no such operation" in said


async def test_a_port_that_nobody_observes_is_found() -> None:
    class Plain(ABC):
        @abstractmethod
        async def read(self, note: str) -> None: ...

    class Silent(Plain):
        async def read(self, note: str) -> None: ...

    said = await problems(Plain, Silent, {"read": CALLS["read"]})

    assert "read: it is no operation" in said
    assert "read: 0 observations of one call" in said


async def test_a_payload_that_is_told_is_found() -> None:
    @observed("notes", resources={"write": "text"})
    class Leaky(ABC):
        @abstractmethod
        async def write(self, note: str, text: str) -> None: ...

    class Memory(Leaky):
        async def write(self, note: str, text: str) -> None: ...

    assert "write: the canary is in what was told" in await problems(Leaky, Memory, {"write": CALLS["write"]})


async def test_one_call_is_one_observation() -> None:
    class Twice(MemoryNotes):
        async def read(self, note: str) -> Result[str, NoNote]:
            return Failure(NoNote(note))

    inner = Twice.read

    def read(self: Any, note: str) -> Any:
        async def both() -> Any:
            await inner(self, note)
            return await inner(self, note)

        return both()

    Twice.read = read  # type: ignore[method-assign,assignment]

    assert "read: 2 observations of one call" in await problems(Notes, Twice)


async def test_an_outcome_that_is_told_wrong_is_found() -> None:
    class Swallowing(MemoryNotes):
        @operation("notes.read")
        async def read(self, note: str) -> Any:
            try:
                await anyio.lowlevel.checkpoint()
            except BaseException:
                raise KeyError(CANARY) from None
            return Failure(NoNote(note))

    class Other(MemoryNotes):
        @operation("notes.reed")
        async def read(self, note: str) -> Any:
            return Failure(NoNote(note))

    said = await problems(Notes, Swallowing)
    assert "read: cancelled, it raised something else than the cancellation" in said
    assert "read: it was told as notes.reed 1" in await problems(Notes, Other)


async def test_a_call_that_cannot_be_made_is_a_problem() -> None:
    class Closed(MemoryNotes):
        def __init__(self) -> None:
            raise ValueError(CANARY)

    said = await problems(Notes, Closed)

    assert "read: it could not be called: ValueError" in said
    assert CANARY not in said
