from __future__ import annotations

import asyncio
import inspect
import tracemalloc
from abc import ABC, abstractmethod
from typing import Any, Never

import anyio
import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import tagged
from lamina.redaction import MASK, Secrets
from lamina.telemetry import (
    Began,
    Ended,
    MemoryTelemetry,
    Observation,
    Observed,
    Telemetry,
    category_of,
    observe_model,
    observe_run,
    observe_tool_call,
    observed,
    observing,
    operation,
    operations_of,
    retried,
    tool_ended,
)
from lamina.testing import VirtualClock

CANARY = "canary-3ee1"
SEND = operation("mail.send", version=3, resource="to", names=("format",))


@tagged("Nobody of that name: {to}.")
class NoSuchUser:
    to: str


@SEND
async def send(to: str, text: str, *, fail: object = None) -> Result[str, NoSuchUser]:
    retried()
    if isinstance(fail, BaseException):
        raise fail
    return Failure(NoSuchUser(text)) if fail else Success(text)


def only(telemetry: MemoryTelemetry) -> Observed:
    (one,) = telemetry.observed
    return one


# --- what is told -------------------------------------------------------------------------------------------------


async def test_one_call_is_told_with_all_that_is_owed_and_nothing_that_was_in_it() -> None:
    telemetry, clock = MemoryTelemetry(), VirtualClock()

    with observing(telemetry, clock=clock, run="run-1", conversation="c-1", agent="triage"):
        answer = await send("ann", CANARY)

    one = only(telemetry)
    assert answer == Success(CANARY)
    assert one.began == Began(
        name="mail.send", version=3, run="run-1", conversation="c-1", agent="triage", resource="ann"
    )
    assert one.ended == Ended(outcome="success", duration=0.0, retries=1)
    assert CANARY not in repr(one)


async def test_failures_defects_and_cancellations() -> None:
    telemetry = MemoryTelemetry()

    with observing(telemetry):
        await send(to="ann", text=CANARY, fail=True)
        with pytest.raises(ValueError, match=CANARY):
            await send("ann", CANARY, fail=ValueError(CANARY))
        with pytest.raises(asyncio.CancelledError):
            await send("ann", CANARY, fail=asyncio.CancelledError())

    ends = [(one.ended.outcome, one.ended.category) for one in telemetry.observed if one.ended]
    assert ends == [("failure", "NoSuchUser"), ("defect", "ValueError"), (None, "interrupted")]
    assert {one.began.resource for one in telemetry.observed} == {"ann"}
    assert CANARY not in repr(telemetry.observed)


@pytest.mark.anyio
async def test_a_cancelled_operation_has_no_outcome() -> None:
    telemetry = MemoryTelemetry()
    wait = operation("wait")(anyio.sleep_forever)

    with observing(telemetry), anyio.move_on_after(0):
        await wait()

    ended = only(telemetry).ended
    assert ended is not None
    assert (ended.outcome, ended.category) == (None, "interrupted")


def test_the_duration_is_of_the_clock_that_is_given() -> None:
    telemetry = MemoryTelemetry()

    class Ticking(VirtualClock):
        ticks = 0.0

        def monotonic(self) -> float:
            self.ticks += 1.5
            return self.ticks

    with observing(telemetry, clock=Ticking()), SEND.begin():
        pass

    ended = only(telemetry).ended
    assert ended is not None
    assert ended.duration == 1.5


def test_attributes_are_bounded_and_only_declared_names_are_texts() -> None:
    telemetry = MemoryTelemetry()

    with (
        observing(telemetry, secrets=Secrets("s3cr3t-token"), run="r s3cr3t-token"),
        SEND.begin(
            resource="x" * 500,
            attributes={
                "format": "html s3cr3t-token",
                "text": CANARY,
                "bytes": 5,
                "ok": True,
                "gone": None,
                "all": {1},
            },
        ) as sending,
    ):
        sending.note({f"n{index}": index for index in range(100)})
        sending.note({"more": [CANARY]})
        sending.ended("failure", "s3cr3t-token")

    one = only(telemetry)
    assert one.ended is not None
    assert one.began.run == f"r {MASK}"
    assert one.began.resource == "x" * 128
    assert one.began.attributes == {
        "format": f"html {MASK}",
        "text": "[REDACTED:string]",
        "bytes": 5,
        "ok": True,
        "all": "[REDACTED:object]",
    }
    assert len(one.ended.attributes) == 32
    assert one.ended.category == MASK


