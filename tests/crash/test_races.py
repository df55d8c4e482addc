"""Two real processes that want the same: exactly one gets it, and one that was stopped too long writes nothing more."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from returns.result import Success

from lamina.conversation import CallStarted, ConversationForked, RepairAnnotated, RunBegan, history_problems
from tests.conversing import talking
from tests.crash.racing import at_once, racers
from tests.stores import DURABLE, Place

ROUNDS = 12


def where(place: Place) -> str:
    return place._dsn if place.kind == "postgres" else str(place._path)


@pytest.mark.parametrize("kind", DURABLE)
async def test_of_two_processes_that_claim_one_conversation_at_once_one_has_it(kind: str, tmp_path: Path) -> None:
    place, met = Place(kind, tmp_path), 0
    with racers(kind, where(place), "a", "b") as both:
        for number in range(ROUNDS):
            heard = at_once(both, lambda _, at=number: ("run", f"c{at}"))  # type: ignore[misc]
            done = [each for each in heard if each[0] == "done"]
            refused = [each for each in heard if each[0] == "ConversationBusy"]
            assert len(done) + len(refused) == 2
            assert done, "one of them has it"
            assert [each[2] for each in refused] == [[]] * len(refused), "who does not have it runs nothing"
            met += len(refused)
            async with talking(place) as talk:
                began = [entry.record.run for entry in await talk.log(f"c{number}") if _is(entry, RunBegan)]
                assert len(set(began)) == len(began) == len(done)
                owners = [entry.record.run for entry in await talk.log(f"c{number}") if hasattr(entry.record, "run")]
                assert [each for at, each in enumerate(owners) if not at or owners[at - 1] != each] == began
                assert isinstance(await talk.conversations.verify(f"c{number}"), Success)
    assert met > 0, "they never met"


@pytest.mark.parametrize("kind", DURABLE)
async def test_of_two_processes_that_resume_one_suspension_at_once_one_does(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    with racers(kind, where(place), "a", "b") as both:
        for number in range(ROUNDS):
            how, reference, _ = both[number % 2].ask("suspend", f"c{number}")
            assert how == "suspended"
            heard = at_once(both, lambda _, at=number, ref=reference: ("resume", f"c{at}", ref))  # type: ignore[misc]
            assert sorted((each[0], each[2]) for each in heard) == [("AlreadyDecided", []), ("done", ["sent"])]
            async with talking(place) as talk:
                started = [entry.record for entry in await talk.log(f"c{number}") if _is(entry, CallStarted)]
                (winner,) = [each[1] for each in heard if each[0] == "done"]
                assert [each.approved_by for each in started] == [winner]
                assert isinstance(await talk.conversations.verify(f"c{number}"), Success)


@pytest.mark.parametrize("kind", DURABLE)
async def test_two_processes_that_fork_to_one_id_make_one_conversation(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    with racers(kind, where(place), "a", "b") as both:
        for source in ("x", "y"):
            assert both[0].ask("run", source)[0] == "done"
        for number in range(ROUNDS):
            same = at_once(both, lambda _, at=number: ("fork", "x", f"same{at}"))  # type: ignore[misc]
            assert [each[0] for each in same] == ["done", "done"], "the same fork twice is one"
            other = at_once(both, lambda who, at=number: ("fork", "xy"[who], f"other{at}"))  # type: ignore[misc]
            assert sorted(each[0] for each in other) == ["ConversationExists", "done"]
            winner = "xy"[[each[0] for each in other].index("done")]
            async with talking(place) as talk:
                for name, of in ((f"same{number}", "x"), (f"other{number}", winner)):
                    forked = [entry.record for entry in await talk.log(name) if _is(entry, ConversationForked)]
                    assert len(forked) == 1
                    assert (await talk.conversations.get(name)).unwrap().forked_from == of
                    assert isinstance(await talk.conversations.verify(name), Success)


@pytest.mark.parametrize("kind", DURABLE)
async def test_eight_processes_run_in_one_conversation_of_a_database_that_nobody_made(
    kind: str, tmp_path: Path
) -> None:
    place = Place(kind, tmp_path)
    names = [f"p{number}" for number in range(8)]
    with racers(kind, where(place), *names) as all_of_them:
        heard = at_once(all_of_them, lambda _: ("queue", "c"))
    assert [each[:2] for each in heard] == [["done", name] for name in names]
    assert [each[2] for each in heard] == [[name] for name in names]
    async with talking(place) as talk:
        history = (await talk.conversations.history("c")).unwrap()
        assert history_problems(history.messages) == []
        assert len(history.messages) == 4 * 8
        log = await talk.log()
        assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
        assert not any(_is(entry, RepairAnnotated) for entry in log)


@pytest.mark.parametrize("kind", DURABLE)
async def test_a_process_that_is_stopped_for_longer_than_its_lease_writes_nothing_more_and_says_so(
    kind: str, tmp_path: Path
) -> None:
    place = Place(kind, tmp_path)
    with racers(kind, where(place), "slow", "quick", lease=2.0) as (slow, quick):
        assert slow.ask("wait", "c") == "begun"
        slow.process.send_signal(signal.SIGSTOP)
        try:
            assert quick.ask("queue", "c") == ["done", "quick", ["quick"]]
            async with talking(place) as talk:
                before = await talk.log()
        finally:
            slow.process.send_signal(signal.SIGCONT)
        slow.tell("go on")
        assert slow.hear() == ["JournalFailed", "AppendConflict", ["slow"]]
    async with talking(place) as talk:
        assert await talk.log() == before
        assert await talk.holder() == (None, None)
        repairs = [entry.record for entry in before if _is(entry, RepairAnnotated)]
        assert [each.reason for each in repairs] == ["owner-lost"]
        assert any("ToolUnknownOutcome" in detail for detail in repairs[0].details)


def _is(entry: object, kind: type) -> bool:
    return isinstance(entry.record, kind)  # type: ignore[attr-defined]
