"""`lamina sessions`: list, show, fork, export; needs no application and no model."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import TextIO

import attrs
from returns.result import Failure
from rich.text import Text

from lamina.cli._exits import OK, Refused, UsageError
from lamina.cli._kept import Kept, check_names, refusal, told
from lamina.cli._looking import with_store
from lamina.cli._place import StorePlace, store_place
from lamina.cli._plain import count, escaped, printable
from lamina.cli._requests import json_of, show_request, words_of
from lamina.cli._screen import Screen
from lamina.cli._telling import line_of
from lamina.conversation import ForkRefused, Summary
from lamina.schema import JsonValue
from lamina.session import Session


def sessions(options: argparse.Namespace) -> int:
    """Do what the command line says.

    Raises:
        UsageError: A name cannot be one, or there is no store.
        Refused: There is no such session, or it cannot be done.
    """
    place = store_place(options.store)
    check_names(options.principal)
    work = {"list": _list, "show": _show, "fork": _fork, "export": _export}[options.verb]
    return with_store(place, options.principal, lambda kept: work(kept, options, place))


@attrs.frozen
class _Standing:
    """A session, and where each of its conversations stands; None for one that has not begun."""

    session: Session
    conversations: tuple[tuple[str, Summary | None], ...]
    updated: datetime

    @property
    def state(self) -> str:
        """What a list says of it."""
        found = {summary.state for _, summary in self.conversations if summary is not None}
        return "suspended" if "suspended" in found else "busy" if "active" in found else self._quiet

    @property
    def _quiet(self) -> str:
        return "closed" if self.session.closed else "free"

    def to_json(self) -> dict[str, JsonValue]:
        """Give it as JSON."""
        conversations: list[JsonValue] = []
        for name, found in self.conversations:
            conversations.append(
                {"id": name, "records": 0, "state": None, "run": None}
                if found is None
                else {
                    "id": name,
                    "records": found.tail.seq,
                    "digest": found.tail.digest,
                    "state": found.state,
                    "run": found.run,
                    "forked_from": found.forked_from,
                    "forked_seq": found.forked_seq,
                }
            )
        return {
            "session": self.session.id,
            "principal": self.session.principal,
            "state": self.state,
            "revision": self.session.revision,
            "created": self.session.created.isoformat(),
            "updated": self.updated.isoformat(),
            "conversations": conversations,
        }


async def _standing(kept: Kept, session: Session) -> _Standing:
    """Look where a session stands; it was updated when anything was last written of it."""
    conversations: list[tuple[str, Summary | None]] = []
    updated = session.updated
    for name in session.conversations:
        found = await kept.summary(name)
        conversations.append((name, found))
        if found is not None:
            last = await kept.records(name, after=max(0, found.tail.seq - 1), limit=1)
            updated = max(updated, *(entry.created for entry in last)) if last else updated
    return _Standing(session, tuple(conversations), updated)


async def _list(kept: Kept, options: argparse.Namespace, place: StorePlace) -> int:
    page = told(await kept.sessions.list(principal=options.principal, after=options.after, limit=options.limit))
    if options.json:
        for session in page:
            _write_json((await _standing(kept, session)).to_json())
        return OK
    screen = Screen()
    if not page:
        whose = "of nobody in particular" if options.principal is None else f"of {printable(options.principal)}"
        screen.raw(f"There are no {'more ' if options.after else ''}sessions {whose} in {place.title}.")
        return OK
    longest = min(max(len(session.id) for session in page), 40)
    for session in page:
        standing = await _standing(kept, session)
        records = sum(found.tail.seq for _, found in standing.conversations if found is not None)
        where = [name for name in session.conversations if name != session.id]
        screen.raw(
            Text.assemble(
                (f"{printable(session.id):<{longest}}", "bold"),
                (f"  {standing.state:<9}", _STYLES[standing.state]),
                f"  {_moment(standing.updated)}  {count(records, 'record')}",
                (f"  conversations: {', '.join(map(printable, where))}" if where else "", "dim"),
            )
        )
    if len(page) == options.limit:
        more = f"lamina sessions list --after {shlex.quote(page[-1].id)}{words_of(place, options.principal)}"
        screen.raw(Text(f"There may be more: {printable(more)}", style="dim"))
    return OK


async def _show(kept: Kept, options: argparse.Namespace, place: StorePlace) -> int:
    check_names(None, session=options.session)
    standing = await _standing(kept, await kept.find(options.session))
    waiting = [
        each
        for name, found in standing.conversations
        if found is not None and found.run is not None and found.state == "suspended"
        for each in await kept.waiting(name, found.run)
    ]
    if options.json:
        _write_json({**standing.to_json(), "waiting": [json_of(each) for each in waiting]})
        for name, found in standing.conversations:
            if found is not None:
                await _show_lines(kept, name, found, options)
        return OK
    screen = Screen()
    screen.raw(
        Text.assemble(
            (printable(standing.session.id), "bold"),
            (f"  {standing.state}", _STYLES[standing.state]),
            f"  updated {_moment(standing.updated)}",
        )
    )
    for name, found in standing.conversations:
        await _show_conversation(kept, screen, name, found, options, place)
    if waiting:
        screen.line()
        for each in waiting:
            show_request(screen, each)
        screen.raw(f"  lamina approvals approve ID{printable(words_of(place, options.principal))}")
    elif standing.state == "suspended":
        screen.line()
        words = printable(f"{shlex.quote(options.session)}{words_of(place, options.principal)}")
        screen.raw(f"Everything is decided: lamina run MODULE:APP --session {words} --resume goes on.")
    return OK


async def _show_conversation(
    kept: Kept, screen: Screen, name: str, found: Summary | None, options: argparse.Namespace, place: StorePlace
) -> None:
    screen.line()
    if found is None:
        screen.raw(Text.assemble("conversation ", (printable(name), "bold"), "  nothing was said yet"))
        return
    origin = f", forked from {printable(found.forked_from)} at {found.forked_seq}" if found.forked_from else ""
    doing = "" if found.run is None else f", the run {printable(found.run)} is {found.state}"
    screen.raw(
        Text.assemble("conversation ", (printable(name), "bold"), f"  {count(found.tail.seq, 'record')}{origin}{doing}")
    )
    begin = max(0, found.tail.seq - options.limit) if options.after is None else options.after
    if begin:
        screen.raw(Text(f"  (records 1 to {begin} are left out: --after SEQ, --limit N)", style="dim"))
    entries = await kept.records(name, after=begin, limit=options.limit)
    for entry in entries:
        screen.line(Text.assemble((f"{entry.seq:>6}  ", "dim"), line_of(entry.record)), hanging=8)
    if entries and entries[-1].seq < found.tail.seq:
        words = f"--after {entries[-1].seq}{words_of(place, options.principal)}"
        more = f"lamina sessions show {shlex.quote(options.session)} {words}"
        screen.raw(Text(f"  There is more: {printable(more)}", style="dim"))


async def _show_lines(kept: Kept, name: str, found: Summary, options: argparse.Namespace) -> None:
    begin = max(0, found.tail.seq - options.limit) if options.after is None else options.after
    lines = told(await kept.conversations.export(name, principal=kept.principal, after=begin))
    records = [record for line in lines[1:] if (record := json.loads(line))["seq"] > begin]  # it begins with a batch
    for record in records[: options.limit]:
        _write_json({"conversation": name, **record})


async def _fork(kept: Kept, options: argparse.Namespace, place: StorePlace) -> int:
    check_names(None, session=options.session)
    check_names(None, session=options.to)
    session = await kept.find(options.session)
    if not session.conversations:
        raise Refused(f"The session {printable(session.id)} has no conversation to fork.")
    if told(await kept.sessions.get(options.to, principal=kept.principal)) is not None:
        raise Refused(f"There is a session {printable(options.to)} already.", "Take another name.")
    conversation = session.conversations[-1]
    forked = await kept.conversations.fork(conversation, options.to, at=options.at, principal=kept.principal)
    if isinstance(forked, Failure):
        error = forked.failure()
        raise refusal(error, *([f"Write --at {error.nearest}"] if isinstance(error, ForkRefused) else []))
    made = told(
        await kept.sessions.create(
            options.to, metadata=session.metadata, conversations=(options.to,), principal=kept.principal
        )
    )
    seq = forked.unwrap().seq
    if options.json:
        _write_json((await _standing(kept, made)).to_json())
        return OK
    screen = Screen()
    screen.raw(
        f"The session {printable(options.to)} begins as {printable(session.id)} does; "
        f"it has {count(seq, 'record')}, and {printable(session.id)} is as it was."
    )
    words = printable(f"{shlex.quote(options.to)}{words_of(place, options.principal)}")
    screen.raw(f"  lamina run MODULE:APP --session {words}")
    return OK


async def _export(kept: Kept, options: argparse.Namespace, place: StorePlace) -> int:
    check_names(None, session=options.session)
    session = await kept.find(options.session)
    if options.force and options.output is None:
        raise UsageError("--force writes over a file.", "Name it with --output.")
    place.spare(options.output, "An export")
    records = 0
    with _destination(options.output, force=options.force) as stream:
        for name in session.conversations:
            found = await kept.summary(name)
            after = 0
            while found is not None and after < found.tail.seq:
                lines = told(await kept.conversations.export(name, principal=kept.principal, after=after))
                stream.writelines(f"{escaped(line)}\n" for line in lines)
                records += len(lines) - 1
                after = int(json.loads(lines[-1])["seq"])
    if options.output is not None:
        print(f"{count(records, 'record')} of {printable(session.id)} are in {printable(str(options.output))}.")
    return OK


@contextlib.contextmanager
def _destination(file: Path | None, *, force: bool) -> Generator[TextIO]:
    """Open a file for its owner's eyes, or standard output; what broke off leaves nothing under the file's name."""
    if file is None:
        yield sys.stdout
        return
    if not force and os.path.lexists(file):
        raise UsageError(f"There is a {printable(str(file))} already.", "Take another name, or add --force.")
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"The file {printable(str(file))} cannot be written: {error.strerror}.") from None
    try:
        with open(descriptor, "w", encoding="utf-8") as stream:
            yield stream
        if force:
            os.replace(unfinished, file)
        else:
            os.link(unfinished, file)  # of two who want the name one gets it
    except OSError as error:
        raise UsageError(f"The file {printable(str(file))} cannot be written: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _write_json(value: dict[str, JsonValue]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


_STYLES = {"free": "green", "busy": "yellow", "suspended": "bold yellow", "closed": "dim"}