async def test_a_resource_that_is_no_text_is_not_told() -> None:
    telemetry = MemoryTelemetry()

    with observing(telemetry):
        await send(5, "x")  # type: ignore[arg-type]

    assert only(telemetry).began.resource is None


def test_a_resource_is_a_parameter() -> None:
    with pytest.raises(TypeError, match="no parameter 'too'"):

        @operation("mail.send", resource="too")
        async def wrong(to: str) -> None: ...


def test_categories() -> None:
    @attrs.frozen
    class Strange:
        text: str

        @property
        def reason(self) -> Never:
            raise ValueError(CANARY)

    @tagged("x")
    class Inner: ...

    @tagged("y")
    class Outer:
        reason: object

    assert category_of(Strange("x")) == "Strange"
    assert category_of(Outer(Inner())) == "Outer.Inner"
    assert category_of(Outer(CANARY)) == "Outer"


# --- where nobody observes ----------------------------------------------------------------------------------------


async def test_without_a_telemetry_nothing_is_made() -> None:
    assert SEND.begin() is SEND.begin() is observe_model(1, streamed=True)
    assert observe_run(None, run="r", agent="a") is observe_tool_call("t", "c", execution="readonly")
    with observing(None), SEND.begin(attributes={}) as sending:
        sending.note({"x": 1})
        sending.retried()
        sending.returned(Failure(1))
        sending.ended("defect")
        tool_ended(sending, "ToolSuccess")
    retried()
    assert await send("ann", "x") == Success("x")

    tracemalloc.start()
    try:
        for _ in range(100):
            with SEND.begin():
                pass
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1_000):
            with SEND.begin():
                pass
        assert tracemalloc.get_traced_memory()[0] - before < 1_000
    finally:
        tracemalloc.stop()


def test_the_wrapper_is_no_coroutine_of_its_own_where_nobody_observes() -> None:
    made = send("ann", "x")
    try:
        assert inspect.iscoroutine(made)
        assert made.cr_code.co_name == "send"
    finally:
        made.close()
    assert send.__name__ == "send"


# --- a telemetry that breaks --------------------------------------------------------------------------------------


class Broken(Telemetry):
    def __init__(self, *, at_end: bool) -> None:
        self.at_end = at_end
        self.begun = 0

    def begin(self, began: Began) -> Observation:
        self.begun += 1
        if not self.at_end:
            raise RuntimeError(CANARY)
        return self

    def end(self, ended: Ended) -> None:
        raise RuntimeError(CANARY)


@pytest.mark.parametrize("at_end", [True, False])
async def test_a_telemetry_that_raises_changes_nothing_and_is_logged_once(
    at_end: bool, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Broken(at_end=at_end)

    with observe_run(telemetry, run="r", agent="a"):
        assert await send("ann", "x") == Success("x")
        assert await send("ann", "x", fail=1) == Failure(NoSuchUser("x"))
        with pytest.raises(KeyError):
            await send("ann", "x", fail=KeyError())

    assert telemetry.begun == 4
    assert caplog.text.count("the telemetry broke") == 1
    assert CANARY not in caplog.text


# --- tasks --------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_tasks_inherit_and_do_not_mix() -> None:
    telemetry = MemoryTelemetry()

    async def one_run(name: str) -> None:
        with observe_run(telemetry, run=name, agent="a"):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(send, name, "x")
                    await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for name in ("run-1", "run-2"):
            tasks.start_soon(one_run, name)
    await send("outside", "x")

    sent = [one for one in telemetry.observed if one.began.name == "mail.send"]
    assert len(sent) == 6
    for one in sent:
        assert one.parent is not None
        assert one.began.run == one.began.resource == one.parent.began.run
        assert one.ended is not None
        assert one.ended.retries == 1


async def test_an_operation_that_is_left_elsewhere_breaks_nothing() -> None:
    telemetry = MemoryTelemetry()

    async def pieces() -> Any:
        with observe_run(telemetry, run="r", agent="a"), SEND.begin():
            yield 1
            yield 2

    stream = pieces()
    await asyncio.create_task(stream.__anext__())
    await asyncio.create_task(stream.aclose())

    assert [one.ended.outcome for one in telemetry.observed if one.ended] == [None, None]


# --- ports --------------------------------------------------------------------------------------------------------


def notes_port() -> tuple[type[Any], list[Any]]:
    made: list[Any] = []

    @observed("notes", version=2, resources={"read": "note"})
    class Notes(ABC):
        durable = True

        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)
            made.append(cls)

        @abstractmethod
        async def read(self, note: str) -> str: ...

        @abstractmethod
        async def clear(self) -> None: ...

        @abstractmethod
        def count(self) -> int: ...

        async def read_all(self, *notes: str) -> list[str]:
            return [await self.read(note) for note in notes]

    return Notes, made


