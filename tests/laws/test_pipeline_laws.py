"""The pipeline's laws, under any interleaving: the order of stages, the order of results, and the limits on bodies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Never

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from returns.result import Success

from lamina.approval import Approval, ApprovalRequest, Approved, Ask, Denied
from lamina.call import Allowed, Authorization, AuthorizationRequest, CallKey
from lamina.conversation import CallStarted, Journal, MemoryJournal, ResultSettled
from lamina.effect import Try, bind
from lamina.model import AssistantMessage, ToolMessage
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import ConcurrencyGroup, tool
from tests.unit.engine.world import agent_with, told_in

GROUP, OTHER = ConcurrencyGroup("disk", 2), ConcurrencyGroup("net", 3)
LIMITS = {"single": 1, "pair": 2, "disk": 2, "net": 3}


@attrs.frozen
class Work:
    """What a body does.

    Attributes:
        steps: How many steps of the loop it takes.
        asks: Steps that its approval takes; None asks nobody.
        says: What the approver says.
        fails: Whether the body raises.
    """

    number: int
    steps: int = 0
    asks: int | None = None
    says: bool = True
    fails: bool = False


class Watch:
    """What happened, in order, and how many bodies were inside at once."""

    def __init__(self) -> None:
        self.happened: list[tuple[str, int]] = []
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def body(self, work: Work, *limits: str) -> int:
        self.happened.append(("body", work.number))
        for limit in ("all", *limits):
            self.inside[limit] += 1
            self.most[limit] = max(self.most[limit], self.inside[limit])
        try:
            for _ in range(work.steps):
                await asyncio.sleep(0)
            if work.fails:
                raise ValueError("canary")
            return work.number
        finally:
            for limit in ("all", *limits):
                self.inside[limit] -= 1


ASK = Ask[Work](when=lambda work: work.asks is not None, recoverable=True)


@tool(needs_approval=True, approval=ASK)
async def free(call: Work, ok: Try[Never], watch: Watch) -> int:
    """Have no limit of its own."""
    return await watch.body(call)


@tool(needs_approval=True, approval=ASK, max_concurrency=1)
async def single(call: Work, ok: Try[Never], watch: Watch) -> int:
    """Run alone."""
    return await watch.body(call, "single")


@tool(needs_approval=True, approval=ASK, max_concurrency=2, groups=(GROUP,))
async def pair(call: Work, ok: Try[Never], watch: Watch) -> int:
    """Run in twos, and share the disk."""
    return await watch.body(call, "pair", "disk")


@tool(needs_approval=True, approval=ASK, groups=(OTHER, GROUP))
async def shared(call: Work, ok: Try[Never], watch: Watch) -> int:
    """Share the disk and the net."""
    return await watch.body(call, "disk", "net")


class Watched(Approval, Authorization):
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.works: dict[CallKey, Work] = {}

    async def authorize(self, request: AuthorizationRequest) -> Allowed:
        work: Any = request.input
        self.works[request.key] = work
        self.watch.happened.append(("authorize", work.number))
        await asyncio.sleep(0)
        return Allowed()

    async def request(self, request: ApprovalRequest) -> Any:
        work = self.works[request.key]
        for _ in range(work.asks or 0):
            await asyncio.sleep(0)
        self.watch.happened.append(("approve", work.number))
        return Success(Approved("law") if work.says else Denied("law"))


NAMES = ("free", "single", "pair", "shared")
works = st.builds(
    Work,
    number=st.just(0),
    steps=st.integers(0, 6),
    asks=st.none() | st.integers(0, 5),
    says=st.booleans(),
    fails=st.booleans(),
)
batches = st.lists(st.tuples(st.sampled_from(NAMES), works), min_size=1, max_size=9)


def turn_of(batch: Sequence[tuple[str, Work]]) -> tuple[Any, list[Work]]:
    numbered = [attrs.evolve(work, number=number) for number, (_, work) in enumerate(batch)]
    turn: Any = None
    for (name, _), work in zip(batch, numbered, strict=True):
        one = call_tool(name, **attrs.asdict(work))
        turn = one if turn is None else turn & one
    return turn, numbered


def expected(work: Work) -> str:
    if work.asks is not None and not work.says:
        return "ToolRejected"
    return "ToolDefect" if work.fails else "value"


def kind(content: Any) -> str:
    return content["_tag"] if isinstance(content, dict) else "value"


def services(watch: Watch, journal: MemoryJournal) -> Any:
    watched = Watched(watch)
    return (
        bind(Watch).value(watch)
        | bind(Approval).value(watched)
        | bind(Authorization).value(watched)
        | bind(Journal).value(journal)
    )


def check_limits(watch: Watch, concurrency: int, runs: int = 1) -> None:
    assert watch.most["all"] <= concurrency * runs
    for name, limit in LIMITS.items():
        assert watch.most[name] <= limit, name
    assert not +watch.inside


@settings(max_examples=150, deadline=None)
@given(batch=batches, concurrency=st.integers(1, 4))
def test_a_batch_passes_every_check_before_a_body_starts_and_results_are_in_order(
    batch: list[tuple[str, Work]], concurrency: int
) -> None:
    watch, journal = Watch(), MemoryJournal()
    turn, numbered = turn_of(batch)
    model = ScriptedModel(turn, say("done"))

    async def main() -> None:
        binding = agent_with(free | single | pair | shared, tool_concurrency=concurrency).on(model)
        async with build(RuntimeBuilder().provide(services(watch, journal)).agent(binding)) as rt:
            await asyncio.wait_for(rt.run(binding, "go"), 60)

    asyncio.run(main())
    stages = [stage for stage, _ in watch.happened]
    order = {"authorize": 0, "approve": 1, "body": 2}
    assert [order[stage] for stage in stages] == sorted(order[stage] for stage in stages)
    assert [number for stage, number in watch.happened if stage == "authorize"] == list(range(len(numbered)))
    assert sorted(n for stage, n in watch.happened if stage == "approve") == [
        w.number for w in numbered if w.asks is not None
    ]
    ran = [number for stage, number in watch.happened if stage == "body"]
    assert sorted(ran) == [work.number for work in numbered if expected(work) != "ToolRejected"]

    told = told_in(model.requests[-1])
    assert [kind(result.content) for result in told] == [expected(work) for work in numbered]
    assert [result.content for result in told if kind(result.content) == "value"] == [
        work.number for work in numbered if expected(work) == "value"
    ]
    check_limits(watch, concurrency)
    _check_journal(journal, ran)


def _check_journal(journal: MemoryJournal, ran: list[int]) -> None:
    place = {record.id: number for number, record in enumerate(journal.records)}
    started = [record for record in journal.records if isinstance(record, CallStarted)]
    settled = [record for record in journal.records if isinstance(record, ResultSettled)]
    assert len(started) == len(ran)
    assert len({record.key for record in settled}) == len(settled)
    for record in started:
        assert place[record.id] < place[f"settled:{record.key}"]


@settings(max_examples=80, deadline=None)
@given(all_batches=st.lists(batches, min_size=2, max_size=4), concurrency=st.integers(1, 3))
def test_limits_hold_over_all_runs_of_a_runtime(all_batches: list[list[tuple[str, Work]]], concurrency: int) -> None:
    watch, journal = Watch(), MemoryJournal()
    agent = agent_with(free | single | pair | shared, tool_concurrency=concurrency)
    models = [ScriptedModel(turn_of(batch)[0], say("done")) for batch in all_batches]

    async def main() -> None:
        async with build(RuntimeBuilder().provide(services(watch, journal))) as rt:
            everything: Any = [rt.run(agent.on(model), "go") for model in models]
            await asyncio.wait_for(asyncio.gather(*everything), 60)

    asyncio.run(main())
    check_limits(watch, concurrency, len(models))
    for model, batch in zip(models, all_batches, strict=True):
        told = told_in(model.requests[-1])
        assert [kind(result.content) for result in told] == [expected(work) for work in turn_of(batch)[1]]


@settings(max_examples=150, deadline=None)
@given(batch=batches, concurrency=st.integers(1, 3), steps=st.integers(0, 40), native=st.booleans())
def test_permits_are_given_back_whenever_a_run_is_cancelled(
    batch: list[tuple[str, Work]], concurrency: int, steps: int, native: bool
) -> None:
    watch, journal = Watch(), MemoryJournal()
    agent = agent_with(free | single | pair | shared, tool_concurrency=concurrency)
    turn, _ = turn_of(batch)
    # Afterwards, one call of each kind: were a permit lost, the last of them would never run.
    after: Any = None
    for number, name in enumerate(("single", "pair", "pair", "shared", "shared")):
        one = call_tool(name, **attrs.asdict(Work(number)))
        after = one if after is None else after & one

    async def main() -> None:
        async with build(RuntimeBuilder().provide(services(watch, journal))) as rt:
            async with rt.start(agent.on(ScriptedModel(turn, say("done"))), "go") as run:
                for _ in range(steps):
                    await asyncio.sleep(0)
                if native:
                    run._active[1].cancel()  # type: ignore[index]
                else:
                    run.interrupt()
                await run.result()
                _check_history(run.history.messages)
            assert not +watch.inside
            for owner, semaphore in rt._core.permits._made.items():
                limit = owner.limit if isinstance(owner, ConcurrencyGroup) else owner.max_concurrency
                assert semaphore._value == limit
            model = ScriptedModel(after, say("done"))
            result = await asyncio.wait_for(rt.run(agent.on(model), "go"), 60)
            assert [each.content for each in told_in(model.requests[-1])] == [0, 1, 2, 3, 4]
            assert result.unwrap().output == "done"

    asyncio.run(main())
    check_limits(watch, concurrency)


def _check_history(messages: Any) -> None:
    for message, following in zip(messages, messages[1:], strict=False):
        if isinstance(message, AssistantMessage) and message.calls:
            assert isinstance(following, ToolMessage)
            assert [each.id for each in following.results] == [call.id for call in message.calls]


def test_the_law_would_notice_a_body_too_many() -> None:
    watch = Watch()
    watch.most.update({"all": 2, "single": 2})
    try:
        check_limits(watch, 2)
    except AssertionError:
        return
    raise AssertionError("the check is blind")
