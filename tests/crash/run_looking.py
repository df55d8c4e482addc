"""What has to be true of a conversation whose process was killed, and how another process goes on with it."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from pathlib import Path

import attrs
from returns.result import Failure, Success

from lamina.approval import Approved
from lamina.call import ToolDefect, ToolRejected, ToolSuccess, ToolUnknownOutcome
from lamina.conversation import (
    AlreadyDecided,
    CallStarted,
    Entry,
    InputRecorded,
    NotAllowed,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    history_problems,
)
from lamina.conversation import RunSuspended as SuspensionRecorded
from lamina.engine import RunSuspended
from lamina.model import UserMessage
from lamina.schema import codec
from lamina.testing import ScriptedModel, say
from tests.crash.run_scene import CONVERSATION, Scene


@attrs.define
class Told:
    """What processes told before they were killed."""

    kept: list[str] = attrs.field(factory=list)
    ended: dict[str, str] = attrs.field(factory=dict)
    suspended: list[str] = attrs.field(factory=list)
    problems: list[str] = attrs.field(factory=list)
    died_at: list[str] = attrs.field(factory=list)
    points: list[tuple[str, int, str]] = attrs.field(factory=list)

    def hear(self, lines: list[str]) -> None:
        for line in lines:
            word, _, rest = line.partition(" ")
            match word:
                case "kept":
                    self.kept += json.loads(rest)
                case "ended":
                    run, how = json.loads(rest)
                    self.ended[run] = how
                case "suspended":
                    self.suspended.append(rest)
                case "at":
                    self.died_at.append(rest)
                case "point":
                    name, number, what = json.loads(rest)
                    self.points.append((name, number, what))
                case _:
                    self.problems.append(line)


class Warnings(logging.Handler):
    """The repairs that the application's log was told of."""

    def __init__(self) -> None:
        super().__init__()
        self.repairs = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.repairs += "repaired" in record.getMessage()