async def test_every_implementation_of_a_port_is_observed() -> None:
    port, made = notes_port()

    class Memory(port):  # type: ignore[misc,valid-type]
        async def read(self, name: str) -> str:
            return f"{CANARY} {name}"

        async def clear(self) -> None: ...

        def count(self) -> int:
            return 0

    class Loud(Memory):
        async def read(self, name: str) -> str:
            return (await super().read(name)).upper()

    @attrs.define
    class Slotted(Memory):
        size: int = 0

        async def clear(self) -> None:
            self.size = 0

    telemetry = MemoryTelemetry()
    loud, slotted = Loud(), Slotted()
    with observing(telemetry):
        await loud.read("n-1")
        await loud.read_all("n-2", "n-3")
        await slotted.clear()
        slotted.count()

    told = [(one.began.name, one.began.version, one.began.resource) for one in telemetry.observed]
    assert told == [("notes.read", 2, name) for name in ("n-1", "n-2", "n-3")] + [("notes.clear", 2, None)]
    assert all(one.parent is None for one in telemetry.observed)
    assert made[:2] == [Memory, Loud]
    assert sorted(operations_of(port)) == sorted(operations_of(Loud)) == ["clear", "read"]
    assert operations_of(int) == {}


def test_an_incomplete_implementation_stays_abstract() -> None:
    port, _ = notes_port()

    class Half(port):  # type: ignore[misc,valid-type]
        async def clear(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()


@pytest.mark.parametrize("resources", [{"raed": "note"}, {"read": "di"}, {"count": "self"}])
def test_resources_are_checked(resources: dict[str, str]) -> None:
    with pytest.raises(TypeError):

        @observed("notes", resources=resources)
        class Notes(ABC):
            @abstractmethod
            async def read(self, note: str) -> str: ...

            @abstractmethod
            def count(self) -> int: ...


# --- a run --------------------------------------------------------------------------------------------------------


def test_a_run_its_model_and_its_tools() -> None:
    telemetry = MemoryTelemetry()

    with observe_run(telemetry, run="run-1", agent="triage", conversation="c-1") as run:
        with observe_model(1, streamed=False) as model:
            model.retried()
        for outcome, category in [("ToolSuccess", None), ("ToolFailure", "NoSuchUser"), ("ToolDefect", None)]:
            with observe_tool_call("mail", "call-1", execution="uncertain", sequence=2) as tool:
                tool_ended(tool, outcome, category)
        run.ended("failure", "PolicyExceeded")

    names = [one.began.name for one in telemetry.observed]
    assert names == ["AgentRuntime.run", "AgentRuntime.model", "execute_tool", "execute_tool", "execute_tool"]
    assert {(one.began.run, one.began.conversation, one.began.agent) for one in telemetry.observed} == {
        ("run-1", "c-1", "triage")
    }
    tools = [one.ended for one in telemetry.observed[2:] if one.ended]
    assert [(one.outcome, one.category, one.attributes["lamina.tool.outcome"]) for one in tools] == [
        ("success", None, "ToolSuccess"),
        ("failure", "NoSuchUser", "ToolFailure"),
        ("defect", "ToolDefect", "ToolDefect"),
    ]
    assert telemetry.observed[2].began.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "mail",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
        "lamina.tool.execution_class": "uncertain",
        "lamina.tool.invocation_kind": "model",
        "lamina.tool.sequence_index": 2,
    }
    ended = [one.ended for one in telemetry.observed[:2]]
    assert [(one.outcome, one.category, one.retries) for one in ended if one] == [
        ("failure", "PolicyExceeded", 0),
        ("success", None, 1),
    ]


def test_memory_keeps_the_last() -> None:
    telemetry = MemoryTelemetry(limit=2)

    with observing(telemetry):
        for name in "abc":
            with operation(name).begin():
                pass

    assert [one.began.name for one in telemetry.observed] == ["b", "c"]
    assert telemetry.dropped == 1
