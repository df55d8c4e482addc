"""The history's laws: after any turns, ended in any way at any step, it is valid, each call with one outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Literal

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lamina.approval import Approval, ScriptedApproval
from lamina.conversation import (
    History,
    Journal,
    MemoryJournal,
    ResultSettled,
    RunEnded,
    Transcript,
    history_problems,
    run_of,
)
from lamina.effect import Try, bind, tagged
from lamina.engine import TERMINAL, ToolCallFailed, ToolCallSucceeded
from lamina.model import (
    AssistantMessage,
    ConnectionLost,
    Message,
    ModelRequest,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, fail, hang, request_problem, say, think
from lamina.tools import tool
from tests.unit.engine.world import after_steps, agent_with

How = Literal["none", "native", "interrupt", "leave", "twice"]


@attrs.frozen
class Act:
    steps: int = 0
    ends: Literal["value", "failure", "raise", "cancel-self"] = "value"


@tagged("It did not work.")
class DidNotWork:
    pass


class Ledger:
    """What really happened."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()


async def _body(call: Act, ok: Try[DidNotWork], ledger: Ledger, name: str) -> str:
    ledger.entered[name] += 1
    await after_steps(call.steps)
    ledger.finished[name] += 1
    if call.ends == "failure":
        ok.fail(DidNotWork())
    if call.ends == "raise":
        raise ValueError("canary")
    if call.ends == "cancel-self":
        raise asyncio.CancelledError
    return "done"


@tool(execution="readonly")
async def read(call: Act, ok: Try[DidNotWork], ledger: Ledger) -> str:
    """Read."""
    return await _body(call, ok, ledger, "read")


@tool(max_concurrency=1)
async def act(call: Act, ok: Try[DidNotWork], ledger: Ledger) -> str:
    """Act."""
    return await _body(call, ok, ledger, "act")


@tool(needs_approval=True)
async def send(call: Act, ok: Try[DidNotWork], ledger: Ledger) -> str:
    """Send, if one may."""
    return await _body(call, ok, ledger, "send")


calls = st.builds(
    lambda name, steps, ends: call_tool(name, steps=steps, ends=ends),
    st.sampled_from(["read", "act", "send"]),
    st.integers(0, 4),
    st.sampled_from(["value", "value", "failure", "raise", "cancel-self"]),
) | st.sampled_from([call_tool("nope"), call_tool("read", raw="{"), call_tool("act", raw='{"steps": NaN}')])


def _together(parts: list[Any]) -> Any:
    turn = parts[0]
    for part in parts[1:]:
        turn = turn & part
    return turn


turns = st.lists(st.sampled_from([say("hm"), think("so")]), max_size=1).flatmap(
    lambda before: st.lists(calls, min_size=1, max_size=5).map(lambda batch: _together([*before, *batch]))
)
endings = st.sampled_from([say("done"), hang(), fail(ConnectionLost()), call_tool("act").ending("length")])


@settings(max_examples=300, deadline=None)
@given(
    script=st.lists(turns, max_size=3),
    ending=endings,
    how=st.sampled_from(["none", "native", "interrupt", "leave", "twice"]),
    step=st.integers(0, 60),
    approves=st.booleans(),
    limits=st.fixed_dictionaries(
        {},
        optional={
            "max_turns": st.integers(1, 3),
            "max_tool_calls": st.integers(1, 6),
            "token_budget": st.integers(1, 60),
            "tool_concurrency": st.integers(1, 3),
            "repeated_failure_limit": st.integers(1, 2),
            "on_exhaustion": st.sampled_from(["fail", "final-answer"]),
        },
    ),
)
def test_however_a_run_ends_its_history_can_be_continued_and_each_call_has_one_outcome(
    script: list[Any], ending: Any, how: How, step: int, approves: bool, limits: dict[str, Any]
) -> None:
    ledger, journal = Ledger(), MemoryJournal()
    layer = (
        bind(Ledger).value(ledger)
        | bind(Journal).value(journal)
        | bind(Approval).value(ScriptedApproval(lambda request: approves))
    )
    how = "interrupt" if how == "none" and ending.breaks is not None else how
    agent = agent_with(read | act | send, model_retries=0, **limits)
    model = ScriptedModel(*script, ending, say("more"), say("more"))
    binding = agent.on(model)

    async def main() -> None:
        async with build(RuntimeBuilder().provide(layer).agent(binding)) as rt:
            async with rt.start(binding, "go") as run:
                if how != "none":
                    await after_steps(step)
                if how in ("native", "twice"):
                    run._active[1].cancel()  # type: ignore[index]
                if how == "twice":
                    await after_steps(1)
                    run._active[1].cancel()  # type: ignore[index]
                if how == "interrupt":
                    run.interrupt()
                if how != "leave":
                    await run.result()
            history = run.history
            events = [event async for event in run.events()]
            result = await run.result()
            again = ScriptedModel(say("fine"))
            went_on = await rt.run(agent_with(read | act | send).on(again), "and now?", history=history)
            assert went_on.unwrap().output == "fine"
            _check(history, events, result, again.requests[0])

    asyncio.run(main())
    _check_records(journal)
    assert model.open_calls == 0