def wrong_with_file(path: Path) -> list[str]:
    """Look at the file, without the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        check = connection.execute("PRAGMA quick_check").fetchall()
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = [] if check == [("ok",)] else [f"the file is damaged: {check[:3]}"]
        if not tables or "schema_version" not in tables:
            return found if not tables else [*found, f"half a schema: {sorted(tables)}"]
        for id_, head in connection.execute("SELECT id, head_seq FROM conversation"):
            rows = [seq for (seq,) in connection.execute("SELECT seq FROM record WHERE conversation = ?", (id_,))]
            if sorted(rows) != list(range(1, head + 1)):
                found.append(f"{id_} ends at {head} and has {sorted(rows)}")
        return found
    finally:
        connection.close()


async def take_up(here: Scene, told: Told, folder: Path) -> None:
    """Go on with what a killed process left, as an application does, and look at everything before and after."""
    warnings = Warnings()
    logging.getLogger("lamina").addHandler(warnings)
    found = await here.conversations.get(CONVERSATION)
    if isinstance(found, Failure):  # it was killed before there was anything
        here.expect(isinstance(found.failure(), NotAllowed) and not told.kept, f"the conversation is gone: {found}")
        left: tuple[Entry, ...] = ()
        holder = state = None
    else:
        left = await _entries(here)
        holder, state = found.unwrap().run, found.unwrap().state
        _look(here, left, told, folder, settled=False)
    if state == "suspended":
        await _resume(here, left, told)
        holder = None
    elif told.suspended:
        await _resume_late(here, told)
    here.expect(warnings.repairs == 0, "a repair was told before anybody claimed the conversation")

    batch = here.call("look", "saw") & here.call("put", "kept") & here.call("act", "did")
    model = ScriptedModel(batch, here.call("act", "more"), say("went on"))
    before = _inputs(await _entries(here), "user", "directive")
    ended = await here.run(here.agent(model=model), "after")
    here.expect(ended == "went on", f"the run after it gave {ended}")
    asked = [each.text for each in model.requests[0].messages if isinstance(each, UserMessage)]
    here.expect(asked == [*before, here.word("after")], f"the model was told {asked} of {before}")
    entries = await _entries(here)
    new = [entry.record for entry in entries[len(left) :] if isinstance(entry.record, RepairAnnotated)]
    expected = [] if holder is None else ["owner-lost"]
    here.expect([each.reason for each in new] == expected, f"{holder} was lost, and repaired was {new}")
    here.expect(warnings.repairs == sum(len(each.details) for each in new), f"{warnings.repairs} repairs told of {new}")

    told_once, repaired = warnings.repairs, _repairs(entries)
    again = await here.run(here.agent(say("once more")), "once more")
    here.expect(again == "once more", f"the last run gave {again}")
    entries = await _entries(here)
    here.expect((warnings.repairs, _repairs(entries)) == (told_once, repaired), "a repair was told twice")
    _look(here, entries, told, folder, settled=True)
    logging.getLogger("lamina").removeHandler(warnings)


def _repairs(entries: tuple[Entry, ...]) -> int:
    return sum(isinstance(entry.record, RepairAnnotated) for entry in entries)


def _inputs(entries: tuple[Entry, ...], *kinds: str) -> list[str]:
    return [
        each.record.text for each in entries if isinstance(each.record, InputRecorded) and each.record.kind in kinds
    ]


async def _entries(here: Scene) -> tuple[Entry, ...]:
    """Read the whole log, and check what can be said of any."""
    entries: list[Entry] = []
    while True:
        read = await here.conversations.read(CONVERSATION, after=len(entries))
        if isinstance(read, Failure):
            here.expect(isinstance(read.failure(), NotAllowed), f"the log cannot be read: {read}")
            return ()
        if not (page := read.unwrap()):
            break
        entries += page
    here.expect([entry.seq for entry in entries] == list(range(1, len(entries) + 1)), "the sequence has a gap")
    verified = await here.conversations.verify(CONVERSATION)
    here.expect(isinstance(verified, Success) and verified.unwrap().seq == len(entries), f"verify gave {verified}")
    history = await here.conversations.history(CONVERSATION)
    here.expect(isinstance(history, Success), f"history gave {history}")
    problems = history_problems(history.unwrap().messages)
    here.expect(problems == [], f"the history is not valid: {problems}")
    return tuple(entries)


async def _resume(here: Scene, left: tuple[Entry, ...], told: Told) -> None:
    """Approve what waits, from the log alone if nobody was told of it, and try that three times."""
    (record,) = [entry.record for entry in left[-1:] if isinstance(entry.record, SuspensionRecorded)] or [None]
    if record is None:
        return here.expect(False, "a suspended run's log does not end with its suspension")
    waiting = RunSuspended(CONVERSATION, record.run, "worker", record.turn, ())
    if told.suspended and record.run in told.suspended[-1]:
        waiting = codec(RunSuspended).decode_json(told.suspended[-1].encode()).unwrap()
    calls = [
        call.id
        for entry in left
        if isinstance(entry.record, ResponseDeclared)
        for call in entry.record.message.calls
        if call.name == "send"
    ]
    yes = {call: Approved("ada") for call in calls}
    resumed = here.ended(await here.rt.resume(here.agent(say("sent late")), waiting, yes))
    here.expect(resumed == "sent late", f"resumed, the run gave {resumed}")
    told.suspended.append(codec(RunSuspended).encode_json(waiting).unwrap().decode())
    await _resume_late(here, told)
    return None


async def _resume_late(here: Scene, told: Told) -> None:
    """Resume what was resumed: nothing happens."""
    waiting = codec(RunSuspended).decode_json(told.suspended[-1].encode()).unwrap()
    before = await _entries(here)
    yes = {each.call: Approved("ada") for each in waiting.waiting}
    for _ in range(2):
        late = (await here.rt.resume(here.agent(), waiting, yes)).failure().cause
        here.expect(late == AlreadyDecided(CONVERSATION, waiting.run), f"resumed again, it gave {late}")
    here.expect(await _entries(here) == before, "a late resume wrote something")


# --- the log, and what really happened ------------------------------------------------------------------------------


def _look(here: Scene, entries: tuple[Entry, ...], told: Told, folder: Path, *, settled: bool) -> None:
    """Compare the log with what was told, and with what the tools noted.

    Args:
        settled: Whether every run has ended, so that each call has to have its outcome.
    """
    records = [entry.record for entry in entries]
    ids = [entry.id for entry in entries]
    lost = [each for each in told.kept if each not in set(ids)]
    here.expect(not lost, f"lost: {lost}")
    here.expect(len(set(ids)) == len(ids), "an id is there twice")
    inputs = _inputs(entries, "user")
    here.expect(len(set(inputs)) == len(inputs), f"an input is there twice: {inputs}")

    endings = Counter(each.run for each in records if isinstance(each, RunEnded))
    began = [each.run for each in records if isinstance(each, RunBegan)]
    how = {each.run: each.ending for each in records if isinstance(each, RunEnded)}
    for run, tag in told.ended.items():
        expected = {"Completed": "completed", "RunInterrupted": "interrupted"}.get(tag)
        here.expect(tag == "RunSuspended" or how.get(run) == expected, f"{run} was told {tag}, and is {how.get(run)}")
    if settled:
        here.expect(endings == Counter(began), f"began {began}, ended {endings}")

    calls = {call.id: call for each in records if isinstance(each, ResponseDeclared) for call in each.message.calls}
    starts = Counter(each.key.call for each in records if isinstance(each, CallStarted))
    results = [each for each in records if isinstance(each, ResultSettled)]
    outcomes = {each.key.call: each.outcome for each in results}
    here.expect(len(outcomes) == len(results), "a call has two results")
    here.expect(set(starts) <= set(calls) and set(outcomes) <= set(calls), "a record is of no call")
    here.expect(not [each for each, times in starts.items() if times > 1], f"started twice: {starts}")
    if settled:
        here.expect(set(outcomes) == set(calls), f"without an outcome: {set(calls) - set(outcomes)}")

    path = folder / "trail"
    lines = path.read_text().splitlines() if path.exists() else []
    effects = Counter(lines)
    for line, times in effects.items():
        word, text = line.split(" ")
        reads = any(text.endswith(each) for each in ("-look", "-glance", "-saw"))
        here.expect(times == 1, f"it {line} {times} times")
        here.expect(reads or text in starts, f"{line}, and no record says that it was started")
        if settled and word == "began" and not isinstance(outcomes.get(text), ToolSuccess):
            honest = ToolDefect("interrupted") if reads else ToolUnknownOutcome()
            here.expect(outcomes.get(text) == honest or (reads and text not in calls), f"{line}: {outcomes.get(text)}")
    for text, outcome in outcomes.items():
        did = effects[f"began {text}"], effects[f"ended {text}"]
        if isinstance(outcome, ToolSuccess):
            here.expect(did == (1, 1) and outcome.value == text, f"{text} succeeded with {outcome}, and did {did}")
        elif isinstance(outcome, ToolRejected):
            here.expect(did == (0, 0) and text not in starts, f"{text} was {outcome.reason}, and did {did}")
        elif isinstance(outcome, ToolUnknownOutcome):
            here.expect(text in starts, f"{text} may have happened, and was never started")
        else:
            here.expect(outcome == ToolDefect("interrupted"), f"{text} came to {outcome}")
    approved = {each.key.call: each.approved_by for each in records if isinstance(each, CallStarted)}
    asked = {text for text in starts if calls[text].name == "send"}
    here.expect({approved[text] for text in asked} <= {"ada"}, f"started without an approval: {approved}")
