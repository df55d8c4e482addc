"""What nobody declared: it ends where its call, or its run, ends, and its text is nowhere but in the log."""

from __future__ import annotations

import asyncio
from typing import Any, Never

import anyio
import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, ApprovalRequest
from lamina.call import Authorization
from lamina.conversation import Journal, MemoryJournal, ResultSettled, RunEnded
from lamina.effect import Try, bind, tagged
from lamina.engine import RunDefect, RunInterrupted
from lamina.model import ConnectionLost, LanguageModel, ModelError, ModelProtocolError, TextDelta
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.unit.engine.world import Word, agent_with, boom, echo, events_of, run_turns, write

CANARY = "canary-7f3a"
DEFECT = {"_tag": "ToolDefect", "message": "The tool broke while it ran; nothing more is known."}


def everything(value: Any) -> str:
    """Say all that a run has left behind."""
    return repr(value)


@pytest.mark.parametrize("observed", [False, True])
async def test_what_a_handler_raises_is_nowhere_but_in_the_log(
    observed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @tool()
    async def leak(call: Word, ok: Try[Never]) -> str:
        error = ValueError(CANARY)
        error.add_note(CANARY)
        raise RuntimeError(CANARY) from error

    journal = MemoryJournal()
    turn = call_tool("echo", text="a") & call_tool("leak", text="b") & call_tool("echo", text="c")
    ran = await run_turns(leak | echo, turn, say("done"), layer=bind(Journal).value(journal), observed=observed)

    assert ran.told == ["a", DEFECT, "c"]
    assert CANARY not in everything((ran.result, ran.requests, ran.events, ran.history, journal.records))
    assert CANARY in caplog.text
    assert "Traceback" in caplog.text


class Base(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [
        ExceptionGroup("g", [ValueError(CANARY)]),
        RecursionError(CANARY),
        MemoryError(),
        StopAsyncIteration(CANARY),
        TimeoutError(CANARY),
        asyncio.InvalidStateError(CANARY),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
async def test_any_exception_of_a_handler_is_contained(error: Exception, alone: bool) -> None:
    @tool()
    async def leak(call: Word, ok: Try[Never]) -> str:
        raise error

    turn = call_tool("leak", text="b")
    ran = await run_turns(leak | echo, turn if alone else turn & call_tool("echo", text="c"), say("done"))
    assert ran.told == ([DEFECT] if alone else [DEFECT, "c"])


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("error", [Base("base"), BaseExceptionGroup("g", [Base("base"), ValueError(CANARY)])])
async def test_what_is_no_exception_goes_on_after_every_call_is_settled(error: BaseException, alone: bool) -> None:
    @tool()
    async def leak(call: Word, ok: Try[Never]) -> str:
        raise error

    journal = MemoryJournal()
    turn = call_tool("leak", text="b")
    binding = agent_with(leak | echo).on(ScriptedModel(turn if alone else call_tool("echo", text="a") & turn))
    async with build(RuntimeBuilder().provide(bind(Journal).value(journal)).agent(binding)) as rt:
        with pytest.raises((Base, BaseExceptionGroup)):
            await rt.run(binding, "go")

    settled = [record.outcome for record in journal.records if isinstance(record, ResultSettled)]
    names = [type(outcome).__name__ for outcome in settled]
    assert names == (["ToolUnknownOutcome"] if alone else ["ToolSuccess", "ToolUnknownOutcome"])
    assert journal.records[-1] == RunEnded(journal.records[0].run, "interrupted", "RunInterrupted")  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("alone", [True, False])
def test_a_handler_that_ends_the_process_ends_it_and_the_run_is_settled(
    error: type[BaseException], alone: bool
) -> None:
    journal = MemoryJournal()

    @tool()
    async def end(call: Word, ok: Try[Never]) -> str:
        raise error

    @tool()
    async def wait(call: Word, ok: Try[Never]) -> str:
        await asyncio.Event().wait()
        return "never"

    async def main() -> None:
        turn = call_tool("end", text="b")
        binding = agent_with(end | wait).on(ScriptedModel(turn if alone else call_tool("wait", text="a") & turn))
        async with build(RuntimeBuilder().provide(bind(Journal).value(journal)).agent(binding)) as rt:
            await rt.run(binding, "go")

    with pytest.raises(error):
        asyncio.run(main())
    settled = [record.outcome for record in journal.records if isinstance(record, ResultSettled)]
    assert [type(outcome).__name__ for outcome in settled] == ["ToolUnknownOutcome"] * (1 if alone else 2)
    assert isinstance(journal.records[-1], RunEnded)


class Raising(LanguageModel):
    def __init__(self, error: BaseException | None = None, answer: Any = None) -> None:
        self.error = error
        self.answer = answer

    async def generate(self, request: Any) -> Any:
        if self.error is not None:
            raise self.error
        return self.answer

    async def stream(self, request: Any, emit: Any) -> Any:
        return await self.generate(request)


@pytest.mark.parametrize("observed", [False, True])
async def test_a_model_that_raises_is_a_defect_of_the_run(observed: bool, caplog: pytest.LogCaptureFixture) -> None:
    binding = agent_with(echo).on(Raising(ValueError(CANARY)))
    async with build(RuntimeBuilder().agent(binding)) as rt:
        if observed:
            async with rt.start(binding, "go") as run:
                result, events = await run.result(), await events_of(run)
        else:
            result, events = await rt.run(binding, "go"), []

    assert result.failure().cause == RunDefect()
    assert CANARY not in everything((result, events))
    assert CANARY in caplog.text


@pytest.mark.parametrize("answer", [None, "text", Success(None), Success(5)])
async def test_a_model_that_answers_nonsense_is_a_defect_of_the_run(answer: Any) -> None:
    binding = agent_with(echo).on(Raising(answer=answer))
    async with build(RuntimeBuilder().agent(binding)) as rt:
        assert (await rt.run(binding, "go")).failure().cause == RunDefect()


@pytest.mark.parametrize("wraps", ["group", "mixed", "failure", "exception"])
async def test_a_malformed_stream_is_a_protocol_error_however_the_adapter_lets_it_pass(wraps: str) -> None:
    class Wrapping(ScriptedModel):
        async def stream(self, request: Any, emit: Any) -> Any:
            if wraps in ("group", "mixed"):
                async with anyio.create_task_group() as group:
                    group.start_soon(self.feed, emit)
                    if wraps == "mixed":
                        group.start_soon(self.crash)
            try:
                emit(TextDelta("never started", "x"))
            except BaseException:
                if wraps == "exception":
                    raise
            return Failure(ModelError(ConnectionLost()))

        async def feed(self, emit: Any) -> None:
            emit(TextDelta("never started", "x"))

        async def crash(self) -> None:
            raise ConnectionError(CANARY)

    ran = await run_turns(None, Wrapping(say("x")), observed=True)
    cause = ran.result.failure().cause
    assert isinstance(cause, ModelProtocolError)
    assert cause.rule == "pairing"


async def test_a_group_that_a_model_raises_is_a_defect_or_goes_on_by_what_is_in_it() -> None:
    broken = Raising(ExceptionGroup("g", [ValueError(CANARY)]))
    binding = agent_with(echo).on(broken)
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        assert (await run.result()).failure().cause == RunDefect()

    binding = agent_with(echo).on(Raising(BaseExceptionGroup("g", [Base("base")])))
    async with build(RuntimeBuilder().agent(binding)) as rt:
        with pytest.raises(BaseExceptionGroup):
            await rt.run(binding, "go")


@tagged("{text}")
class Unspeakable:
    number: int

    @property
    def text(self) -> str:
        raise ValueError(CANARY)


@pytest.mark.parametrize("mode", ["return", "error"])
@pytest.mark.parametrize("observed", [False, True])
async def test_a_failure_whose_sentence_breaks_is_a_failure_all_the_same(mode: Any, observed: bool) -> None:
    @tool(failure_mode=mode)
    async def fail(call: Word, ok: Try[Unspeakable]) -> str:
        return ok.fail(Unspeakable(1))

    turn = call_tool("fail", text="b") & call_tool("echo", text="c")
    ran = await run_turns(fail | echo, *((turn, say("done")) if mode == "return" else (turn,)), observed=observed)

    if mode == "return":
        assert ran.told == [{"_tag": "Unspeakable", "number": 1}, "c"]
    else:
        assert type(ran.result.failure().cause).__name__ == "ToolFailed"
    assert CANARY not in everything(ran.events)


async def test_a_result_that_only_python_can_count_is_a_result() -> None:
    @tool()
    async def count(call: Word, ok: Try[Never]) -> int:
        return 10**40

    ran = await run_turns(count | echo, call_tool("count", text="b") & call_tool("echo", text="c"), say("done"))
    assert ran.told == [10**40, "c"]


class Cancelling(Approval, Authorization):
    async def request(self, request: ApprovalRequest) -> Any:
        raise asyncio.CancelledError

    async def authorize(self, request: Any) -> Any:
        raise asyncio.CancelledError


@pytest.mark.parametrize("who", ["model", "approval", "authorization"])
@pytest.mark.parametrize("observed", [False, True])
async def test_a_cancellation_that_nobody_asked_for_is_a_defect_and_cancels_nobody(who: str, observed: bool) -> None:
    layer: Any = bind(Approval).value(Cancelling())
    if who == "authorization":
        layer = layer | bind(Authorization).value(Cancelling())
    model = Raising(asyncio.CancelledError()) if who == "model" else ScriptedModel(call_tool("write", text="x"))
    binding = agent_with(write).on(model)
    async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt:
        if observed:
            async with rt.start(binding, "go") as run:
                result = await run.result()
        else:
            result = await rt.run(binding, "go")

    assert result.failure().cause == RunDefect()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_call_whose_task_is_cancelled_from_inside_keeps_its_siblings_and_the_run() -> None:
    @tool()
    async def leap(call: Word, ok: Try[Never]) -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    ran = await run_turns(
        leap | echo, call_tool("leap", text="x") & call_tool("echo", text="e"), say("done"), observed=True
    )
    assert (ran.told[0]["_tag"], ran.told[1]) == ("ToolUnknownOutcome", "e")
    assert ran.result.unwrap().output == "done"
    settled = [event.call for event in ran.events if type(event).__name__ in ("ToolCallFailed", "ToolCallSucceeded")]
    assert sorted(settled) == ["call-1", "call-2"]


async def test_what_is_raised_in_answer_to_an_interrupt_is_an_interrupt() -> None:
    class Sore(ScriptedModel):
        async def stream(self, request: Any, emit: Any) -> Any:
            run.interrupt()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ConnectionError(CANARY) from None

    binding = agent_with(boom).on(Sore())
    async with build(RuntimeBuilder().agent(binding)) as rt, rt.start(binding, "go") as run:
        assert (await run.result()).failure().cause == RunInterrupted()