def _check(history: History, events: list[Any], result: Any, request: ModelRequest) -> None:
    assert history_problems(history.messages) == []
    assert request_problem(request) is None
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [isinstance(event, TERMINAL) for event in events] == [*[False] * (len(events) - 1), True]
    ended = result.value_or(None) or result.failure()
    assert ended.report.history == history
    told = [(event.turn, event.call) for event in events if isinstance(event, ToolCallFailed | ToolCallSucceeded)]
    assert len(set(told)) == len(told), "each outcome is told once"
    batches = [message for message in history.messages if isinstance(message, ToolMessage)]
    assert len(told) == sum(len(message.results) for message in batches)


def _check_records(journal: MemoryJournal) -> None:
    settled = [record.key for record in journal.records if isinstance(record, ResultSettled)]
    assert len(set(settled)) == len(settled)
    started = [record.key for record in journal.records if record.id.startswith("started:")]  # type: ignore[union-attr]
    assert set(started) <= set(settled)
    # The run, unless it was cancelled before its first step, and the one that went on from its history.
    ended = [record.run for record in journal.records if isinstance(record, RunEnded)]
    assert len(set(ended)) == len(ended)
    assert set(ended) == {run_of(record) for record in journal.records}


ids = st.sampled_from(["a", "b", "c"])
messages = st.one_of(
    st.just(UserMessage.of("hi")),
    st.just(SystemMessage("be")),
    st.just(AssistantMessage((Text("hello"),))),
    st.lists(ids, max_size=3).map(lambda some: AssistantMessage(tuple(ToolCall(each, "t", "{}") for each in some))),
    st.lists(ids, max_size=3).map(lambda some: ToolMessage(tuple(ToolResult(each, "t", 1) for each in some))),
)


@given(st.lists(messages, max_size=8))
def test_a_history_is_exactly_what_a_provider_would_take(sequence: list[Message]) -> None:
    problem = request_problem(ModelRequest((UserMessage.of("first"), *sequence)))

    assert (history_problems([UserMessage.of("first"), *sequence]) == []) is (problem is None)


class Growing(RuleBasedStateMachine):
    """A transcript that is used in every order that its interface allows; a model of it is a list."""

    def __init__(self) -> None:
        super().__init__()
        self.transcript = Transcript(History.of(UserMessage.of("before")))
        self.known: list[Message] = [UserMessage.of("before")]
        self.given: list[tuple[History, int]] = []

    @precondition(lambda self: self.transcript.open_batch is None)
    @rule(text=st.text(max_size=3), assistant=st.booleans())
    def say(self, text: str, assistant: bool) -> None:
        message = AssistantMessage((Text(text),)) if assistant else UserMessage.of(text)
        self.transcript.say(message)
        self.known.append(message)

    @precondition(lambda self: self.transcript.open_batch is None)
    @rule(some=st.lists(ids, min_size=1, max_size=3, unique=True))
    def open(self, some: list[str]) -> None:
        self.transcript.open(AssistantMessage(tuple(ToolCall(each, "t", "{}") for each in some)))

    @precondition(lambda self: self.transcript.open_batch is not None)
    @rule()
    def close(self) -> None:
        batch = self.transcript.open_batch
        assert batch is not None
        results = tuple(ToolResult(call.id, call.name, 1) for call in batch.calls)
        self.transcript.close(results)
        self.known += [batch, ToolMessage(results)]

    @rule()
    def keep(self) -> None:
        self.given.append((self.transcript.history(), len(self.known)))

    @invariant()
    def is_valid_and_whole(self) -> None:
        assert list(self.transcript.history().messages) == self.known
        assert history_problems(self.known) == []
        for history, length in self.given:
            assert list(history.messages) == self.known[:length]


TestGrowing = Growing.TestCase
TestGrowing.settings = settings(max_examples=60, deadline=None)
