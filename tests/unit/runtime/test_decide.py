"""Decisions from outside: made by a process without the agent, used by one that knows only the conversation's id."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Never

import attrs
import pytest
from returns.result import Failure, Success

from lamina.approval import Approval, Approved, Ask, Denied
from lamina.conversation import (
    AlreadyDecided,
    ApprovalDecided,
    ApprovalLapsed,
    CallStarted,
    NotAllowed,
    NotSuspended,
    StoredConversations,
)
from lamina.effect import ConstructionError, SystemClock, Try
from lamina.engine import ApprovalDenied, RunSuspended
from lamina.testing import ScriptedModel, VirtualClock, call_tool, say
from lamina.tools import tool
from tests.conversing import Ledger, Talk, act, post, send, talking
from tests.stores import DURABLE, STORES, Place
from tests.unit.engine.world import Word, agent_with, outcomes_by_id

BATCH = call_tool("act", text="a", id="a") & call_tool("send", text="s", id="s") & call_tool("post", text="p", id="p")
TOOLS = act | send | post


async def wait(talk: Talk, turn: Any = BATCH) -> RunSuspended:
    """Run an agent until it waits."""
    cause = (await talk.run(agent_with(TOOLS).on(ScriptedModel(turn)))).failure().cause
    assert isinstance(cause, RunSuspended)
    return cause


async def decide(talk: Talk, call: str, decision: Approved | Denied, **options: Any) -> Any:
    """Decide on a call as a person does who reads the list."""
    waiting = (await talk.conversations.pending(**options)).unwrap()
    (found,) = [each for each in waiting if each.call == call]
    digest = found.request.arguments_digest
    return await talk.conversations.decide(found.conversation, found.run, call, decision, digest, **options)


@pytest.mark.parametrize("kind", STORES)
async def test_decided_outside_it_is_resumed_with_nothing_but_the_conversations_id(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        await wait(talk)
        pending = (await talk.conversations.pending()).unwrap()
        assert [(each.call, each.agent, each.request.tool) for each in pending] == [
            ("s", "tester", "send"),
            ("p", "tester", "post"),
        ]
        assert isinstance(await decide(talk, "s", Approved("ada")), Success)
        binding = agent_with(TOOLS).on(model := ScriptedModel(say("done")))
        reference = (await talk.rt.suspended(binding, "c")).unwrap()
        assert [each.call for each in reference.waiting] == ["p"]
        still = (await talk.rt.resume(binding, reference)).failure().cause
        assert still == reference
        assert talk.ledger.ran == []
        assert isinstance(await decide(talk, "p", Denied("bob", "not today")), Success)
        assert (await talk.conversations.pending()).unwrap() == ()
        reference = (await talk.rt.suspended(binding, "c")).unwrap()
        assert reference.waiting == ()
        assert (await talk.rt.resume(binding, reference)).unwrap().output == "done"
        assert sorted(talk.ledger.ran) == ["a", "s"]
        assert "not today" in str(outcomes_by_id(model.requests[0])["p"])
        records = [entry.record for entry in await talk.log()]
        decided = [(each.key.call, each.by, each.decision) for each in records if isinstance(each, ApprovalDecided)]
        assert decided == [("s", "ada", "approved"), ("p", "bob", "denied")]  # recorded once, by who decided
        assert [each.approved_by for each in records if isinstance(each, CallStarted) and each.key.call == "s"] == [
            "ada"
        ]
        assert (await talk.rt.suspended(binding, "c")).failure() == NotSuspended("c")
        late = await talk.conversations.decide("c", reference.run, "s", Approved("x"), "0" * 64)
        assert late.failure() == AlreadyDecided("c", reference.run)


@pytest.mark.parametrize("kind", DURABLE)
async def test_a_third_process_resumes_what_a_second_decided(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    async with talking(place) as first:
        await wait(first)
    async with place.open() as store:  # no agent, no model, no runtime
        conversations = StoredConversations(store, SystemClock())
        for each in (await conversations.pending()).unwrap():
            made = await conversations.decide("c", each.run, each.call, Approved("ada"), each.request.arguments_digest)
            assert isinstance(made, Success)
    async with talking(place) as third:
        binding = agent_with(TOOLS).on(ScriptedModel(say("done")))
        reference = (await third.rt.suspended(binding, "c")).unwrap()
        assert (await third.rt.resume(binding, reference)).unwrap().output == "done"
        assert sorted(third.ledger.ran) == ["a", "p", "s"]


@pytest.mark.parametrize("kind", STORES)
async def test_a_denial_from_outside_ends_the_run(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await wait(talk)
        await decide(talk, "p", Approved("ada"))
        await decide(talk, "s", Denied("ada", "no"))
        ended = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel()), waiting)
        assert isinstance(ended.failure().cause, ApprovalDenied)
        assert (ended.failure().cause.reason, talk.ledger.ran) == ("no", [])
        assert await talk.holder() == (None, None)


@pytest.mark.parametrize("kind", STORES)
async def test_what_is_recorded_counts_before_an_equal_decision_that_the_resume_brings(
    kind: str, tmp_path: Path
) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await wait(talk)
        await decide(talk, "s", Denied("ada", "no"))
        given = {"s": Approved("eve"), "p": Approved("eve")}
        ended = await talk.rt.resume(agent_with(TOOLS).on(ScriptedModel()), waiting, given)
        assert isinstance(ended.failure().cause, ApprovalDenied)
        assert talk.ledger.ran == []


@pytest.mark.parametrize("kind", STORES)
async def test_what_lapsed_is_told_to_whoever_decides_and_needs_nobody_to_resume(kind: str, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        await wait(talk, call_tool("post", text="p", id="p"))
        await clock.advance(60)
        (pending,) = (await talk.conversations.pending()).unwrap()
        assert pending.expired
        assert isinstance((await decide(talk, "p", Approved("ada"))).failure(), ApprovalLapsed)
        binding = agent_with(TOOLS).on(model := ScriptedModel(say("done")))
        reference = (await talk.rt.suspended(binding, "c")).unwrap()
        assert reference.waiting == ()
        assert (await talk.rt.resume(binding, reference)).unwrap().output == "done"
        assert outcomes_by_id(model.requests[0])["p"]["reason"] == "expired"


@pytest.mark.parametrize("kind", STORES)
async def test_what_was_decided_in_time_counts_after_it(kind: str, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        waiting = await wait(talk, call_tool("post", text="p", id="p"))
        await clock.advance(59)
        await decide(talk, "p", Approved("ada"))
        await clock.advance(1_000)
        binding = agent_with(TOOLS).on(ScriptedModel(say("done")))
        assert (await talk.rt.resume(binding, waiting)).unwrap().output == "done"
        assert talk.ledger.ran == ["p"]


@pytest.mark.parametrize("kind", STORES)
async def test_another_principals_run_is_not_there(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        binding = agent_with(TOOLS).on(ScriptedModel(BATCH))
        waiting = (await talk.run(binding, principal="ada")).failure().cause
        for other in (None, "bob"):
            assert (await talk.conversations.pending(principal=other)).unwrap() == ()
            missing = await talk.conversations.decide("c", waiting.run, "s", Approved("x"), "0" * 64, principal=other)
            assert missing.failure() == NotAllowed("conversation", "c")
            assert (await talk.rt.suspended(binding, "c", principal=other)).failure() == NotAllowed("conversation", "c")
        assert isinstance(await decide(talk, "s", Approved("ada"), principal="ada"), Success)


@pytest.mark.parametrize("kind", STORES)
async def test_of_many_that_resume_what_was_decided_outside_one_runs_the_bodies(kind: str, tmp_path: Path) -> None:
    place, ledger = Place(kind, tmp_path), Ledger()
    async with talking(place, ledger=ledger) as talk:
        waiting = await wait(talk)
        for call in "sp":
            await decide(talk, call, Approved("ada"))

        async def resume(among: Talk) -> Any:
            return await among.rt.resume(agent_with(TOOLS).on(ScriptedModel(say("done"))), waiting)

        if kind == "memory":
            ended = await asyncio.gather(*[resume(talk) for _ in range(4)])
        else:
            async with talking(place, ledger=ledger) as other:
                ended = await asyncio.gather(*[resume((talk, other)[at % 2]) for at in range(4)])
    assert sorted(ledger.ran) == ["a", "p", "s"]
    causes = [each.failure().cause for each in ended if isinstance(each, Failure)]
    assert causes == [AlreadyDecided("c", waiting.run)] * 3


SENDS = call_tool("send", text="1", id="s") & call_tool("send", text="2", id="t") & call_tool("post", text="3", id="p")


async def by_call(talk: Talk) -> dict[str, list[tuple[str, str, bool]]]:
    """Give what was decided of each call, in order: what, by whom, and whether on its tool."""
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for entry in await talk.log():
        if isinstance(made := entry.record, ApprovalDecided):
            covering = made.tool is not None or made.under is not None
            found.setdefault(made.key.call, []).append((made.decision, made.by, covering))
    return found


@pytest.mark.parametrize("kind", STORES)
async def test_a_grant_of_the_tool_goes_on_across_suspensions_and_processes(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        await wait(talk, SENDS)
        await decide(talk, "s", Approved("ada", covers="tool"))
        assert [each.call for each in (await talk.conversations.pending()).unwrap()] == ["p"]
        await decide(talk, "p", Approved("bob"))
        more = call_tool("send", text="4", id="u") & call_tool("post", text="5", id="q")
        binding = agent_with(TOOLS).on(ScriptedModel(more))
        again = (await talk.rt.resume(binding, (await talk.rt.suspended(binding, "c")).unwrap())).failure().cause
        assert isinstance(again, RunSuspended)
        assert [each.call for each in again.waiting] == ["q"]
        assert sorted(talk.ledger.ran) == ["1", "2", "3"]
        assert [each.call for each in (await talk.conversations.pending()).unwrap()] == ["q"]
        await decide(talk, "q", Approved("bob"))
        last = agent_with(TOOLS).on(ScriptedModel(call_tool("send", text="6", id="v"), say("done")))
        assert (await talk.rt.resume(last, again)).unwrap().output == "done"
        assert sorted(talk.ledger.ran) == ["1", "2", "3", "4", "5", "6"]
        covered = [("approved", "ada", True)]
        own = [("approved", "bob", False)]
        assert await by_call(talk) == {"s": covered, "t": covered, "u": covered, "v": covered, "p": own, "q": own}
        # Another run asks again.
        assert [each.call for each in (await wait(talk, call_tool("send", text="7", id="w"))).waiting] == ["w"]


@pytest.mark.parametrize("kind", STORES)
async def test_a_denial_of_the_tool_undoes_a_grant_of_it_that_came_before(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        posts = call_tool("post", text="1", id="a") & call_tool("post", text="2", id="b")
        waiting = await wait(talk, posts & call_tool("post", text="3", id="c"))
        digests = waiting.shown()

        async def on(call: str, decision: Approved | Denied) -> str:
            made = await talk.conversations.decide("c", waiting.run, call, decision, digests[call])
            return made.unwrap().decision

        assert await on("a", Approved("ada", covers="tool")) == "approved"
        assert await on("b", Denied("bob", "no", covers="tool")) == "denied"
        assert await on("c", Approved("cat")) == "approved"
        binding = agent_with(TOOLS).on(ScriptedModel(call_tool("post", text="4", id="d"), say("done")))
        assert (await talk.rt.resume(binding, waiting)).unwrap().output == "done"
        assert talk.ledger.ran == ["3"]
        last = {call: made[-1] for call, made in (await by_call(talk)).items()}
        assert last == {
            "a": ("denied", "bob", True),
            "b": ("denied", "bob", True),
            "c": ("approved", "cat", False),
            "d": ("denied", "bob", True),
        }


@pytest.mark.parametrize("kind", STORES)
async def test_a_decision_on_the_tool_that_the_resume_brings_answers_the_others(kind: str, tmp_path: Path) -> None:
    async with talking(Place(kind, tmp_path)) as talk:
        waiting = await wait(talk, SENDS)
        given: dict[str, Any] = {"t": Approved("ada", covers="tool")}
        binding = agent_with(TOOLS).on(ScriptedModel(say("done")))
        still = (await talk.rt.resume(binding, waiting, given)).failure().cause
        assert [each.call for each in still.waiting] == ["p"]
        # It was made of other arguments than those that wait: it is no decision on anything.
        shown = tuple([attrs.evolve(each, arguments_digest="0" * 64) for each in waiting.waiting])
        still = (await talk.rt.resume(binding, attrs.evolve(waiting, waiting=shown), given)).failure().cause
        assert [each.call for each in still.waiting] == ["s", "p"]
        given |= {"p": Denied("bob", "no"), "s": Approved("eve")}
        assert (await talk.rt.resume(binding, waiting, given)).unwrap().output == "done"
        assert sorted(talk.ledger.ran) == ["1", "2"]
        assert await by_call(talk) == {
            "s": [("approved", "eve", False)],
            "t": [("approved", "ada", True)],
            "p": [("denied", "bob", False)],
        }


@pytest.mark.parametrize("kind", STORES)
async def test_no_grant_answers_a_request_whose_time_was_over(kind: str, tmp_path: Path) -> None:
    clock = VirtualClock()
    quick = call_tool("post", text="1", id="a") & call_tool("post", text="2", id="b")
    async with talking(Place(kind, tmp_path), clock=clock) as talk:
        waiting = await wait(talk, quick)
        await clock.advance(61)
        given = {"a": Approved("ada", covers="tool")}
        binding = agent_with(TOOLS).on(model := ScriptedModel(say("done")))
        assert (await talk.rt.resume(binding, waiting, given)).unwrap().output == "done"
        assert {told["reason"] for told in outcomes_by_id(model.requests[0]).values()} == {"expired"}
        assert talk.ledger.ran == []


@pytest.mark.parametrize("kind", STORES)
async def test_nobody_answering_suspends_a_run_whose_tool_says_so_in_so_many_words(kind: str, tmp_path: Path) -> None:
    clock, asked = VirtualClock(), asyncio.Event()

    class Silent(Approval):
        same_process = True

        async def request(self, request: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

    later = Ask[Word](expires=30, on_expiry="suspend")

    @tool(needs_approval=True, approval=later)
    async def mail(call: Word, ok: Try[Never], ledger: Ledger) -> str:
        ledger.ran.append(call.text)
        return call.text

    async with talking(Place(kind, tmp_path), clock=clock, approval=Silent()) as talk:
        running = asyncio.create_task(talk.run(agent_with(mail).on(ScriptedModel(call_tool("mail", text="m", id="m")))))
        await asked.wait()
        await clock.advance(31)
        waiting = (await running).failure().cause
        assert isinstance(waiting, RunSuspended)
        await clock.advance(1_000_000)  # which has no limit that nobody set
        (pending,) = (await talk.conversations.pending()).unwrap()
        assert not pending.expired
        assert isinstance(await decide(talk, "m", Approved("ada")), Success)
        binding = agent_with(mail).on(ScriptedModel(say("done")))
        assert (await talk.rt.resume(binding, waiting)).unwrap().output == "done"
        assert talk.ledger.ran == ["m"]
        with pytest.raises(ConstructionError, match="conversation="):
            await talk.rt.run(binding, "go")
